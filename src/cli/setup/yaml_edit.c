#include "cli/setup/yaml_edit.h"

#include <string.h>

#include "value/text/json.h"

enum { DEFAULT_INDENT = 2 };

// --- scanning ------------------------------------------------------------------------------------

static size_t skip_line(struct span text, size_t at)
{
    const char *end = memchr(text.data + at, '\n', text.length - at);
    return end ? (size_t)(end - text.data) + 1 : text.length;
}

static size_t indent_of(struct span text, size_t line)
{
    size_t at = line;
    while (at < text.length && text.data[at] == ' ')
        at++;
    return at - line;
}

// An empty line or a comment.
static bool is_idle(struct span text, size_t line)
{
    size_t at = line + indent_of(text, line);
    return at >= text.length || strchr("#\r\n", text.data[at]);
}

// Whether the line has the key; *ret_rest is what follows the colon, without blanks and comment.
static bool has_key(struct span text, size_t line, const char *key, struct span *ret_rest)
{
    size_t at = line + indent_of(text, line), length = strlen(key);
    char quote = at < text.length && strchr("\"'", text.data[at]) ? text.data[at] : 0;
    at += quote != 0;
    if (at + length > text.length || memcmp(text.data + at, key, length) != 0)
        return false;
    at += length;
    if (quote && (at == text.length || text.data[at++] != quote))
        return false;
    if (at == text.length || text.data[at] != ':')
        return false;
    at++;
    if (at < text.length && !strchr(" \t\r\n", text.data[at]))
        return false;
    size_t end = skip_line(text, line);
    while (at < end && strchr(" \t\r\n", text.data[at]))
        at++;
    const char *comment = memchr(text.data + at, '#', end - at);
    if (comment)
        end = (size_t)(comment - text.data);
    while (end > at && strchr(" \t\r\n", text.data[end - 1]))
        end--;
    *ret_rest = (struct span){text.data + at, end - at};
    return true;
}

// --- the entry -----------------------------------------------------------------------------------

struct place {
    bool has_outer;
    size_t outer, inside;  // the line of `outer:`, and the one behind it
    bool is_empty;         // it is written as {} or has nothing below it
    size_t indent;         // of its entries
    bool found;
    size_t start, end;  // the lines of the entry
};

// Behind the last line of the block that starts after `line` and is indented by more than `indent`.
// Comments and empty lines at its end are not of it.
static size_t block_end(struct span text, size_t line, size_t indent)
{
    size_t end = line;
    for (size_t at = line; at < text.length; at = skip_line(text, at)) {
        if (is_idle(text, at))
            continue;
        if (indent_of(text, at) <= indent)
            break;
        end = skip_line(text, at);
    }
    return end;
}

static bool refuse(struct error *error, const char *outer)
{
    return error_set(error, ERROR_INVALID,
                     "%s is written in a form that cannot be edited safely; change it by hand",
                     outer);
}

static bool find_entry(struct span text, const char *outer, const char *name, struct place *place,
                       struct error *error)
{
    size_t end = block_end(text, place->inside, 0);
    place->indent = DEFAULT_INDENT;
    place->is_empty = true;
    for (size_t at = place->inside; at < end; at = skip_line(text, at)) {
        struct span rest;
        if (is_idle(text, at))
            continue;
        size_t indent = indent_of(text, at);
        if (place->is_empty) {
            place->indent = indent;
            place->is_empty = false;
        }
        char first = text.data[at + indent];
        if (first == '\t' || (indent == place->indent && (first == '-' || first == '?')))
            return refuse(error, outer);
        if (indent == place->indent && has_key(text, at, name, &rest)) {
            place->found = true;
            place->start = at;
            place->end = skip_line(text, at);
            size_t below = block_end(text, place->end, indent);
            place->end = below > place->end ? below : place->end;
        }
    }
    return true;
}

static bool find_place(struct span text, const char *outer, const char *name, struct place *place,
                       struct error *error)
{
    *place = (struct place){.is_empty = true, .indent = DEFAULT_INDENT};
    size_t documents = 0;
    for (size_t at = 0; at < text.length; at = skip_line(text, at)) {
        struct span rest, line = {text.data + at, text.length - at};
        documents += at > 0 && span_starts_with(line, SPAN("---"));
        if (documents > 0 || text.data[at] == '{' || text.data[at] == '[')
            return refuse(error, outer);
        if (is_idle(text, at) || indent_of(text, at) > 0 || !has_key(text, at, outer, &rest))
            continue;
        if (place->has_outer)
            return refuse(error, outer);
        place->has_outer = true;
        place->outer = at;
        place->inside = skip_line(text, at);
        bool is_braces = span_equal_text(rest, "{}") || span_equal_text(rest, "null") ||
                         span_equal_text(rest, "~");
        if (rest.length > 0 && !is_braces)
            return refuse(error, outer);
    }
    return !place->has_outer || find_entry(text, outer, name, place, error);
}

// --- writing -------------------------------------------------------------------------------------

static void append_indent(struct buffer *out, size_t count)
{
    for (size_t i = 0; i < count; i++)
        buffer_append_byte(out, ' ');
}

// Flow values: JSON is YAML.
static void append_entry(struct buffer *out, const char *name, value members, size_t indent)
{
    value key, item;
    struct map_cursor cursor = map_iterate(members);
    append_indent(out, indent);
    buffer_append_format(out, "%s:\n", name);
    while (map_next(&cursor, &key, &item)) {
        append_indent(out, indent + DEFAULT_INDENT);
        buffer_append_span(out, value_text(key));
        buffer_append_text(out, ": ");
        json_write(out, item, 0, NULL);
        buffer_append_byte(out, '\n');
    }
}

static void append_rest(struct buffer *out, struct span text, size_t from)
{
    buffer_append(out, text.data + from, text.length - from);
}

static void append_line_end(struct buffer *out)
{
    if (out->length && out->data[out->length - 1] != '\n')
        buffer_append_byte(out, '\n');
}

bool yaml_set(struct span text, const char *outer, const char *name, value members,
              struct buffer *ret_text, struct error *error)
{
    struct place place;
    if (!find_place(text, outer, name, &place, error))
        return false;
    if (place.found) {
        buffer_append(ret_text, text.data, place.start);
        append_entry(ret_text, name, members, place.indent);
        append_rest(ret_text, text, place.end);
        return true;
    }
    // The line of `outer:` is written anew when it may hold {}.
    size_t before = !place.has_outer ? text.length : place.is_empty ? place.outer : place.inside;
    buffer_append(ret_text, text.data, before);
    append_line_end(ret_text);
    if (!place.has_outer || place.is_empty)
        buffer_append_format(ret_text, "%s:\n", outer);
    append_entry(ret_text, name, members, place.indent);
    append_rest(ret_text, text, place.has_outer ? place.inside : text.length);
    return true;
}

bool yaml_remove(struct span text, const char *outer, const char *name, struct buffer *ret_text,
                 struct error *error)
{
    struct place place;
    if (!find_place(text, outer, name, &place, error))
        return false;
    if (!place.found) {
        buffer_append_span(ret_text, text);
        return true;
    }
    size_t end = block_end(text, place.inside, 0);
    bool is_only = true;
    for (size_t at = place.inside; at < end; at = skip_line(text, at))
        is_only = is_only && (is_idle(text, at) || (at >= place.start && at < place.end));
    if (!is_only) {
        buffer_append(ret_text, text.data, place.start);
    } else {  // without entries the mapping would be null
        buffer_append(ret_text, text.data, place.outer);
        buffer_append_format(ret_text, "%s: {}\n", outer);
        buffer_append(ret_text, text.data + place.inside, place.start - place.inside);
    }
    append_rest(ret_text, text, place.end);
    return true;
}
