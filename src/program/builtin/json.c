// JSON: json/parse-string, json/parse-lines, json/generate-string (docs/reference/language.md 8.11).
#include "value/text/json.h"
#include "program/builtin/builtins.h"
#include "program/builtin/support.h"
#include "program/builtin/text_search.h"
#include "program/builtin/walk.h"
#include "program/run/output_limit.h"
#include "program/run/run_state.h"
#include "value/collection/key_lookup.h"

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
    if (arguments[0].tag != VALUE_STRING)
        return value_nil();
    value result = parse(run, value_text(arguments[0]));
    // The last argument is what becomes of the keys: (parse-string s true), (read-str s :key-fn f).
    value keys = count > 1 ? arguments[count - 1] : value_nil();
    if (!value_is_true(keys))
        return result;
    if (keys.tag == VALUE_BOOLEAN)
        return walk_keywordize(run, self, result);
    run_check_callable(run, self, (unsigned)count, keys);
    return walk_keys(run, self, keys, result);
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

// {:pretty true}
static bool is_pretty(struct run *run, value options)
{
    value found;
    return options.tag == VALUE_MAP &&
           map_find_flexible(options, value_keyword(run->region, SPAN("pretty")), &found) &&
           value_is_true(found);
}

// In lines, for people.
static value pretty(struct run *run, value v)
{
    struct buffer *text = &run->state->scratch;
    output_limit_check(run, v, "json/generate-string");
    buffer_release(text);  // left by a branch of pmap that ran out of time
    buffer_init(text, BUFFER_DEFAULT_LIMIT);
    json_write(text, v, JSON_SORTED | JSON_PRETTY, NULL);
    run_spend(run, 1 + text->length / 64);
    value result = value_string(run->region, buffer_span(text));
    buffer_release(text);
    return result;
}

value builtin_json_generate_string(struct run *run, const struct builtin *self, value *arguments,
                                   size_t count)
{
    struct error error;
    value text;
    if (count == 2 && is_pretty(run, arguments[1]))
        return pretty(run, arguments[0]);
    if (!json_generate(run->region, arguments[0], &text, &error))
        builtin_fail(run, self, TYPE_ERROR, "%s", error.message);
    return text;
}
