#include "cli/run/run_input.h"

#include <stdio.h>
#include <string.h>

#include "base/ascii.h"
#include "base/error.h"
#include "cli/options.h"
#include "value/text/edn.h"
#include "value/text/json.h"

enum { FILE_LIMIT = 1 << 30 };

static bool ends_with(const char *path, const char *ending)
{
    size_t length = strlen(path), part = strlen(ending);
    return length > part && strcmp(path + length - part, ending) == 0;
}

static bool is_blank(struct span line)
{
    for (size_t i = 0; i < line.length; i++)
        if (!ascii_is_space(line.data[i]))
            return false;
    return true;
}

static struct span take_line(struct span *rest)
{
    const char *newline = memchr(rest->data, '\n', rest->length);
    struct span line = {rest->data, newline ? (size_t)(newline - rest->data) : rest->length};
    size_t taken = line.length + (newline != NULL);
    *rest = (struct span){rest->data + taken, rest->length - taken};
    return line;
}

static bool read_json(struct region *region, struct span text, value *ret_value,
                      struct error *error)
{
    struct json_options options = {.borrow = true};
    return json_read(region, text, &options, ret_value, error);
}

static bool read_lines(struct region *region, struct span text, value *ret_value,
                       struct error *error)
{
    value all = vector_new(region, 0), each;
    unsigned number = 0;
    while (text.length > 0) {
        struct span line = take_line(&text);
        number++;
        if (is_blank(line))
            continue;
        if (!read_json(region, line, &each, error)) {
            error->line = number;
            return false;
        }
        all = vector_push(region, all, each);
    }
    *ret_value = all;
    return true;
}

// Is the first line a whole value, and not all there is?
static bool looks_like_lines(struct region *region, struct span text)
{
    value first;
    struct error error;
    struct span line = take_line(&text);
    while (text.length > 0 && is_blank(line))
        line = take_line(&text);
    return !is_blank(text) && !is_blank(line) && read_json(region, line, &first, &error);
}

static bool read_text(struct region *region, const char *path, struct span text, value *ret_value,
                      struct error *error)
{
    if (ends_with(path, ".edn"))
        return edn_read(region, text, NULL, ret_value, error);
    if (ends_with(path, ".jsonl") || ends_with(path, ".ndjson"))
        return read_lines(region, text, ret_value, error);
    if (read_json(region, text, ret_value, error))
        return true;
    return !ends_with(path, ".json") && looks_like_lines(region, text) &&
           read_lines(region, text, ret_value, error);
}

bool run_input_read(struct region *region, const char *path, struct buffer *text, value *ret_value)
{
    struct error error = {0};
    if (!option_read_file(path, FILE_LIMIT, text))
        return false;
    if (read_text(region, path, buffer_span(text), ret_value, &error))
        return true;
    fprintf(stderr, "cadre run: %s:%u:%u: %s\n", strcmp(path, "-") == 0 ? "standard input" : path,
            error.line, error.column, error.message);
    buffer_release(text);
    return false;
}

value run_input_context(struct region *region, value read)
{
    if (value_is_map(read) || value_is_nil(read))
        return read;
    return map_put_text(region, map_new(region), "input", read);
}
