#include "value/text/jsonc.h"

#include "value/text/json.h"

bool jsonc_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

size_t jsonc_skip_comment(struct span text, size_t at)
{
    if (at + 1 >= text.length || text.data[at] != '/')
        return at;
    if (text.data[at + 1] == '/') {
        while (at < text.length && text.data[at] != '\n')
            at++;
    } else if (text.data[at + 1] == '*') {
        at += 2;
        while (at < text.length &&
               !(text.data[at] == '/' && text.data[at - 1] == '*' && text.data[at - 2] != '/'))
            at++;
        at += at < text.length;
    }
    return at;
}

size_t jsonc_skip_blanks(struct span text, size_t at, size_t *ret_last)
{
    for (;;) {
        while (at < text.length && jsonc_is_blank(text.data[at]))
            at++;
        size_t end = jsonc_skip_comment(text, at);
        if (end == at)
            return at;
        at = end;
        if (ret_last)
            *ret_last = end;
    }
}

size_t jsonc_skip_string(struct span text, size_t at)
{
    for (at++; at < text.length && text.data[at] != '"'; at++)
        at += text.data[at] == '\\';
    return at < text.length ? at + 1 : text.length;
}

// --- reading -------------------------------------------------------------------------------------

// Same length; comments and trailing commas become blanks, lines stay.
static void blank_out(struct span text, struct buffer *ret_json)
{
    size_t comma = SIZE_MAX;  // the last one, while nothing but blanks came after it
    for (size_t at = 0; at < text.length;) {
        char c = text.data[at];
        size_t end = jsonc_skip_comment(text, at);
        if (end != at) {
            for (; at < end; at++)
                buffer_append_byte(ret_json, text.data[at] == '\n' ? '\n' : ' ');
            continue;
        }
        end = c == '"' ? jsonc_skip_string(text, at) : at + 1;
        if ((c == '}' || c == ']') && comma != SIZE_MAX && !ret_json->failed)
            ret_json->data[comma] = ' ';
        if (c == ',')
            comma = at;
        else if (!jsonc_is_blank(c))
            comma = SIZE_MAX;
        buffer_append(ret_json, text.data + at, end - at);
        at = end;
    }
}

static struct span without_mark(struct span text)
{
    bool marked = span_starts_with(text, SPAN("\xEF\xBB\xBF"));
    return marked ? (struct span){text.data + 3, text.length - 3} : text;
}

bool jsonc_read(struct region *region, struct span text, value *ret_value, struct error *error)
{
    CLEANUP_BUFFER struct buffer json;
    buffer_init(&json, BUFFER_DEFAULT_LIMIT);
    text = without_mark(text);
    blank_out(text, &json);
    if (jsonc_skip_blanks(buffer_span(&json), 0, NULL) == json.length) {
        *ret_value = map_new(region);
        return true;
    }
    return json_read(region, buffer_span(&json), NULL, ret_value, error);
}
