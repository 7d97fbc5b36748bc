// `cadre context COMMAND`: the context store from the command line. Each command builds the arguments
// of one operation of the store and prints what it answers.
#include <getopt.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/context_file.h"
#include "cli/options.h"
#include "context/operation.h"
#include "value/json.h"

enum {
    REGION_LIMIT = 1 << 30,
    READ_LIMIT = 64 << 20,  // a larger input is refused before it is looked at
};

static const char help[] =
    "usage: cadre context COMMAND [OPTION...] [ARGUMENT...]\n"
    "\n"
    "  add [CONTENT|-]   keep an item, print its id; without CONTENT from standard input\n"
    "      --type T          code (default), text, file, repl-history, error, custom\n"
    "      --meta K=V        metadata (repeatable); --meta-json OBJECT for more than strings\n"
    "      --file F[:A[-B]]  a file, or its lines A to B\n"
    "      --pin             never drop it\n"
    "      --id ID --pin|--unpin   change an item that exists\n"
    "  list              what is kept, oldest first [--types a,b] [--limit N]\n"
    "  show ID           the content of an item, verbatim\n"
    "  rm ID...          delete items\n"
    "  pin ID...         never drop them; unpin ID... undoes it\n"
    "  clear             delete all unpinned items [--types a,b] [--all: pinned ones, too]\n"
    "  render            all as Markdown [--types a,b] [--limit N] [--max-chars N]\n"
    "                    [--style block|inline]\n"
    "  set [NAME VALUE]  settings of the store: max-items (1 to 1000, default 50),\n"
    "                    auto-context (off, errors, history, all)\n"
    "\n"
    "  --context-db FILE  another store (default $CADRE_CONTEXT_DB, else\n"
    "                     $XDG_STATE_HOME/cadre/context.db); :memory: keeps nothing\n"
    "  --json             the structured result\n";

struct options {
    const char *store;
    bool json;
    const char *type;
    struct buffer metadata;  // members of a JSON object, without its braces
    bool has_metadata;
    value odd_metadata;      // --meta-json that is no object, for the store to refuse
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

struct command_call {
    struct context_store *store;
    struct region *region;
    struct options *options;
};

// --- output -------------------------------------------------------------------------------------

static int fail(const char *code, const char *message)
{
    fprintf(stderr, "cadre: %s: %s\n", code, message);
    return 1;
}

static int usage(const char *format, ...) __attribute__((format(printf, 1, 2)));
static int usage(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("cadre context: ", stderr);
    vfprintf(stderr, format, arguments);
    fputs("; see cadre context --help\n", stderr);
    va_end(arguments);
    return EXIT_USAGE;
}

static void write_span(struct span text)
{
    fwrite(text.data, 1, text.length, stdout);
}

static void write_json(value v)
{
    CLEANUP_BUFFER struct buffer json;
    buffer_init(&json, BUFFER_DEFAULT_LIMIT);
    json_write(&json, v, 0, NULL);
    write_span(buffer_span(&json));
    putchar('\n');
}

// The first line to standard output, the others (evictions, warnings) to standard error.
static void write_lines(struct span text, struct span first)
{
    const char *end = memchr(text.data, '\n', text.length);
    size_t length = end ? (size_t)(end - text.data) : text.length;
    write_span(first.data ? first : (struct span){text.data, length});
    putchar('\n');
    fflush(stdout);
    if (end)
        fprintf(stderr, "%.*s\n", (int)(text.length - length - 1), end + 1);
}

// Runs the operation; on failure says so.
static bool operate(struct command_call *call, enum context_operation operation, value arguments,
                    struct context_result *ret_result)
{
    *ret_result = context_operate(call->store, call->region, operation, arguments);
    if (ret_result->ok)
        return true;
    if (call->options->json)
        write_json(ret_result->structured);
    fail(context_code_name(ret_result->error.code), ret_result->error.message);
    return false;
}

static value put(struct command_call *call, value map, const char *name, value item)
{
    return map_put_text(call->region, map, name, item);
}

static value put_text(struct command_call *call, value map, const char *name, const char *text)
{
    return text ? put(call, map, name, value_string_format(call->region, "%s", text)) : map;
}

// --- arguments shared by the commands -----------------------------------------------------------

// "5" as a number; other text as it is, for the store to refuse.
static value number_or_text(struct region *region, const char *text)
{
    enum { MAX_DIGITS = 18 };
    size_t digits = strspn(text[0] == '-' ? text + 1 : text, "0123456789");
    if (digits > 0 && digits <= MAX_DIGITS && digits + (text[0] == '-') == strlen(text))
        return value_integer_from_text(region, span_from(text));
    return value_string_format(region, "%s", text);
}

static value filter_arguments(struct command_call *call)
{
    const struct options *options = call->options;
    value arguments = map_new(call->region);
    if (options->types) {
        value types = vector_new(call->region, 0);
        for (const char *at = options->types; at; at = strchr(at, ',')) {
            at += *at == ',';
            size_t length = strcspn(at, ",");
            types = vector_push(call->region, types,
                                value_string_format(call->region, "%.*s", (int)length, at));
        }
        arguments = put(call, arguments, "types", types);
    }
    if (options->limit)
        arguments = put(call, arguments, "limit", number_or_text(call->region, options->limit));
    return arguments;
}

// --- add ----------------------------------------------------------------------------------------

static bool is_utf8(struct span text, const char *what)
{
    size_t valid = utf8_valid_prefix(text.data, text.length);
    if (valid == text.length)
        return true;
    fprintf(stderr, "cadre: invalid-content: %s is not UTF-8 (byte %zu)\n", what, valid + 1);
    return false;
}

// Content and metadata from a file; the user's own metadata comes after it and wins.
static bool take_file(struct command_call *call, struct context_file *file, value *arguments)
{
    struct options *options = call->options;
    struct context_error error;
    if (!context_file_read(options->file, READ_LIMIT, file, &error)) {
        fail(context_code_name(error.code), error.message);
        return false;
    }
    if (!is_utf8(file->content, file->name))
        return false;
    CLEANUP_BUFFER struct buffer members;
    buffer_init(&members, READ_LIMIT);
    buffer_append_text(&members, "\"filename\":");
    json_write_string(&members, span_from(file->name));
    if (file->start_line > 0)
        buffer_append_format(&members, ",\"start_line\":%" PRId64 ",\"end_line\":%" PRId64,
                             file->start_line, file->end_line);
    if (options->metadata.length > 0)
        buffer_append_byte(&members, ',');
    buffer_append_span(&members, buffer_span(&options->metadata));
    buffer_clear(&options->metadata);
    buffer_append_span(&options->metadata, buffer_span(&members));
    options->has_metadata = true;
    if (!options->type)
        options->type = file->start_line > 0 ? "code" : "file";
    *arguments = put(call, *arguments, "content", value_string(call->region, file->content));
    return true;
}

static bool take_input(struct command_call *call, value *arguments)
{
    CLEANUP_BUFFER struct buffer input = {0};
    const struct options *options = call->options;
    bool is_argument = options->word_count == 1 && strcmp(options->words[0], "-") != 0;
    if (!is_argument && !option_read_file("-", READ_LIMIT, &input))
        return false;
    struct span content = is_argument ? span_from(options->words[0]) : buffer_span(&input);
    if (!is_utf8(content, "content"))
        return false;
    *arguments = put(call, *arguments, "content", value_string(call->region, content));
    return true;
}

static bool take_metadata(struct command_call *call, value *arguments)
{
    struct options *options = call->options;
    value metadata = options->odd_metadata;
    if (options->has_metadata) {
        CLEANUP_BUFFER struct buffer object;
        buffer_init(&object, READ_LIMIT);
        buffer_append_byte(&object, '{');
        buffer_append_span(&object, buffer_span(&options->metadata));
        buffer_append_byte(&object, '}');
        struct error error;
        if (!json_read(call->region, buffer_span(&object), NULL, &metadata, &error)) {
            fail("invalid-metadata", error.message);
            return false;
        }
    }
    *arguments = put(call, *arguments, "metadata", metadata);
    return true;
}

static value result_with_warning(struct command_call *call, value structured, value warning)
{
    value warnings = map_get_text(structured, "warnings");
    warnings = vector_push(call->region, value_retain(warnings), warning);
    return put(call, structured, "warnings", warnings);
}

static int add_new(struct command_call *call)
{
    CLEANUP_CONTEXT_FILE struct context_file file = {0};
    const struct options *options = call->options;
    value arguments = map_new(call->region);
    bool taken = options->file ? take_file(call, &file, &arguments) : take_input(call, &arguments);
    if (!taken || !take_metadata(call, &arguments))
        return 1;
    arguments = put_text(call, arguments, "type", options->type);
    arguments = put(call, arguments, "pinned", value_boolean(options->pin));
    struct context_result result;
    if (!operate(call, CONTEXT_OPERATION_ADD, arguments, &result))
        return 1;
    if (file.clamped) {
        value warning = context_warning(call->region, "range-clamped", "%s", file.message);
        fprintf(stderr, "Warning: %s\n", file.message);
        result.structured = result_with_warning(call, result.structured, warning);
    }
    if (options->json) {
        write_json(result.structured);
        return 0;
    }
    write_lines(value_text(result.text),
                value_text(map_get_text(map_get_text(result.structured, "item"), "id")));
    return 0;
}

static int change_pin(struct command_call *call, const char *id, bool pinned)
{
    value arguments = put_text(call, map_new(call->region), "id", id);
    arguments = put(call, arguments, "pinned", value_boolean(pinned));
    struct context_result result;
    if (!operate(call, CONTEXT_OPERATION_ADD, arguments, &result))
        return 1;
    if (call->options->json)
        write_json(result.structured);
    else
        write_lines(value_text(result.text), (struct span){0});
    return 0;
}

static int command_add(struct command_call *call)
{
    const struct options *options = call->options;
    if (options->id) {
        if (options->pin == options->unpin)
            return usage("--id needs --pin or --unpin");
        return change_pin(call, options->id, options->pin);
    }
    if (options->unpin)
        return usage("--unpin needs --id");
    if (options->word_count > 1 || (options->file && options->word_count > 0))
        return usage("unexpected argument '%s'", options->words[options->word_count - 1]);
    if (!options->file && options->word_count == 0 && isatty(STDIN_FILENO))
        return usage("no content");
    return add_new(call);
}

// --- the other commands -------------------------------------------------------------------------

static int print(struct command_call *call, enum context_operation operation, value arguments)
{
    struct context_result result;
    if (!operate(call, operation, arguments, &result))
        return 1;
    if (call->options->json) {
        write_json(result.structured);
        return 0;
    }
    write_span(value_text(result.text));
    if (operation != CONTEXT_OPERATION_RENDER)
        putchar('\n');
    return 0;
}

static int command_list(struct command_call *call)
{
    return print(call, CONTEXT_OPERATION_LIST, filter_arguments(call));
}

static int command_render(struct command_call *call)
{
    value arguments = filter_arguments(call);
    if (call->options->max_chars)
        arguments = put(call, arguments, "max_chars",
                        number_or_text(call->region, call->options->max_chars));
    arguments = put_text(call, arguments, "style", call->options->style);
    return print(call, CONTEXT_OPERATION_RENDER, arguments);
}

static int command_clear(struct command_call *call)
{
    value arguments = put(call, filter_arguments(call), "include_pinned",
                          value_boolean(call->options->all));
    return print(call, CONTEXT_OPERATION_CLEAR, arguments);
}

static int command_show(struct command_call *call)
{
    struct options *options = call->options;
    value id = value_string_format(call->region, "%s", options->words[0]);
    value ids = vector_push(call->region, vector_new(call->region, 1), id);
    value arguments = put(call, map_new(call->region), "ids", ids);
    arguments = put(call, arguments, "content", value_boolean(true));
    struct context_result result;
    if (!operate(call, CONTEXT_OPERATION_LIST, arguments, &result))
        return 1;
    value item = vector_at(map_get_text(result.structured, "items"), 0);
    if (options->json)
        write_json(item);
    else
        write_span(value_text(map_get_text(item, "content")));
    return 0;
}

static int command_remove(struct command_call *call)
{
    int status = 0;
    for (int i = 0; i < call->options->word_count; i++) {
        value arguments = put_text(call, map_new(call->region), "id", call->options->words[i]);
        if (print(call, CONTEXT_OPERATION_REMOVE, arguments) != 0)
            status = 1;
    }
    return status;
}

static int command_pin(struct command_call *call)
{
    int status = 0;
    for (int i = 0; i < call->options->word_count; i++) {
        if (change_pin(call, call->options->words[i], !call->options->unpin) != 0)
            status = 1;
    }
    return status;
}

static int command_unpin(struct command_call *call)
{
    call->options->unpin = true;
    return command_pin(call);
}

static int print_settings(struct command_call *call)
{
    int64_t max_items = 0;
    enum context_auto mode = CONTEXT_AUTO_OFF;
    struct context_error error;
    if (!context_store_max_items(call->store, &max_items, &error) ||
        !context_store_auto(call->store, &mode, &error))
        return fail(context_code_name(error.code), error.message);
    if (call->options->json) {
        value settings = put(call, map_new(call->region), "max-items", value_integer(max_items));
        write_json(put_text(call, settings, "auto-context", context_auto_name(mode)));
        return 0;
    }
    printf("max-items %" PRId64 "\nauto-context %s\n", max_items, context_auto_name(mode));
    return 0;
}

static int command_set(struct command_call *call)
{
    const struct options *options = call->options;
    struct context_error error;
    if (options->word_count == 0)
        return print_settings(call);
    if (options->word_count != 2)
        return usage("set takes a name and a value");
    if (!context_store_set(call->store, span_from(options->words[0]), span_from(options->words[1]),
                           &error))
        return fail(context_code_name(error.code), error.message);
    return print_settings(call);
}

// --- the command line ---------------------------------------------------------------------------

static const struct {
    const char *name;
    int (*run)(struct command_call *call);
    int low;   // arguments, at least
    int high;  // at most
} commands[] = {
    {"add", command_add, 0, 2},          {"list", command_list, 0, 0},
    {"show", command_show, 1, 1},        {"rm", command_remove, 1, 1 << 20},
    {"pin", command_pin, 1, 1 << 20},    {"unpin", command_unpin, 1, 1 << 20},
    {"clear", command_clear, 0, 0},      {"render", command_render, 0, 0},
    {"set", command_set, 0, 2},
};

enum {
    OPTION_STORE = 256, OPTION_JSON, OPTION_TYPE, OPTION_META, OPTION_META_JSON, OPTION_FILE, OPTION_ID,
    OPTION_PIN, OPTION_UNPIN, OPTION_TYPES, OPTION_LIMIT, OPTION_MAX_CHARS, OPTION_STYLE, OPTION_ALL,
    OPTION_HELP,
};

static const struct option long_options[] = {
    {"context-db", required_argument, NULL, OPTION_STORE},
    {"json", no_argument, NULL, OPTION_JSON},
    {"type", required_argument, NULL, OPTION_TYPE},
    {"meta", required_argument, NULL, OPTION_META},
    {"meta-json", required_argument, NULL, OPTION_META_JSON},
    {"file", required_argument, NULL, OPTION_FILE},
    {"id", required_argument, NULL, OPTION_ID},
    {"pin", no_argument, NULL, OPTION_PIN},
    {"unpin", no_argument, NULL, OPTION_UNPIN},
    {"types", required_argument, NULL, OPTION_TYPES},
    {"limit", required_argument, NULL, OPTION_LIMIT},
    {"max-chars", required_argument, NULL, OPTION_MAX_CHARS},
    {"style", required_argument, NULL, OPTION_STYLE},
    {"all", no_argument, NULL, OPTION_ALL},
    {"help", no_argument, NULL, OPTION_HELP},
    {0},
};

static void append_member(struct options *options)
{
    if (options->metadata.length > 0)
        buffer_append_byte(&options->metadata, ',');
    options->has_metadata = true;
}

// K=V: a string, but for the two line numbers.
static int take_meta(struct region *region, struct options *options, const char *argument)
{
    const char *equals = strchr(argument, '=');
    if (!equals || equals == argument)
        return usage("--meta takes KEY=VALUE; got '%s'", argument);
    struct span key = {argument, (size_t)(equals - argument)};
    if (!utf8_is_valid(argument, strlen(argument)))
        return fail("invalid-metadata", "--meta is not UTF-8");
    bool line = span_equal(key, SPAN("start_line")) || span_equal(key, SPAN("end_line"));
    value item = line ? number_or_text(region, equals + 1) : value_string_text(region, equals + 1);
    append_member(options);
    json_write_string(&options->metadata, key);
    buffer_append_byte(&options->metadata, ':');
    json_write(&options->metadata, item, 0, NULL);
    return 0;
}

static int take_meta_json(struct region *region, struct options *options, const char *argument)
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
    buffer_init(&object, READ_LIMIT);
    json_write(&object, given, 0, NULL);
    append_member(options);
    buffer_append(&options->metadata, object.data + 1, object.length - 2);
    return 0;
}

// 0, or the exit status.
static int take_option(struct region *region, struct options *options, int option, const char *argument)
{
    switch (option) {
    case OPTION_STORE: options->store = argument; return 0;
    case OPTION_JSON: options->json = true; return 0;
    case OPTION_TYPE: options->type = argument; return 0;
    case OPTION_META: return take_meta(region, options, argument);
    case OPTION_META_JSON: return take_meta_json(region, options, argument);
    case OPTION_FILE: options->file = argument; return 0;
    case OPTION_ID: options->id = argument; return 0;
    case OPTION_PIN: options->pin = true; return 0;
    case OPTION_UNPIN: options->unpin = true; return 0;
    case OPTION_TYPES: options->types = argument; return 0;
    case OPTION_LIMIT: options->limit = argument; return 0;
    case OPTION_MAX_CHARS: options->max_chars = argument; return 0;
    case OPTION_STYLE: options->style = argument; return 0;
    case OPTION_ALL: options->all = true; return 0;
    default: return usage("unknown option or missing value near '%s'", argument ? argument : "");
    }
}

static int run_command(struct command_call *call)
{
    struct options *options = call->options;
    if (options->word_count == 0)
        return usage("no command");
    const char *name = options->words[0];
    options->words++;
    options->word_count--;
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        if (strcmp(name, commands[i].name) != 0)
            continue;
        if (options->word_count < commands[i].low || options->word_count > commands[i].high)
            return usage("wrong number of arguments for %s", name);
        call->store = context_store_new(options->store);
        int status = commands[i].run(call);
        context_store_free(call->store);
        if (fflush(stdout) != 0 && status == 0) {
            perror("cadre: cannot write");
            status = 1;
        }
        return status;
    }
    return usage("unknown command '%s'", name);
}

int command_context(int argc, char **argv)
{
    struct options options = {0};
    struct region *region = region_new(REGION_LIMIT);
    buffer_init(&options.metadata, READ_LIMIT);
    int status = 0;
    bool helped = false;
    optind = 1;
    opterr = 0;
    for (int option; status == 0 && !helped &&
                     (option = getopt_long(argc, argv, "", long_options, NULL)) != -1;) {
        helped = option == OPTION_HELP;
        if (!helped)
            status = take_option(region, &options, option, option == '?' ? argv[optind - 1] : optarg);
    }
    options.words = argv + optind;
    options.word_count = argc - optind;
    struct command_call call = {.region = region, .options = &options};
    if (helped)
        fputs(help, stdout);
    else if (status == 0)
        status = run_command(&call);
    buffer_release(&options.metadata);
    region_free(region);
    return status;
}
