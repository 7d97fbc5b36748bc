#include "program/builtin/builtins.h"
#include "program/builtin/support.h"
#include "program/builtin/text_case.h"
#include "program/builtin/text_search.h"
#include "value/text/literal.h"
#include "value/text/print.h"

// --- making --------------------------------------------------------------------------------------

enum { SLICE = 256 * 1024 };  // bytes copied between two looks at the clock

// Writes a long text in slices.
static void write_text(struct run *run, struct sink *sink, struct span text)
{
    while (text.length > SLICE) {
        sink_span(sink, (struct span){text.data, SLICE});
        text = (struct span){text.data + SLICE, text.length - SLICE};
        run_refill(run);
    }
    sink_span(sink, text);
    run_spend(run, 1 + text.length / 256);
}

static void write_plain(struct run *run, struct sink *sink, value v)
{
    if (v.tag == VALUE_STRING) {
        write_text(run, sink, value_text(v));
        return;
    }
    size_t before = sink->length;
    value_print_unquoted(sink, v);
    run_spend(run, 1 + (sink->length - before) / 256);
}

// Appends the texts of the other arguments to the first one, a string that nobody else has.
static value append_texts(struct run *run, value *arguments, size_t count)
{
    value result = arguments[0];
    for (size_t i = 1; i < count; i++) {
        value part = arguments[i];
        if (part.tag != VALUE_STRING) {
            struct sink sink;
            sink_to_region(&sink, run->region);
            write_plain(run, &sink, part);
            value_release(run->region, part);
            part = sink_string(&sink);
        }
        run_spend(run, 1 + value_text(part).length / 256);
        result = string_append(run->region, result, part);
    }
    return result;
}

// A long string with one owner is worth growing in place: (reduce str …) stays linear.
static bool can_grow(value v)
{
    enum { GROW_MIN = 64 };
    return v.tag == VALUE_STRING && value_text(v).length >= GROW_MIN && value_is_counted(v) &&
           object_is_unique(v.object);
}

value builtin_str(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)self;
    if (count == 1 && arguments[0].tag == VALUE_STRING)
        return arguments[0];
    if (count > 0 && can_grow(arguments[0]))
        return append_texts(run, arguments, count);
    struct sink sink;
    sink_to_region(&sink, run->region);
    for (size_t i = 0; i < count; i++) {
        write_plain(run, &sink, arguments[i]);
        value_release(run->region, arguments[i]);
    }
    return sink_string(&sink);
}

value builtin_pr_str(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)self;
    struct sink sink;
    sink_to_region(&sink, run->region);
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            sink_byte(&sink, ' ');
        size_t before = sink.length;
        value_print_to(&sink, arguments[i]);
        run_spend(run, 1 + (sink.length - before) / 256);
    }
    return sink_string(&sink);
}

value builtin_join(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    value separator = count == 2 ? arguments[0] : value_nil(), item;
    if (separator.tag != VALUE_STRING && separator.tag != VALUE_NIL)
        run_type_error(run, self, 1, "a string", separator, NULL);
    struct span between = value_is_nil(separator) ? SPAN("") : value_text(separator);
    struct sequence items;
    struct sink sink;
    sequence_start(run, self, (unsigned)count, &items, arguments[count - 1]);
    sink_to_region(&sink, run->region);
    for (bool first = true; sequence_step(&items, &item); first = false) {
        if (!first)
            write_text(run, &sink, between);
        write_plain(run, &sink, item);
        value_release(run->region, item);
    }
    sequence_end(&items);
    value_release(run->region, separator);
    return sink_string(&sink);
}

// --- cutting -------------------------------------------------------------------------------------

value builtin_subs(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    argument_string(run, self, arguments, 0);
    int64_t start = argument_integer(run, self, arguments, 1);
    int64_t end = count == 3 ? argument_integer(run, self, arguments, 2) : INT64_MAX;
    if (start < 0 || end <= start)
        start = end = 0;
    return string_slice(run->region, arguments[0], (size_t)start, (size_t)end);
}

static value trim_ends(struct run *run, const struct builtin *self, value *arguments, bool left,
                       bool right)
{
    argument_string(run, self, arguments, 0);
    struct span text = value_text(arguments[0]);
    size_t end = right ? text_skip_space_back(run, text) : text.length;
    size_t start = left ? text_skip_space(run, (struct span){text.data, end}) : 0;
    if (start == 0 && end == text.length)
        return arguments[0];
    return string_cut(run->region, arguments[0], start, end);
}

value builtin_trim(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    return trim_ends(run, self, arguments, true, true);
}

value builtin_triml(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    return trim_ends(run, self, arguments, true, false);
}

value builtin_trimr(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    return trim_ends(run, self, arguments, false, true);
}

value builtin_trim_newline(struct run *run, const struct builtin *self, value *arguments,
                           size_t count)
{
    (void)count;
    argument_string(run, self, arguments, 0);
    struct span text = value_text(arguments[0]);
    size_t end = text.length;
    while (end > 0 && (text.data[end - 1] == '\n' || text.data[end - 1] == '\r'))
        end--;
    return string_cut(run->region, arguments[0], 0, end);
}

value builtin_is_blank(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    if (value_is_nil(arguments[0]))
        return value_boolean(true);
    argument_string(run, self, arguments, 0);
    struct span text = value_text(arguments[0]);
    return value_boolean(text_skip_space(run, text) == text.length);
}

// --- converting ----------------------------------------------------------------------------------

value builtin_upper_case(struct run *run, const struct builtin *self, value *arguments,
                         size_t count)
{
    (void)count;
    argument_string(run, self, arguments, 0);
    return string_upper(run, arguments[0]);
}

value builtin_lower_case(struct run *run, const struct builtin *self, value *arguments,
                         size_t count)
{
    (void)count;
    argument_string(run, self, arguments, 0);
    return string_lower(run, arguments[0]);
}

value builtin_parse_long(struct run *run, const struct builtin *self, value *arguments,
                         size_t count)
{
    (void)run;
    (void)self;
    (void)count;
    int64_t number;
    if (arguments[0].tag != VALUE_STRING || !text_read_integer(value_text(arguments[0]), &number))
        return value_nil();
    return value_integer(number);
}

value builtin_parse_double(struct run *run, const struct builtin *self, value *arguments,
                           size_t count)
{
    (void)self;
    (void)count;
    double number;
    if (arguments[0].tag != VALUE_STRING)
        return value_nil();
    run_spend(run, value_text(arguments[0]).length / 64);
    if (!text_read_float(value_text(arguments[0]), &number))
        return value_nil();
    return value_float(number);
}

value builtin_parse_boolean(struct run *run, const struct builtin *self, value *arguments,
                            size_t count)
{
    (void)run;
    (void)self;
    (void)count;
    if (arguments[0].tag != VALUE_STRING)
        return value_nil();
    struct span text = value_text(arguments[0]);
    if (span_equal_text(text, "true"))
        return value_boolean(true);
    return span_equal_text(text, "false") ? value_boolean(false) : value_nil();
}

value builtin_name(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    value v = arguments[0];
    if (v.tag == VALUE_STRING)
        return v;
    if (v.tag != VALUE_KEYWORD)
        run_type_error(run, self, 1, "a keyword or string", v, NULL);
    value name = value_string(run->region, value_text(v));
    value_release(run->region, v);
    return name;
}

value builtin_keyword(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    value v = arguments[0];
    if (v.tag == VALUE_NIL || v.tag == VALUE_KEYWORD)
        return v;
    if (v.tag != VALUE_STRING)
        run_type_error(run, self, 1, "a string, keyword or nil", v, NULL);
    if (!literal_is_keyword_name(value_text(v)))
        builtin_fail(run, self, RUNTIME_ERROR, "%s is not the name of a keyword",
                     value_describe(v, (char[DESCRIBE_SIZE]){0}));
    value keyword = value_keyword(run->region, value_text(v));
    value_release(run->region, v);
    return keyword;
}
