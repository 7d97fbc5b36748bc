#include "cli/context_options.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "cli/commands.h"
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

static const struct option long_options[] = {
    {"context-db", required_argument, NULL, CONTEXT_OPTION_STORE},
    {"json", no_argument, NULL, CONTEXT_OPTION_JSON},
    {"type", required_argument, NULL, CONTEXT_OPTION_TYPE},
    {"meta", required_argument, NULL, CONTEXT_OPTION_META},
    {"meta-json", required_argument, NULL, CONTEXT_OPTION_META_JSON},
    {"file", required_argument, NULL, CONTEXT_OPTION_FILE},
    {"id", required_argument, NULL, CONTEXT_OPTION_ID},
    {"pin", no_argument, NULL, CONTEXT_OPTION_PIN},
    {"unpin", no_argument, NULL, CONTEXT_OPTION_UNPIN},
    {"types", required_argument, NULL, CONTEXT_OPTION_TYPES},
    {"limit", required_argument, NULL, CONTEXT_OPTION_LIMIT},
    {"max-chars", required_argument, NULL, CONTEXT_OPTION_MAX_CHARS},
    {"style", required_argument, NULL, CONTEXT_OPTION_STYLE},
    {"all", no_argument, NULL, CONTEXT_OPTION_ALL},
    {"help", no_argument, NULL, CONTEXT_OPTION_HELP},
    {0},
};

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
static int parse_option(struct region *region, struct context_options *options, int option,
                        const char *argument)
{
    options->given |= option == '?' ? 0 : (unsigned)option;
    switch (option) {
    case CONTEXT_OPTION_STORE: options->store = argument; return 0;
    case CONTEXT_OPTION_JSON: options->json = true; return 0;
    case CONTEXT_OPTION_TYPE: options->type = argument; return 0;
    case CONTEXT_OPTION_META: return parse_meta(region, options, argument);
    case CONTEXT_OPTION_META_JSON: return parse_meta_json(region, options, argument);
    case CONTEXT_OPTION_FILE: options->file = argument; return 0;
    case CONTEXT_OPTION_ID: options->id = argument; return 0;
    case CONTEXT_OPTION_PIN: options->pin = true; return 0;
    case CONTEXT_OPTION_UNPIN: options->unpin = true; return 0;
    case CONTEXT_OPTION_TYPES: options->types = argument; return 0;
    case CONTEXT_OPTION_LIMIT: options->limit = argument; return 0;
    case CONTEXT_OPTION_MAX_CHARS: options->max_chars = argument; return 0;
    case CONTEXT_OPTION_STYLE: options->style = argument; return 0;
    case CONTEXT_OPTION_ALL: options->all = true; return 0;
    case CONTEXT_OPTION_HELP: options->help = true; return 0;
    default:
        return context_usage("unknown option or missing value near '%s'", argument ? argument : "");
    }
}

int context_options_parse(struct context_options *ret_options, struct region *region, int argc,
                          char **argv)
{
    struct context_options *options = ret_options;
    *options = (struct context_options){0};
    buffer_init(&options->metadata, CONTEXT_READ_LIMIT);
    int status = 0;
    optind = 1;
    opterr = 0;
    for (int option; status == 0 && !options->help &&
                     (option = getopt_long(argc, argv, "", long_options, NULL)) != -1;)
        status = parse_option(region, options, option, option == '?' ? argv[optind - 1] : optarg);
    options->words = argv + optind;
    options->word_count = argc - optind;
    return status;
}

const char *context_options_stray(const struct context_options *options, unsigned allowed)
{
    unsigned common = CONTEXT_OPTION_STORE | CONTEXT_OPTION_JSON | CONTEXT_OPTION_HELP;
    for (const struct option *option = long_options; option->name; option++)
        if (options->given & ~allowed & ~common & (unsigned)option->val)
            return option->name;
    return NULL;
}

void context_options_release(struct context_options *options)
{
    buffer_release(&options->metadata);
}
