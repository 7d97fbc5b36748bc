#include "cli/context/context_options.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/table/option_reader.h"
#include "program/compile/suggest.h"
#include "value/text/json.h"

int context_usage(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("cadre context: ", stderr);
    vfprintf(stderr, format, arguments);
    fputs("; see cadre context --help\n", stderr);
    va_end(arguments);
    return EXIT_USAGE;
}

value context_number_or_text(struct region *region, const char *text)
{
    enum { MAX_DIGITS = 18 };
    size_t digits = strspn(text[0] == '-' ? text + 1 : text, "0123456789");
    if (digits > 0 && digits <= MAX_DIGITS && digits + (text[0] == '-') == strlen(text))
        return value_integer_from_text(region, span_from(text));
    return value_string_format(region, "%s", text);
}

static void append_member(struct context_options *options)
{
    if (options->metadata.length > 0)
        buffer_append_byte(&options->metadata, ',');
    options->has_metadata = true;
}

// K=V: a string, except for the two line numbers.
static int parse_meta(struct region *region, struct context_options *options, const char *argument)
{
    const char *equals = strchr(argument, '=');
    if (!equals || equals == argument)
        return context_usage("--meta takes KEY=VALUE; got '%s'", argument);
    struct span key = {argument, (size_t)(equals - argument)};
    if (!utf8_is_valid(argument, strlen(argument))) {
        fputs("cadre: invalid-metadata: --meta is not UTF-8\n", stderr);
        return 1;
    }
    bool line = span_equal(key, SPAN("start_line")) || span_equal(key, SPAN("end_line"));
    value item =
        line ? context_number_or_text(region, equals + 1) : value_string_text(region, equals + 1);
    append_member(options);
    json_write_string(&options->metadata, key);
    buffer_append_byte(&options->metadata, ':');
    json_write(&options->metadata, item, 0, NULL);
    return 0;
}

static int parse_meta_json(struct region *region, struct context_options *options,
                           const char *argument)
{
    value given;
    struct error error;
    if (!json_read(region, span_from(argument), NULL, &given, &error)) {
        fprintf(stderr, "cadre: invalid-metadata: --meta-json: %s\n", error.message);
        return 1;
    }
    if (!value_is_map(given)) {
        options->odd_metadata = given;
        return 0;
    }
    options->has_metadata = true;
    if (map_count(given) == 0)
        return 0;
    CLEANUP_BUFFER struct buffer object;
    buffer_init(&object, CONTEXT_READ_LIMIT);
    json_write(&object, given, 0, NULL);
    append_member(options);
    buffer_append(&options->metadata, object.data + 1, object.length - 2);
    return 0;
}

// 0, or the exit status.
static int parse_option(struct region *region, struct context_options *options,
                        enum option_id option, const char *argument)
{
    options->given[option] = true;
    switch (option) {
    case OPTION_CONTEXT_DB: options->store = argument; return 0;
    case OPTION_WORKSPACE: options->workspace = argument; return 0;
    case OPTION_JSON: options->json = true; return 0;
    case OPTION_TYPE: options->type = argument; return 0;
    case OPTION_META: return parse_meta(region, options, argument);
    case OPTION_META_JSON: return parse_meta_json(region, options, argument);
    case OPTION_FILE: options->file = argument; return 0;
    case OPTION_ID: options->id = argument; return 0;
    case OPTION_PIN: options->pin = true; return 0;
    case OPTION_UNPIN: options->unpin = true; return 0;
    case OPTION_TYPES: options->types = argument; return 0;
    case OPTION_LIMIT: options->limit = argument; return 0;
    case OPTION_MAX_CHARS: options->max_chars = argument; return 0;
    case OPTION_STYLE: options->style = argument; return 0;
    case OPTION_ALL: options->all = true; return 0;
    default: return EXIT_USAGE;
    }
}

int context_options_parse(struct context_options *ret_options, struct region *region, int argc,
                          char **argv)
{
    struct context_options *options = ret_options;
    *options = (struct context_options){0};
    buffer_init(&options->metadata, CONTEXT_READ_LIMIT);
    struct option_reader reader;
    option_reader_init(&reader, COMMAND_CONTEXT, argc, argv);
    int status = 0, option = OPTIONS_END;
    while (status == 0 && (option = option_reader_next(&reader)) > 0)
        status = parse_option(region, options, (enum option_id)option, reader.argument);
    options->help = option == OPTIONS_HELP;
    options->words = reader.words;
    options->word_count = reader.word_count;
    return option == OPTIONS_WRONG ? EXIT_USAGE : status;
}

const char *context_options_stray(const struct context_options *options, const char *subcommand)
{
    const struct option_row *row = command_table[COMMAND_CONTEXT].options;
    for (; row->name; row++)
        if (options->given[row->id] && row->subcommands &&
            !option_list_contains(row->subcommands, span_from(subcommand)))
            return row->name;
    return NULL;
}

const char *context_options_beside_id(const struct context_options *options)
{
    const struct option_row *row = command_table[COMMAND_CONTEXT].options;
    for (; row->name; row++)
        if (options->given[row->id] && row->subcommands && row->id != OPTION_ID &&
            row->id != OPTION_PIN && row->id != OPTION_UNPIN)
            return row->name;
    return NULL;
}

int context_unknown_command(const char *name)
{
    struct suggestion best = {0};
    for (const struct subcommand_row *row = command_table[COMMAND_CONTEXT].subcommands; row->name;
         row++)
        suggest_closer(&best, span_from(name), span_from(row->name));
    // Words for the same things elsewhere, too far away to be found.
    if (strcmp(name, "remove") == 0 || strcmp(name, "delete") == 0)
        best.name = SPAN("rm");
    if (best.name.length)
        return context_usage("unknown command '%s'; did you mean %.*s?", name,
                             (int)best.name.length, best.name.data);
    return context_usage("unknown command '%s'", name);
}

void context_options_release(struct context_options *options)
{
    buffer_release(&options->metadata);
}
