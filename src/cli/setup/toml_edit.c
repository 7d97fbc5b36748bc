#include "cli/setup/toml_edit.h"

#include <inttypes.h>
#include <string.h>

#include "value/text/json.h"

// --- scanning ------------------------------------------------------------------------------------

// Behind a string of any of the four kinds.
static size_t skip_string(struct span text, size_t at)
{
    char quote = text.data[at];
    struct span rest = {text.data + at, text.length - at};
    bool is_long = rest.length >= 3 && rest.data[1] == quote && rest.data[2] == quote;
    size_t width = is_long ? 3 : 1;
    for (at += width; at < text.length; at++) {
        if (quote == '"' && text.data[at] == '\\')
            at++;
        else if (!is_long && (text.data[at] == '\n' || text.data[at] == quote))
            return at + 1;
        else if (is_long && at + 2 < text.length && text.data[at] == quote &&
                 text.data[at + 1] == quote && text.data[at + 2] == quote)
            return at + 3;
    }
    return text.length;
}

static size_t skip_line(struct span text, size_t at)
{
    const char *end = memchr(text.data + at, '\n', text.length - at);
    return end ? (size_t)(end - text.data) + 1 : text.length;
}

// Behind the line on which the statement that begins here ends: a header, or a key and its value,
// which may span lines inside brackets and long strings.
static size_t skip_statement(struct span text, size_t at)
{
    size_t depth = 0;
    while (at < text.length) {
        char c = text.data[at];
        if (c == '"' || c == '\'') {
            at = skip_string(text, at);
            continue;
        }
        if (c == '#')
            at = skip_line(text, at) - (skip_line(text, at) < text.length);
        if (at < text.length && text.data[at] == '\n' && depth == 0)
            return at + 1;
        depth += c == '[' || c == '{';
        depth -= depth > 0 && (c == ']' || c == '}');
        at++;
    }
    return text.length;
}

static size_t skip_blanks(struct span text, size_t at)
{
    while (at < text.length && (text.data[at] == ' ' || text.data[at] == '\t'))
        at++;
    return at;
}

// One part of a dotted key; moves *at behind it.
static struct span read_part(struct span text, size_t *at)
{
    *at = skip_blanks(text, *at);
    size_t start = *at;
    if (*at < text.length && (text.data[*at] == '"' || text.data[*at] == '\'')) {
        *at = skip_string(text, *at);
        return (struct span){text.data + start + 1, *at - start - 2};
    }
    while (*at < text.length && !strchr(" \t\r\n.=]#", text.data[*at]))
        (*at)++;
    return (struct span){text.data + start, *at - start};
}

// How many parts of outer.name the dotted key at this place begins with.
static size_t match_key(struct span text, size_t at, const char *outer, const char *name)
{
    if (!span_equal_text(read_part(text, &at), outer))
        return 0;
    at = skip_blanks(text, at);
    if (at == text.length || text.data[at] != '.')
        return 1;
    at++;
    return span_equal_text(read_part(text, &at), name) ? 2 : 1;
}

// --- the table -----------------------------------------------------------------------------------

struct table {
    bool found;
    size_t start, end;  // from its header to behind its last key
};

struct scan {
    const char *outer, *name;
    bool in_outer;       // below the header [outer]
    struct table table;  // [outer.name]
    size_t subtables;    // [outer.name.…]
};

static bool refuse_form(const struct scan *scan, struct error *error)
{
    return error_set(error, ERROR_INVALID,
                     "%s.%s is written in a form other than [%s.%s]; change it by hand",
                     scan->outer, scan->name, scan->outer, scan->name);
}

static bool scan_key(struct span text, size_t at, size_t end, bool in_root, struct scan *scan,
                     struct error *error)
{
    if (scan->in_outer) {
        struct span part = read_part(text, &at);
        if (span_equal_text(part, scan->name))
            return refuse_form(scan, error);
    } else if (in_root && match_key(text, at, scan->outer, scan->name) > 0) {
        struct span part = read_part(text, &at);
        at = skip_blanks(text, at);
        // An inline table cannot be extended; a dotted key matters when it is of this table.
        bool is_whole = part.length > 0 && at < end && text.data[at] == '=';
        at++;
        if (is_whole || span_equal_text(read_part(text, &at), scan->name))
            return refuse_form(scan, error);
    }
    return true;
}

// True at [outer.name] itself or at one of its sub-tables.
static bool scan_header(struct span text, size_t at, struct scan *scan, bool *ret_is_subtable)
{
    size_t open = at + 1 + (at + 1 < text.length && text.data[at + 1] == '[');
    size_t matched = match_key(text, open, scan->outer, scan->name), end = open;
    read_part(text, &end);
    end = skip_blanks(text, end);
    scan->in_outer = matched == 1 && end < text.length && text.data[end] == ']';
    if (matched < 2)
        return false;
    end++;
    read_part(text, &end);
    end = skip_blanks(text, end);
    *ret_is_subtable = end < text.length && text.data[end] == '.';
    return true;
}

static bool is_statement(char c)
{
    return c != '#' && c != '\n' && c != '\r';
}

// Finds the table. `ret_without` (may be NULL) gets the text without it and its sub-tables; comments
// and empty lines behind them belong to what follows.
static bool scan_sections(struct span text, struct scan *scan, struct buffer *ret_without,
                          struct error *error)
{
    bool in_root = true, inside = false, is_subtable = false;
    size_t kept = 0;  // from here to the present line there are only comments and empty lines
    for (size_t at = 0; at < text.length;) {
        size_t start = at, end;
        at = skip_blanks(text, at);
        char c = at < text.length ? text.data[at] : '\n';
        end = is_statement(c) ? skip_statement(text, at) : skip_line(text, at);
        if (c == '[') {
            in_root = false;
            inside = scan_header(text, at, scan, &is_subtable);
            scan->subtables += inside && is_subtable;
            if (inside && !is_subtable)
                scan->table = (struct table){.found = true, .start = start, .end = end};
        } else if (is_statement(c) && !inside) {
            if (!scan_key(text, at, end, in_root, scan, error))
                return false;
        } else if (is_statement(c) && !is_subtable) {
            scan->table.end = end;
        }
        if (ret_without && !inside)
            buffer_append(ret_without, text.data + kept, end - kept);
        kept = !inside || is_statement(c) ? end : kept;
        at = end;
    }
    if (ret_without)
        buffer_append(ret_without, text.data + kept, text.length - kept);
    return true;
}

// --- writing -------------------------------------------------------------------------------------

static void append_toml(struct buffer *out, value v)
{
    if (value_is_vector(v)) {
        buffer_append_byte(out, '[');
        for (size_t i = 0; i < vector_count(v); i++) {
            buffer_append_text(out, i ? ", " : "");
            append_toml(out, vector_at(v, i));
        }
        buffer_append_byte(out, ']');
    } else if (value_is_map(v)) {
        value key, item;
        struct map_cursor cursor = map_iterate(v);
        buffer_append_text(out, "{ ");
        for (bool first = true; map_next(&cursor, &key, &item); first = false) {
            buffer_append_text(out, first ? "" : ", ");
            buffer_append_span(out, value_text(key));
            buffer_append_text(out, " = ");
            append_toml(out, item);
        }
        buffer_append_text(out, " }");
    } else {
        json_write(out, v, 0, NULL);  // strings, numbers and booleans are the same
    }
}

static void append_table(struct buffer *out, const struct scan *scan, value members)
{
    value key, item;
    struct map_cursor cursor = map_iterate(members);
    buffer_append_format(out, "[%s.%s]\n", scan->outer, scan->name);
    while (map_next(&cursor, &key, &item)) {
        buffer_append_span(out, value_text(key));
        buffer_append_text(out, " = ");
        append_toml(out, item);
        buffer_append_byte(out, '\n');
    }
}

bool toml_set(struct span text, const char *outer, const char *name, value members,
              struct buffer *ret_text, struct error *error)
{
    struct scan scan = {.outer = outer, .name = name};
    if (!scan_sections(text, &scan, NULL, error))
        return false;
    if (scan.table.found) {
        buffer_append(ret_text, text.data, scan.table.start);
        append_table(ret_text, &scan, members);
        buffer_append(ret_text, text.data + scan.table.end, text.length - scan.table.end);
        return true;
    }
    buffer_append_span(ret_text, text);
    bool has_newline = text.length == 0 || text.data[text.length - 1] == '\n';
    buffer_append_text(ret_text, has_newline ? "" : "\n");
    buffer_append_text(ret_text, text.length ? "\n" : "");
    append_table(ret_text, &scan, members);
    return true;
}

bool toml_remove(struct span text, const char *outer, const char *name, struct buffer *ret_text,
                 struct error *error)
{
    struct scan scan = {.outer = outer, .name = name};
    if (!scan_sections(text, &scan, ret_text, error))
        return false;
    // The empty line that toml_set() put before its table at the end.
    bool at_end = scan.table.found && scan.table.end == text.length && ret_text->length > 1;
    if (at_end && ret_text->data[ret_text->length - 1] == '\n' &&
        ret_text->data[ret_text->length - 2] == '\n')
        buffer_truncate(ret_text, ret_text->length - 1);
    return true;
}
