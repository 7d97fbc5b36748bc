#include "cli/table/option_reader.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cli/commands.h"
#include "cli/config/configuration.h"
#include "cli/config/configuration_value.h"
#include "cli/table/help.h"

// A configurable flag may be set by a file, so that the command line must be able to clear it.
static bool can_be_cleared(const struct option_row *row)
{
    return !row->argument && row->source != FROM_COMMAND_LINE;
}

static void list_options(struct option_reader *reader)
{
    size_t count = 0, letters = 1;
    for (const struct option_row *row = reader->command->options; row->name; row++) {
        if (option_is_short(row)) {
            reader->letters[letters++] = row->name[0];
            if (row->argument)
                reader->letters[letters++] = ':';
            continue;
        }
        assert(count < OPTIONS_MAX);
        int argument = row->argument         ? required_argument
                       : can_be_cleared(row) ? optional_argument
                                             : no_argument;
        // Short options answer with their letter; ids of long ones lie above all letters.
        reader->options[count++] = (struct option){row->name, argument, NULL, 256 + (int)row->id};
    }
}

static int next_found(struct option_reader *reader, char **argv)
{
    return getopt_long(reader->argc, argv, reader->letters, reader->options, NULL);
}

static void start_again(void)
{
    optind = 0;  // glibc: all anew
    opterr = 0;
}

// --- what is wrong -------------------------------------------------------------------------------

static const struct option_row *row_for_letter(const struct command_row *command, int letter)
{
    char name[] = {(char)letter, '\0'};
    return command_option(command, span_from(name));
}

static const struct option_row *row_for_id(const struct command_row *command, int id)
{
    const struct option_row *row = command->options;
    while (row->name && (int)row->id != id)
        row++;
    return row->name ? row : NULL;
}

static const struct option_row *row_for_value(const struct command_row *command, int found)
{
    return found < 256 ? row_for_letter(command, found) : row_for_id(command, found - 256);
}

// Prints all options that begin so, when there are several.
static bool explain_ambiguity(const struct command_row *command, struct span name)
{
    size_t count = 0;
    for (const struct option_row *row = command->options; row->name; row++)
        count += span_starts_with(span_from(row->name), name);
    if (count < 2 || name.length == 0)
        return false;
    fprintf(stderr, "cadre %s: --%.*s is ambiguous:", command->name, (int)name.length, name.data);
    for (const struct option_row *row = command->options; row->name; row++)
        if (span_starts_with(span_from(row->name), name))
            fprintf(stderr, " --%s", row->name);
    fputc('\n', stderr);
    return true;
}

static void explain_unknown(const struct option_reader *reader)
{
    const struct command_row *command = reader->command;
    const char *word = reader->argv[optind - 1];
    if (optopt) {
        fprintf(stderr, "cadre %s: unknown option '-%c'; see cadre %s --help\n", command->name,
                optopt, command->name);
        return;
    }
    struct span name = {word + 2, strcspn(word + 2, "=")};
    if (explain_ambiguity(command, name))
        return;
    fprintf(stderr, "cadre %s: unknown option '--%.*s'", command->name, (int)name.length,
            name.data);
    struct span close = command_suggest_option(command, name);
    if (close.length)
        fprintf(stderr, "; did you mean --%.*s?\n", (int)close.length, close.data);
    else
        fprintf(stderr, "; see cadre %s --help\n", command->name);
}

static int explain(const struct option_reader *reader, int found)
{
    const struct command_row *command = reader->command;
    const struct option_row *row = optopt ? row_for_value(command, optopt) : NULL;
    if (!row)
        explain_unknown(reader);
    else if (found == ':')
        fprintf(stderr, "cadre %s: %s%s needs a value: %s\n", command->name,
                option_is_short(row) ? "-" : "--", row->name, row->argument);
    else
        fprintf(stderr, "cadre %s: --%s takes no value\n", command->name, row->name);
    return OPTIONS_WRONG;
}

// --- the configuration ---------------------------------------------------------------------------

static struct configuration configuration;  // one command runs in a process

void option_reader_release_configuration(void)
{
    configuration_release(&configuration);
}

// What is on the command line, on a copy of it, for getopt() moves words. Mistakes are found later.
static const char *scan(struct option_reader *reader)
{
    const char *workspace = NULL;
    char **copy = memory_copy(reader->argv, ((size_t)reader->argc + 1) * sizeof(*copy));
    start_again();
    for (int found; (found = next_found(reader, copy)) != -1;) {
        const struct option_row *row =
            found == '?' || found == ':' ? NULL : row_for_value(reader->command, found);
        if (row)
            reader->given[row->id] = true;
        if (row && row->id == OPTION_WORKSPACE && row->type == OPTION_DIRECTORY)
            workspace = optarg;
    }
    memory_free(copy);
    return workspace;
}

static bool is_configurable(const struct command_row *command)
{
    for (const struct option_row *row = command->options; row->name; row++)
        if (row->source != FROM_COMMAND_LINE)
            return true;
    return false;
}

static void load_configuration(struct option_reader *reader)
{
    const char *workspace = scan(reader);
    struct error error;
    reader->next = reader->command->options;
    if (reader->given[OPTION_HELP] || !is_configurable(reader->command))
        return;
    configuration_release(&configuration);
    reader->is_wrong = !configuration_load(&configuration, workspace, &error);
    if (reader->is_wrong)
        fprintf(stderr, "cadre %s: %s\n", reader->command->name, error.message);
    for (size_t i = 0; !reader->is_wrong && i < vector_count(configuration.notes); i++) {
        struct span note = value_text(vector_at(configuration.notes, i));
        fprintf(stderr, "cadre %s: %.*s\n", reader->command->name, (int)note.length, note.data);
    }
}

void option_reader_init(struct option_reader *reader, enum command_id command, int argc,
                        char **argv)
{
    *reader = (struct option_reader){
        .command = &command_table[command], .argc = argc, .argv = argv, .letters = ":"};
    list_options(reader);
    load_configuration(reader);
    start_again();
}

// The bytes of a variable as they are, which need not be UTF-8.
static const char *setting_text(const struct option_row *row, size_t index)
{
    const struct setting *setting = &configuration.settings[row->id];
    const char *variable =
        setting->origin == SETTING_ENVIRONMENT && !row->repeatable ? getenv(setting->place) : NULL;
    return variable
               ? variable
               : configuration_text(&configuration, value_text(vector_at(setting->values, index)));
}

// Finds the next configured value: true, with row and argument, or false when there is none left.
static bool next_setting(struct option_reader *reader)
{
    for (; configuration.region && reader->next->name; reader->next++, reader->next_value = 0) {
        const struct option_row *row = reader->next;
        const struct setting *setting = &configuration.settings[row->id];
        if (row->source == FROM_COMMAND_LINE || setting->origin == SETTING_DEFAULT ||
            reader->given[row->id] || reader->next_value == vector_count(setting->values))
            continue;
        struct span text = value_text(vector_at(setting->values, reader->next_value));
        if (!row->argument && span_equal_text(text, "false"))
            continue;
        reader->row = row;
        reader->argument = row->argument ? setting_text(row, reader->next_value) : NULL;
        reader->next_value++;
        return true;
    }
    return false;
}

int option_reader_refuse(const struct option_reader *reader)
{
    const struct setting *setting = &configuration.settings[reader->row->id];
    if (!reader->given[reader->row->id] && setting->origin != SETTING_DEFAULT)
        fprintf(stderr, "cadre %s: the value of %s comes from %s\n", reader->command->name,
                reader->row->name, setting->place);
    return EXIT_USAGE;
}

// --- values --------------------------------------------------------------------------------------

static bool check_value(struct option_reader *reader)
{
    struct error error;
    const struct option_row *row = reader->row;
    if (!row->argument || !reader->argument)
        return true;
    if (row->type == OPTION_NUMBER || row->type == OPTION_CHOICE)
        if (!setting_check(row, span_from(reader->argument), &error)) {
            fprintf(stderr, "cadre %s: --%s\n", reader->command->name, error.message);
            return false;
        }
    reader->number = row->type == OPTION_NUMBER ? strtoll(reader->argument, NULL, 10) : 0;
    return true;
}

// A flag may be given as --name=false, against what is configured. False with a message: neither.
static bool check_flag(const struct option_reader *reader, bool *ret_is_set)
{
    *ret_is_set = true;
    if (reader->row->argument || !reader->argument ||
        setting_parse_flag(span_from(reader->argument), ret_is_set))
        return true;
    fprintf(stderr, "cadre %s: --%s takes true or false; got '%s'\n", reader->command->name,
            reader->row->name, reader->argument);
    return false;
}

static int take_found(struct option_reader *reader, int found)
{
    bool is_set;
    reader->argument = optarg;
    reader->row = found == '?' || found == ':' ? NULL : row_for_value(reader->command, found);
    if (!reader->row)
        return explain(reader, found);
    if (reader->row->id == OPTION_HELP) {
        help_print_command(stdout, reader->command);
        return OPTIONS_HELP;
    }
    if (!check_value(reader) || !check_flag(reader, &is_set))
        return OPTIONS_WRONG;
    return is_set ? (int)reader->row->id : option_reader_next(reader);
}

int option_reader_next(struct option_reader *reader)
{
    if (reader->is_wrong)
        return OPTIONS_WRONG;
    if (next_setting(reader))
        return check_value(reader) ? (int)reader->row->id : OPTIONS_WRONG;
    int found = next_found(reader, reader->argv);
    if (found != -1)
        return take_found(reader, found);
    reader->words = reader->argv + optind;
    reader->word_count = reader->argc - optind;
    return OPTIONS_END;
}

int option_reader_status(int end)
{
    return end == OPTIONS_HELP ? EXIT_SUCCESS : EXIT_USAGE;
}
