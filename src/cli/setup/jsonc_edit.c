#include "cli/setup/jsonc_edit.h"

#include <string.h>

#include "value/text/json.h"
#include "value/text/jsonc.h"

enum { INDENT_MAX = 32 };

// --- scanning ------------------------------------------------------------------------------------

static size_t skip_collection(struct span text, size_t at)
{
    size_t depth = 0;
    do {
        char c = text.data[at];
        size_t comment = jsonc_skip_comment(text, at);
        if (comment != at) {
            at = comment;
            continue;
        }
        depth += c == '{' || c == '[';
        depth -= c == '}' || c == ']';
        at = c == '"' ? jsonc_skip_string(text, at) : at + 1;
    } while (depth > 0 && at < text.length);
    return at;
}

static size_t skip_value(struct span text, size_t at)
{
    if (at < text.length && text.data[at] == '"')
        return jsonc_skip_string(text, at);
    if (at < text.length && (text.data[at] == '{' || text.data[at] == '['))
        return skip_collection(text, at);
    while (at < text.length && !jsonc_is_blank(text.data[at]) && !strchr(",]}/", text.data[at]))
        at++;
    return at;
}

// --- objects -------------------------------------------------------------------------------------

struct members {
    size_t open, close;  // its braces
    size_t first;        // where its first member begins; 0: it has none
    size_t last_value;   // behind its last value
    size_t last_token;   // behind its last value, comma or comment, or its opening brace
    bool has_comma;      // after the last value
    // The member looked for, the last one of that name:
    bool found;
    size_t name;  // where its name begins
    size_t value_start, value_end;
    size_t after;  // behind its comma, or behind its value
    size_t comma;  // where the comma before it is; 0: none
};

static struct members scan_members(struct span text, size_t open, const char *name)
{
    struct members object = {.open = open, .last_token = open + 1};
    size_t comma = 0, at = jsonc_skip_blanks(text, open + 1, &object.last_token);
    while (at < text.length && text.data[at] != '}') {
        size_t start = at, name_end = jsonc_skip_string(text, at);
        at = jsonc_skip_blanks(text, name_end, NULL) + 1;  // the colon
        size_t value_start = jsonc_skip_blanks(text, at, NULL);
        size_t value_end = object.last_value = object.last_token = skip_value(text, value_start);
        at = jsonc_skip_blanks(text, value_end, &object.last_token);
        object.first = object.first ? object.first : start;
        object.has_comma = at < text.length && text.data[at] == ',';
        struct span found = {text.data + start + 1, name_end - start - 2};
        if (span_equal_text(found, name)) {
            object.found = true;
            object.name = start;
            object.value_start = value_start;
            object.value_end = value_end;
            object.after = object.has_comma ? at + 1 : value_end;
            object.comma = comma;
        }
        if (object.has_comma) {
            comma = at;
            object.last_token = ++at;
            at = jsonc_skip_blanks(text, at, &object.last_token);
        }
    }
    object.close = at;
    return object;
}

// --- writing -------------------------------------------------------------------------------------

// The blanks before the first thing on the line of this position.
static struct span indent_at(struct span text, size_t at)
{
    size_t start = at;
    while (start > 0 && text.data[start - 1] != '\n')
        start--;
    size_t end = start;
    while (end < at && (text.data[end] == ' ' || text.data[end] == '\t'))
        end++;
    size_t length = end - start < INDENT_MAX ? end - start : INDENT_MAX;
    return (struct span){text.data + start, length};
}

static bool begins_line(struct span text, size_t at)
{
    struct span indent = indent_at(text, at);
    return indent.data + indent.length == text.data + at;
}

// What one level is indented by in this text.
static struct span indent_unit(struct span text, size_t root)
{
    struct members object = scan_members(text, root, "");
    struct span indent = object.first ? indent_at(text, object.first) : SPAN("");
    bool usable = object.first && begins_line(text, object.first) && indent.length > 0;
    return usable ? indent : SPAN("  ");
}

// The value, its lines but the first indented by `outer` and then by units.
static void append_value(struct buffer *out, value v, struct span outer, struct span unit)
{
    CLEANUP_BUFFER struct buffer json;
    buffer_init(&json, BUFFER_DEFAULT_LIMIT);
    json_write(&json, v, JSON_PRETTY, NULL);
    const char *line = buffer_text(&json);
    for (bool first = true; *line; first = false) {
        size_t blanks = strspn(line, " "), length = strcspn(line, "\n");
        if (!first) {
            buffer_append_byte(out, '\n');
            buffer_append_span(out, outer);
            for (size_t i = 0; i < blanks / 2; i++)
                buffer_append_span(out, unit);
            line += blanks;
            length -= blanks;
        }
        buffer_append(out, line, length);
        line += length + (line[length] == '\n');
    }
}

static void append_member(struct buffer *out, const char *name, value v, struct span outer,
                          struct span unit)
{
    json_write_string(out, span_from(name));
    buffer_append_text(out, ": ");
    append_value(out, v, outer, unit);
}

// The text with a new last member of the object.
static void insert_member(struct span text, const struct members *object, const char *name, value v,
                          struct span unit, struct buffer *ret_text)
{
    CLEANUP_BUFFER struct buffer indent;
    buffer_init(&indent, (size_t)4 * INDENT_MAX);
    struct span parent = indent_at(text, object->open);
    buffer_append_span(&indent, object->first ? indent_at(text, object->first) : parent);
    if (!object->first || !begins_line(text, object->first)) {
        buffer_clear(&indent);
        buffer_append_span(&indent, parent);
        buffer_append_span(&indent, unit);
    }
    size_t value_end = object->first ? object->last_value : object->open + 1;
    buffer_append(ret_text, text.data, value_end);
    buffer_append_text(ret_text, object->first && !object->has_comma ? "," : "");
    buffer_append(ret_text, text.data + value_end, object->last_token - value_end);
    buffer_append_byte(ret_text, '\n');
    buffer_append_span(ret_text, buffer_span(&indent));
    append_member(ret_text, name, v, buffer_span(&indent), unit);
    bool same_line =
        !memchr(text.data + object->last_token, '\n', object->close - object->last_token);
    if (same_line) {
        buffer_append_byte(ret_text, '\n');
        buffer_append_span(ret_text, parent);
    }
    size_t rest = same_line ? object->close : object->last_token;
    buffer_append(ret_text, text.data + rest, text.length - rest);
}

static size_t find_root(struct span text)
{
    return jsonc_skip_blanks(text, span_starts_with(text, SPAN("\xEF\xBB\xBF")) ? 3 : 0, NULL);
}

void jsonc_set(struct span text, const char *outer, const char *name, value v,
               struct buffer *ret_text)
{
    struct region *region = region_new(SIZE_MAX);
    value inner = map_put_text(region, map_new(region), name, value_copy(region, v));
    size_t root = find_root(text);
    if (root == text.length) {
        buffer_append_span(ret_text, text);
        append_value(ret_text, map_put_text(region, map_new(region), outer, inner), SPAN(""),
                     SPAN("  "));
        buffer_append_byte(ret_text, '\n');
        region_free(region);
        return;
    }
    struct span unit = indent_unit(text, root);
    struct members object = scan_members(text, root, outer);
    struct members servers = {0};
    if (object.found)
        servers = scan_members(text, object.value_start, name);
    if (!object.found) {
        insert_member(text, &object, outer, inner, unit, ret_text);
    } else if (!servers.found) {
        insert_member(text, &servers, name, v, unit, ret_text);
    } else {
        buffer_append(ret_text, text.data, servers.value_start);
        append_value(ret_text, v, indent_at(text, servers.name), unit);
        buffer_append(ret_text, text.data + servers.value_end, text.length - servers.value_end);
    }
    region_free(region);
}

static void remove_member(struct span text, const struct members *object, struct buffer *ret_text)
{
    size_t start = object->name, end = object->after;
    bool is_last = object->after == object->value_end;
    if (begins_line(text, start))
        start = (size_t)(indent_at(text, start).data - text.data);
    size_t line_end = end;
    while (line_end < text.length && (text.data[line_end] == ' ' || text.data[line_end] == '\t' ||
                                      text.data[line_end] == '\r'))
        line_end++;
    if (start != object->name && line_end < text.length && text.data[line_end] == '\n')
        end = line_end + 1;
    // The last member goes with the comma before it.
    if (is_last && object->comma) {
        buffer_append(ret_text, text.data, object->comma);
        buffer_append(ret_text, text.data + object->comma + 1, start - object->comma - 1);
    } else {
        buffer_append(ret_text, text.data, start);
    }
    buffer_append(ret_text, text.data + end, text.length - end);
}

void jsonc_remove(struct span text, const char *outer, const char *name, struct buffer *ret_text)
{
    size_t root = find_root(text);
    struct members object = {0}, servers = {0};
    if (root < text.length)
        object = scan_members(text, root, outer);
    if (object.found)
        servers = scan_members(text, object.value_start, name);
    if (!servers.found) {
        buffer_append_span(ret_text, text);
        return;
    }
    bool is_only = servers.first == servers.name && servers.last_value == servers.value_end;
    bool has_comment = is_only && servers.last_token != servers.after;
    remove_member(text, is_only && !has_comment ? &object : &servers, ret_text);
}
