#include "program/run/saved_memory.h"

#include <string.h>

#include "base/utf8.h"
#include "program/eval/eval.h"
#include "program/run/tool.h"
#include "value/text/edn.h"
#include "value/text/json.h"
#include "value/text/literal.h"
#include "value/text/print.h"

// --- source of functions -------------------------------------------------------------------------

static bool is_open(char c)
{
    return c == '(' || c == '[' || c == '{';
}
static bool is_close(char c)
{
    return c == ')' || c == ']' || c == '}';
}

// The end of the form that starts with a bracket (after # perhaps) at `offset` of a valid program.
static size_t form_end(struct span source, size_t offset)
{
    size_t depth = 0;
    for (size_t i = offset; i < source.length; i++) {
        char c = source.data[i];
        if (c == ';') {
            while (i < source.length && source.data[i] != '\n')
                i++;
        } else if (c == '\\') {
            i++;  // a character literal
        } else if (c == '"') {
            for (i++; i < source.length && source.data[i] != '"'; i++)
                i += source.data[i] == '\\';
        } else if (is_open(c)) {
            depth++;
        } else if (is_close(c) && --depth == 0) {
            return i + 1;
        }
    }
    return source.length;
}

struct span source_form(struct span source, size_t offset)
{
    return (struct span){source.data + offset, form_end(source, offset) - offset};
}

// The closure of a memory entry that can be written as source, or NULL.
static const struct closure *plain_closure(const struct step *step, value v)
{
    if (!value_is_foreign(v, &closure_type))
        return NULL;
    const struct closure *closure = (const struct closure *)v.object;
    return closure->code->capture_count == 0 && closure->code->program == step->program ? closure
                                                                                        : NULL;
}

// Whether a definition compiles without the rest of its program, within the default limits.
static bool is_definition(struct span source)
{
    struct run_limits limits;
    run_limits_default(&limits);
    struct compile_options options = {.source = source, .limits = &limits};
    struct diagnostic diagnostic;
    struct program *program = program_compile(&options, &diagnostic);
    bool ok = program && program->global_count == 1;
    program_release(program);
    return ok;
}

static bool is_definable(struct span name)
{
    if (!name_is_symbol(name))
        return false;
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, BUFFER_DEFAULT_LIMIT);
    buffer_append_text(&text, "(def ");
    buffer_append_span(&text, name);
    buffer_append_text(&text, " nil)");
    return is_definition(buffer_span(&text));
}

static bool is_symbol_end(struct span text, size_t offset)
{
    return offset >= text.length || !literal_is_symbol_character(text.data[offset]);
}

static size_t skip_blanks(struct span text, size_t offset)
{
    while (offset < text.length && strchr(" \t\n\r,;", text.data[offset])) {
        if (text.data[offset] == ';')
            while (offset < text.length && text.data[offset] != '\n')
                offset++;
        else
            offset++;
    }
    return offset;
}

// The parameters and the body of (defn name doc? [parameters] body…), up to its end.
static struct span function_of_defn(struct span form)
{
    size_t offset = skip_blanks(form, strlen("(defn"));
    while (!is_symbol_end(form, offset))
        offset++;
    offset = skip_blanks(form, offset);
    if (offset < form.length && form.data[offset] == '"') {
        for (offset++; offset < form.length && form.data[offset] != '"'; offset++)
            offset += form.data[offset] == '\\';
        offset = skip_blanks(form, offset + 1);
    }
    return (struct span){form.data + offset, form.length - offset};
}

static void write_function(struct buffer *buffer, struct span form, bool is_defn)
{
    if (is_defn)
        buffer_append_text(buffer, "(fn ");
    buffer_append_span(buffer, is_defn ? function_of_defn(form) : form);
}

// A function may have been given its name by something else than its own defn, and the name may be any
// text.
static void write_definition(struct buffer *buffer, struct span source, value name,
                             const struct closure *closure)
{
    size_t start = closure->code->offset;
    struct span form = {source.data + start, form_end(source, start) - start};
    bool is_defn = span_starts_with(form, SPAN("(defn")) && is_symbol_end(form, strlen("(defn"));
    if (is_defn && span_equal(closure->code->name, value_text(name))) {
        buffer_append_span(buffer, form);
    } else if (is_definable(value_text(name))) {
        buffer_append_text(buffer, "(def ");
        buffer_append_span(buffer, value_text(name));
        buffer_append_byte(buffer, ' ');
        write_function(buffer, form, is_defn);
        buffer_append_byte(buffer, ')');
    } else {
        buffer_append_text(buffer, "(memory/put ");
        value_print(buffer, value_string_borrow(NULL, value_text(name)));
        buffer_append_byte(buffer, ' ');
        write_function(buffer, form, is_defn);
        buffer_append_byte(buffer, ')');
    }
    buffer_append_byte(buffer, '\n');
}

// --- values --------------------------------------------------------------------------------------

// Data that a run made may go beyond what literals of programs may hold.
static const struct edn_options data_options = {.max_depth = 100000, .any_integer = true};

bool saved_memory_read_data(struct region *region, struct span data, value *ret_memory,
                            struct error *error)
{
    value memory;
    if (!edn_read(region, data, &data_options, &memory, error))
        return false;
    if (memory.tag != VALUE_MAP && memory.tag != VALUE_NIL)
        return error_set(error, ERROR_INVALID, "the data of a memory must be a map");
    *ret_memory = memory;
    return true;
}

// Appends the literal of a value; false when it has none (functions inside).
static bool write_literal(struct buffer *buffer, value v)
{
    size_t before = buffer->length;
    value_print(buffer, v);
    struct region *scratch = region_new(SIZE_MAX);
    value again;
    struct error error;
    struct span text = {buffer->data + before, buffer->length - before};
    bool readable = !buffer->failed && edn_read(scratch, text, &data_options, &again, &error);
    region_free(scratch);
    if (!readable)
        buffer_truncate(buffer, before);
    return readable;
}

// Names are keywords, but any text can be one: a name that has no literal as a keyword is written as a
// string, which is the same thing in a memory.
static bool write_name(struct buffer *buffer, value name)
{
    if (name.tag != VALUE_KEYWORD)
        return write_literal(buffer, name);
    struct span text = value_text(name);
    bool is_plain = text.length > 0;
    for (size_t i = 0; i < text.length; i++)
        is_plain = is_plain && literal_is_keyword_character(text.data[i]);
    if (is_plain)
        return write_literal(buffer, name);
    return write_literal(buffer, value_string_borrow(NULL, text));
}

// --- values that only a program can write --------------------------------------------------------

enum {
    DEFINED_LITERALS = 100000
};  // bytes; definitions count as source of the programs after them

static void print_definition(struct buffer *buffer, value name, value v)
{
    buffer_append_text(buffer, "(def ");
    buffer_append_span(buffer, value_text(name));
    buffer_append_byte(buffer, ' ');
    value_print(buffer, v);
    buffer_append_text(buffer, ")\n");
}

// Regexes and symbols, and collections of them, are no data; their literals are source.
static bool define_literal(struct buffer *definitions, value name, value v)
{
    if (name.tag != VALUE_KEYWORD || !is_definable(value_text(name)))
        return false;
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, DEFINED_LITERALS);
    print_definition(&text, name, v);
    if (text.failed || definitions->length + text.length > DEFINED_LITERALS ||
        !is_definition(buffer_span(&text)))
        return false;
    buffer_append_span(definitions, buffer_span(&text));
    return true;
}

// Whether the entry is what one of the definitions made. A function is known by its place.
static bool is_from_definitions(const struct step *step, struct span definitions, value name,
                                value v)
{
    const struct closure *closure = plain_closure(step, v);
    if (closure)
        return closure->code->offset < definitions.length;
    if (name.tag != VALUE_KEYWORD)
        return false;
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, definitions.length);
    print_definition(&text, name, v);
    return !text.failed &&
           memmem(definitions.data, definitions.length, text.data, text.length) != NULL;
}

// --- writing -------------------------------------------------------------------------------------

static void write_entry(const struct step *step, value name, value v, struct buffer *data,
                        struct buffer *definitions, struct buffer *lost, struct buffer *lost_names)
{
    const struct closure *closure = plain_closure(step, v);
    if (closure && name.tag == VALUE_KEYWORD) {
        write_definition(definitions, step->program->source, name, closure);
        return;
    }
    size_t before = data->length;
    bool kept = write_name(data, name);
    buffer_append_byte(data, ' ');
    if (kept && write_literal(data, v)) {
        buffer_append_byte(data, ' ');
        return;
    }
    buffer_truncate(data, before);
    if (define_literal(definitions, name, v))
        return;
    buffer_append_text(lost, lost->length ? "," : "");
    json_write_string(lost, name.tag == VALUE_KEYWORD ? value_text(name) : SPAN("?"));
    buffer_append(lost_names, &name, sizeof(name));
}

// Functions that are kept may refer to names that are lost; those are defined as nil, so that the
// functions still compile.
static void write_missing(const struct buffer *lost_names, const struct buffer *definitions,
                          struct buffer *data)
{
    for (size_t at = 0; at < lost_names->length; at += sizeof(value)) {
        value name;
        memcpy(&name, lost_names->data + at, sizeof(name));
        struct span text = name.tag == VALUE_KEYWORD ? value_text(name) : (struct span){0};
        if (text.length && definitions->length &&
            memmem(definitions->data, definitions->length, text.data, text.length)) {
            write_name(data, name);
            buffer_append_text(data, " nil ");
        }
    }
}

void saved_memory_write(const struct step *step, struct span definitions_before,
                        struct buffer *buffer)
{
    CLEANUP_BUFFER struct buffer data, definitions, lost, lost_names;
    buffer_init(&data, buffer->limit);
    buffer_init(&definitions, buffer->limit);
    buffer_init(&lost, buffer->limit);
    buffer_init(&lost_names, buffer->limit);
    buffer_append_byte(&data, '{');
    if (step->memory.tag == VALUE_MAP) {
        struct map_cursor cursor = map_iterate(step->memory);
        value name, v;
        while (map_next(&cursor, &name, &v))
            write_entry(step, name, v, &data, &definitions, &lost, &lost_names);
        write_missing(&lost_names, &definitions, &data);
    }
    buffer_append_byte(&data, '}');
    if (step->failure.kind != FAILURE_NONE)
        buffer_append_span(&definitions, definitions_before);
    buffer_append_text(buffer, "{\"data\":");
    json_write_string(buffer, buffer_span(&data));
    buffer_append_text(buffer, ",\"definitions\":");
    json_write_string(buffer, buffer_span(&definitions));
    buffer_append_text(buffer, ",\"lost\":[");
    buffer_append_span(buffer, buffer_span(&lost));
    buffer_append_text(buffer, "]}");
    buffer->failed = buffer->failed || data.failed || definitions.failed;
}

// --- definitions put before a program ------------------------------------------------------------

struct definitions_prefix saved_memory_prepend(struct buffer *source, struct span definitions,
                                               struct span program)
{
    struct definitions_prefix prefix = {.length = definitions.length};
    for (size_t i = 0; i < definitions.length; i++)
        prefix.lines += definitions.data[i] == '\n';
    buffer_append_span(source, definitions);
    buffer_append_span(source, utf8_without_mark(program));
    return prefix;
}

void saved_memory_hide_prefix(struct step *step, struct definitions_prefix prefix)
{
    if (prefix.length == 0)
        return;
    bool is_inside = step->line <= prefix.lines;
    step->line = is_inside ? 0 : step->line - prefix.lines;
    step->column = is_inside ? 0 : step->column;
    problem_list_hide_lines(&step->problems, prefix.lines);
    if (step->delta.tag != VALUE_MAP)
        return;
    struct span definitions = {step->program->source.data, prefix.length};
    value kept = map_new(step->region);
    struct map_cursor cursor = map_iterate(step->delta);
    value name, v;
    while (map_next(&cursor, &name, &v)) {
        if (!is_from_definitions(step, definitions, name, v))
            kept = map_put(step->region, kept, value_retain(name), value_retain(v));
    }
    step->delta = kept;
}
