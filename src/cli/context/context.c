// `cadre context COMMAND`: the context store from the command line. Each command builds the
// arguments of one operation of the store and prints its result.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/context/context_file.h"
#include "cli/context/context_options.h"
#include "cli/options.h"
#include "context/operation.h"
#include "daemon/context_place.h"
#include "value/text/json.h"

enum { REGION_LIMIT = 1 << 30 };

struct command_call {
    struct context_store *store;
    struct region *region;
    struct context_options *options;
};

// --- output --------------------------------------------------------------------------------------

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

static value put(struct command_call *call, value map, const char *name, value item)
{
    return map_put_text(call->region, map, name, item);
}

// An id as typed: 2 stands for ctx-2.
static value put_id(struct command_call *call, value map, const char *id)
{
    bool is_number = *id && strspn(id, "0123456789") == strlen(id);
    value whole = value_string_format(call->region, "%s%s", is_number ? "ctx-" : "", id);
    return put(call, map, "id", whole);
}

static value put_text(struct command_call *call, value map, const char *name, const char *text)
{
    return text ? put(call, map, name, value_string_format(call->region, "%s", text)) : map;
}

static int fail(struct command_call *call, const char *code, const char *message)
{
    if (call->options->json) {
        value error = put_text(call, map_new(call->region), "code", code);
        error = put_text(call, error, "message", message);
        value result = put(call, map_new(call->region), "ok", value_boolean(false));
        write_json(put(call, result, "error", error));
    }
    fprintf(stderr, "cadre: %s: %s\n", code, message);
    return 1;
}

static int fail_with(struct command_call *call, const struct context_error *error)
{
    return fail(call, context_code_name(error->code), error->message);
}

// Runs the operation; reports a failure.
static bool run_operation(struct command_call *call, enum context_operation operation,
                          value arguments, struct context_result *ret_result)
{
    *ret_result = context_operate(call->store, call->region, operation, arguments);
    if (!ret_result->ok)
        fail_with(call, &ret_result->error);
    return ret_result->ok;
}

// --- arguments shared by the commands ------------------------------------------------------------

static value filter_arguments(struct command_call *call)
{
    const struct context_options *options = call->options;
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
        arguments =
            put(call, arguments, "limit", context_number_or_text(call->region, options->limit));
    return arguments;
}

// --- add -----------------------------------------------------------------------------------------

static bool is_utf8(struct command_call *call, struct span text, const char *what)
{
    size_t valid = utf8_valid_prefix(text.data, text.length);
    if (valid == text.length)
        return true;
    struct context_error error;
    context_fail(&error, CONTEXT_INVALID_CONTENT, "%s is not UTF-8 (byte %zu)", what, valid + 1);
    fail_with(call, &error);
    return false;
}

// Content and metadata from a file. Metadata of the user comes later and overrides it.
static bool read_file_content(struct command_call *call, struct context_file *file,
                              value *arguments)
{
    struct context_options *options = call->options;
    struct context_error error;
    if (!context_file_read(options->file, CONTEXT_READ_LIMIT, file, &error)) {
        fail_with(call, &error);
        return false;
    }
    if (!is_utf8(call, file->content, file->name))
        return false;
    CLEANUP_BUFFER struct buffer members;
    buffer_init(&members, CONTEXT_READ_LIMIT);
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
        options->type = file->start_line == 0                          ? "file"
                        : context_name_is_prose(span_from(file->name)) ? "text"
                                                                       : "code";
    *arguments = put(call, *arguments, "content", value_string(call->region, file->content));
    return true;
}

static bool read_input_content(struct command_call *call, value *arguments)
{
    CLEANUP_BUFFER struct buffer input = {0};
    const struct context_options *options = call->options;
    bool is_argument = options->word_count == 1 && strcmp(options->words[0], "-") != 0;
    if (!is_argument && !option_read_file("-", CONTEXT_READ_LIMIT, &input))
        return false;
    struct span content = is_argument ? span_from(options->words[0]) : buffer_span(&input);
    if (!is_utf8(call, content, "content"))
        return false;
    *arguments = put(call, *arguments, "content", value_string(call->region, content));
    return true;
}

static bool read_metadata(struct command_call *call, value *arguments)
{
    struct context_options *options = call->options;
    value metadata = options->odd_metadata;
    if (options->has_metadata) {
        CLEANUP_BUFFER struct buffer object;
        buffer_init(&object, CONTEXT_READ_LIMIT);
        buffer_append_byte(&object, '{');
        buffer_append_span(&object, buffer_span(&options->metadata));
        buffer_append_byte(&object, '}');
        struct error error;
        if (!json_read(call->region, buffer_span(&object), NULL, &metadata, &error)) {
            fail(call, "invalid-metadata", error.message);
            return false;
        }
    }
    *arguments = put(call, *arguments, "metadata", metadata);
    return true;
}

static value result_with_warning(struct command_call *call, value structured, value warning)
{
    value warnings = map_get(structured, "warnings");
    warnings = vector_push(call->region, value_retain(warnings), warning);
    return put(call, structured, "warnings", warnings);
}

// The type of typed text: code where the metadata name a file of code.
static const char *typed_type(value metadata)
{
    struct span name = map_get_string(metadata, "filename");
    return name.length == 0 || context_name_is_prose(name) ? "text" : "code";
}

static int add_new(struct command_call *call)
{
    CLEANUP_CONTEXT_FILE struct context_file file = {0};
    const struct context_options *options = call->options;
    value arguments = map_new(call->region);
    bool ok = options->file ? read_file_content(call, &file, &arguments)
                            : read_input_content(call, &arguments);
    if (!ok || !read_metadata(call, &arguments))
        return 1;
    if (!options->type)
        call->options->type = typed_type(map_get(arguments, "metadata"));
    arguments = put_text(call, arguments, "type", options->type);
    arguments = put(call, arguments, "pinned", value_boolean(options->pin));
    struct context_result result;
    if (!run_operation(call, CONTEXT_OPERATION_ADD, arguments, &result))
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
                value_text(map_get(map_get(result.structured, "item"), "id")));
    return 0;
}

static int change_pin(struct command_call *call, const char *id, bool pinned)
{
    value arguments = put_id(call, map_new(call->region), id);
    arguments = put(call, arguments, "pinned", value_boolean(pinned));
    struct context_result result;
    if (!run_operation(call, CONTEXT_OPERATION_ADD, arguments, &result))
        return 1;
    if (call->options->json)
        write_json(result.structured);
    else
        write_lines(value_text(result.text), (struct span){0});
    return 0;
}

static int command_add(struct command_call *call)
{
    const struct context_options *options = call->options;
    if (options->id) {
        const char *stray = context_options_beside_id(options);
        if (stray || options->word_count > 0)
            return context_usage("--id takes --pin or --unpin only; got %s%s", stray ? "--" : "",
                                 stray ? stray : options->words[0]);
        if (options->pin == options->unpin)
            return context_usage("--id needs --pin or --unpin");
        return change_pin(call, options->id, options->pin);
    }
    if (options->unpin)
        return context_usage("--unpin needs --id");
    if (options->word_count > 1 || (options->file && options->word_count > 0))
        return context_usage("unexpected argument '%s'", options->words[options->word_count - 1]);
    if (!options->file && options->word_count == 0 && isatty(STDIN_FILENO))
        return context_usage("no content");
    return add_new(call);
}

// --- the other commands --------------------------------------------------------------------------

static int print(struct command_call *call, enum context_operation operation, value arguments)
{
    struct context_result result;
    if (!run_operation(call, operation, arguments, &result))
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
                        context_number_or_text(call->region, call->options->max_chars));
    arguments = put_text(call, arguments, "style", call->options->style);
    return print(call, CONTEXT_OPERATION_RENDER, arguments);
}

static int command_clear(struct command_call *call)
{
    value arguments =
        put(call, filter_arguments(call), "include_pinned", value_boolean(call->options->all));
    return print(call, CONTEXT_OPERATION_CLEAR, arguments);
}

static int command_show(struct command_call *call)
{
    struct context_options *options = call->options;
    value id = map_get(put_id(call, map_new(call->region), options->words[0]), "id");
    value ids = vector_push(call->region, vector_new(call->region, 1), value_retain(id));
    value arguments = put(call, map_new(call->region), "ids", ids);
    arguments = put(call, arguments, "content", value_boolean(true));
    struct context_result result;
    if (!run_operation(call, CONTEXT_OPERATION_LIST, arguments, &result))
        return 1;
    value item = vector_at(map_get(result.structured, "items"), 0);
    if (options->json)
        write_json(item);
    else
        write_span(value_text(map_get(item, "content")));
    return 0;
}

static void write_matches(value item, struct span wanted)
{
    struct span rest = value_text(map_get(item, "content")), id = map_get_string(item, "id");
    for (size_t number = 1; rest.length > 0; number++) {
        const char *newline = memchr(rest.data, '\n', rest.length);
        struct span line = {rest.data, newline ? (size_t)(newline - rest.data) : rest.length};
        if (context_text_has(line, wanted))
            printf("%.*s:%zu: %.*s\n", (int)id.length, id.data, number, (int)line.length,
                   line.data);
        size_t taken = line.length + (newline != NULL);
        rest = (struct span){rest.data + taken, rest.length - taken};
    }
}

// Lines of items that have the text, as grep shows them; case of ASCII letters does not matter.
static int command_search(struct command_call *call)
{
    struct span wanted = span_from(call->options->words[0]);
    value arguments = put(call, filter_arguments(call), "content", value_boolean(true));
    struct context_result result;
    if (wanted.length == 0)
        return context_usage("search needs a text");
    if (!run_operation(call, CONTEXT_OPERATION_LIST, arguments, &result))
        return 1;
    value items = map_get(result.structured, "items"), found = vector_new(call->region, 0);
    for (size_t i = 0; i < vector_count(items); i++) {
        value item = vector_at(items, i);
        if (!context_text_has(value_text(map_get(item, "content")), wanted))
            continue;
        found = vector_push(call->region, found, value_retain(item));
        if (!call->options->json)
            write_matches(item, wanted);
    }
    if (call->options->json)
        write_json(
            put(call, put(call, map_new(call->region), "ok", value_boolean(true)), "items", found));
    else if (vector_count(found) == 0)
        fprintf(stderr, "No item has \"%s\".\n", call->options->words[0]);
    return 0;
}

static int command_remove(struct command_call *call)
{
    int status = 0;
    for (int i = 0; i < call->options->word_count; i++) {
        value arguments = put_id(call, map_new(call->region), call->options->words[i]);
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
        return fail_with(call, &error);
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
    const struct context_options *options = call->options;
    struct context_error error;
    if (options->word_count == 0)
        return print_settings(call);
    if (options->word_count != 2)
        return context_usage("set takes a name and a value");
    if (!context_store_set(call->store, span_from(options->words[0]), span_from(options->words[1]),
                           &error))
        return fail_with(call, &error);
    return print_settings(call);
}

// --- the command line ----------------------------------------------------------------------------

static const struct {
    const char *name;
    int (*run)(struct command_call *call);
    int low;   // arguments, at least
    int high;  // at most
} commands[] = {
    {"add", command_add, 0, 2},       {"list", command_list, 0, 0},
    {"show", command_show, 1, 1},     {"rm", command_remove, 1, 1 << 20},
    {"pin", command_pin, 1, 1 << 20}, {"unpin", command_unpin, 1, 1 << 20},
    {"clear", command_clear, 0, 0},   {"render", command_render, 0, 0},
    {"set", command_set, 0, 2},       {"search", command_search, 1, 1},
};

static int run_on_store(struct command_call *call, int (*run)(struct command_call *call))
{
    struct error error;
    CLEANUP_FREE char *place =
        context_place(call->options->store, call->options->workspace, &error);
    if (!place) {
        fprintf(stderr, "cadre context: %s\n", error.message);
        return EXIT_FAILURE;
    }
    call->store = context_store_new(place);
    int status = run(call);
    context_store_free(call->store);
    return status;
}

static int run_command(struct command_call *call)
{
    struct context_options *options = call->options;
    if (options->word_count == 0)
        return context_usage("no command");
    const char *name = options->words[0];
    options->words++;
    options->word_count--;
    for (size_t i = 0; i < COUNT_OF(commands); i++) {
        if (strcmp(name, commands[i].name) != 0)
            continue;
        if (options->word_count < commands[i].low || options->word_count > commands[i].high)
            return context_usage("wrong number of arguments for %s", name);
        const char *stray = context_options_stray(options, name);
        if (stray)
            return context_usage("%s has no option --%s", name, stray);
        return run_on_store(call, commands[i].run);
    }
    return context_unknown_command(name);
}

int command_context(int argc, char **argv)
{
    struct region *region = region_new(REGION_LIMIT);
    struct context_options options;
    int status = context_options_parse(&options, region, argc, argv);
    struct command_call call = {.region = region, .options = &options};
    if (status == 0 && !options.help)
        status = run_command(&call);
    context_options_release(&options);
    region_free(region);
    return status;
}
