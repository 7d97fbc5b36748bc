// The options of `cadre context`, read into one struct for all its commands.
#pragma once

#include "base/buffer.h"
#include "cli/table/command_table.h"
#include "value/value.h"

enum { CONTEXT_READ_LIMIT = 64 << 20 };  // a larger input is refused unread

struct context_options {
    bool given[OPTION_COUNT];
    bool help;  // was printed
    const char *store;
    const char *workspace;
    bool json;
    const char *type;
    struct buffer metadata;  // members of a JSON object, without its braces
    bool has_metadata;
    value odd_metadata;  // --meta-json that is not an object; the store refuses it
    const char *file;
    const char *id;
    const char *types;
    const char *limit;
    const char *max_chars;
    const char *style;
    bool pin;
    bool unpin;
    bool all;
    char **words;  // what is not an option
    int word_count;
};

// 0, or the exit status after a message on standard error. Values live in the region. Must be
// released in both cases.
int context_options_parse(struct context_options *ret_options, struct region *region, int argc,
                          char **argv);
void context_options_release(struct context_options *options);
// The name of an option that was given and that the subcommand does not take, or NULL.
const char *context_options_stray(const struct context_options *options, const char *subcommand);
// The name of an option of `add` that was given and does not go with --id, or NULL.
const char *context_options_beside_id(const struct context_options *options);

// "5" as a number; other text unchanged, which the store refuses.
value context_number_or_text(struct region *region, const char *text);

// Print a message about wrong usage and return EXIT_USAGE.
int context_unknown_command(const char *name);
int context_usage(const char *format, ...) __attribute__((format(printf, 1, 2)));
