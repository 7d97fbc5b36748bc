// JSON: json/parse-string, json/parse-lines, json/generate-string (docs/reference/language.md 8.11).
#include "value/text/json.h"
#include "program/builtin/builtins.h"
#include "program/builtin/support.h"
#include "program/builtin/text_search.h"

// Nil when the text is not JSON. A full region is the run's failure, not the text's.
static value parse(struct run *run, struct span text)
{
    struct error error;
    value result;
    // The depth is bounded by memory alone, as for all data of programs.
    struct json_options options = {.max_depth = SIZE_MAX};
    run_spend(run, 1 + text.length / 64);
    if (json_read(run->region, text, &options, &result, &error))
        return result;
    if (error.code == ERROR_MEMORY)
        region_alloc(run->region, SIZE_MAX / 2);  // leaves through the run's handler
    return value_nil();
}

value builtin_json_parse_string(struct run *run, const struct builtin *self, value *arguments,
                                size_t count)
{
    (void)self;
    (void)count;
    if (arguments[0].tag != VALUE_STRING)
        return value_nil();
    return parse(run, value_text(arguments[0]));
}

static bool is_blank_line(struct run *run, struct span line)
{
    return text_skip_space(run, line) == line.length;
}

value builtin_json_parse_lines(struct run *run, const struct builtin *self, value *arguments,
                               size_t count)
{
    (void)self;
    (void)count;
    if (arguments[0].tag != VALUE_STRING)
        return value_nil();
    struct span text = value_text(arguments[0]);
    value result = vector_new(run->region, 0);
    for (size_t start = 0; start < text.length;) {
        size_t end = text_find(run, text, SPAN("\n"), start);
        if (end == SIZE_MAX)
            end = text.length;
        struct span line = {text.data + start, end - start};
        if (!is_blank_line(run, line))
            vector_add(run, &result, parse(run, line));
        start = end + 1;
    }
    return result;
}

value builtin_json_generate_string(struct run *run, const struct builtin *self, value *arguments,
                                   size_t count)
{
    (void)count;
    struct error error;
    value text;
    if (!json_generate(run->region, arguments[0], &text, &error))
        builtin_fail(run, self, TYPE_ERROR, "%s", error.message);
    return text;
}
