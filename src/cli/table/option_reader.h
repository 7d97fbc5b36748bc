// Reads the options of a command by its rows of the table: first those that are configured and not
// given on the command line, then the command line. Checks numbers and choices, prints what is wrong
// with a suggestion, and prints the help.
#pragma once

#include <getopt.h>

#include "cli/table/command_table.h"

enum {
    OPTIONS_END = 0,     // `words` is what is left
    OPTIONS_HELP = -1,   // the help was printed: exit with success
    OPTIONS_WRONG = -2,  // a message was printed: exit with EXIT_USAGE
    OPTIONS_MAX = 64,    // of one command
};

struct option_reader {
    const struct command_row *command;
    int argc;
    char **argv;
    struct option options[OPTIONS_MAX + 1];
    char letters[2 * OPTIONS_MAX + 2];
    bool given[OPTION_COUNT];       // on the command line
    bool is_wrong;                  // the configuration is
    const struct option_row *next;  // configured option to look at; at its end all are done
    size_t next_value;              // of its values
    const struct option_row *row;   // the present option
    const char *argument;           // its value; NULL for a flag
    int64_t number;                 // the same as a number, when it is one
    char **words;                   // what is not an option
    int word_count;
};

void option_reader_init(struct option_reader *reader, enum command_id command, int argc,
                        char **argv);
// The id of the next option, or one of the ends above.
int option_reader_next(struct option_reader *reader);
// After a value was refused: says where it comes from, unless from the command line. EXIT_USAGE.
int option_reader_refuse(const struct option_reader *reader);
// The exit status for an end other than OPTIONS_END.
int option_reader_status(int end);

// The settings that the reader found; they live until this.
void option_reader_release_configuration(void);
