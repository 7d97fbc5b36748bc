// Strings: making, cutting, converting, searching, splitting, replacing
// (docs/reference/language.md 8.9).
#include <string.h>

#include "program/builtin/builtins.h"
#include "program/builtin/regex/regex_builtins.h"
#include "program/builtin/support.h"
#include "program/builtin/text_case.h"
#include "program/builtin/text_search.h"
#include "value/text/print.h"
#include "value/text/sink.h"

// --- making --------------------------------------------------------------------------------------

enum { SLICE = 256 * 1024 };  // bytes copied between two readings of the clock

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

static void write_unquoted(struct run *run, struct sink *sink, value v)
{
    if (v.tag == VALUE_STRING) {
        write_text(run, sink, value_text(v));
        return;
    }
    size_t before = sink->length;
    value_print_unquoted(sink, v);
    run_spend(run, 1 + (sink->length - before) / 256);
}

// Appends the texts of the other arguments to the first one, a string with one owner.
static value append_texts(struct run *run, value *arguments, size_t count)
{
    value result = arguments[0];
    for (size_t i = 1; i < count; i++) {
        value part = arguments[i];
        if (part.tag != VALUE_STRING) {
            struct sink sink;
            sink_to_region(&sink, run->region);
            sink.as_clojure = true;
            write_unquoted(run, &sink, part);
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
    sink.as_clojure = true;
    for (size_t i = 0; i < count; i++) {
        write_unquoted(run, &sink, arguments[i]);
        value_release(run->region, arguments[i]);
    }
    return sink_string(&sink);
}

value builtin_pr_str(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)self;
    return text_of_all(run, arguments, count, true);
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
    sink.as_clojure = true;
    for (bool first = true; sequence_step(&items, &item); first = false) {
        if (!first)
            write_text(run, &sink, between);
        write_unquoted(run, &sink, item);
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
    int64_t length = (int64_t)string_count(arguments[0]);
    int64_t start = argument_position(run, self, arguments, 1);
    int64_t end = count == 3 ? argument_position(run, self, arguments, 2) : length;
    if (start < 0 || start > end || end > length)
        builtin_fail(run, self, RUNTIME_ERROR,
                     "characters %lld to %lld are outside a string of %lld", (long long)start,
                     (long long)end, (long long)length);
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

// The text of a string, a keyword or a symbol. Owned.
static value argument_named(struct run *run, const struct builtin *self, const value *arguments)
{
    if (arguments[0].tag == VALUE_KEYWORD || arguments[0].tag == VALUE_SYMBOL)
        return builtin_str(run, self, (value[]){value_retain(arguments[0])}, 1);
    argument_string(run, self, arguments, 0);
    return value_retain(arguments[0]);
}

value builtin_upper_case(struct run *run, const struct builtin *self, value *arguments,
                         size_t count)
{
    (void)count;
    value text = argument_named(run, self, arguments);
    value_release(run->region, arguments[0]);
    return string_upper(run, text);
}

value builtin_lower_case(struct run *run, const struct builtin *self, value *arguments,
                         size_t count)
{
    (void)count;
    value text = argument_named(run, self, arguments);
    value_release(run->region, arguments[0]);
    return string_lower(run, text);
}

value builtin_parse_long(struct run *run, const struct builtin *self, value *arguments,
                         size_t count)
{
    (void)count;
    int64_t number;
    argument_string(run, self, arguments, 0);
    return text_read_integer(value_text(arguments[0]), &number) ? value_integer(number)
                                                                : value_nil();
}

value builtin_parse_double(struct run *run, const struct builtin *self, value *arguments,
                           size_t count)
{
    (void)count;
    double number;
    argument_string(run, self, arguments, 0);
    run_spend(run, value_text(arguments[0]).length / 64);
    if (!text_read_float(value_text(arguments[0]), &number))
        return value_nil();
    return value_float(number);
}

value builtin_parse_boolean(struct run *run, const struct builtin *self, value *arguments,
                            size_t count)
{
    (void)count;
    argument_string(run, self, arguments, 0);
    struct span text = value_text(arguments[0]);
    if (span_equal_text(text, "true"))
        return value_boolean(true);
    return span_equal_text(text, "false") ? value_boolean(false) : value_nil();
}

static void argument_two_strings(struct run *run, const struct builtin *self,
                                 const value *arguments)
{
    argument_string(run, self, arguments, 0);
    argument_string(run, self, arguments, 1);
}

// Bytes start … end of a string, which is borrowed.
static value part_of(struct run *run, value string, size_t start, size_t end)
{
    return string_cut(run->region, value_retain(string), start, end);
}

// --- searching -----------------------------------------------------------------------------------

value builtin_starts_with(struct run *run, const struct builtin *self, value *arguments,
                          size_t count)
{
    (void)count;
    argument_string(run, self, arguments, 1);
    value text = argument_named(run, self, arguments);
    bool starts = span_starts_with(value_text(text), value_text(arguments[1]));
    value_release(run->region, text);
    return value_boolean(starts);
}

value builtin_ends_with(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    argument_string(run, self, arguments, 1);
    value owned = argument_named(run, self, arguments);
    struct span text = value_text(owned), part = value_text(arguments[1]);
    bool ends = part.length <= text.length &&
                memcmp(text.data + text.length - part.length, part.data, part.length) == 0;
    value_release(run->region, owned);
    return value_boolean(ends);
}

value builtin_includes(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    argument_two_strings(run, self, arguments);
    struct span text = value_text(arguments[0]), part = value_text(arguments[1]);
    return value_boolean(part.length == 0 || text_find(run, text, part, 0) != SIZE_MAX);
}

value builtin_index_of(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    argument_two_strings(run, self, arguments);
    int64_t wanted = count == 3 ? argument_position(run, self, arguments, 2) : 0;
    size_t from = wanted < 0 ? 0 : (size_t)wanted, index;
    if (!string_search(run, arguments[0], arguments[1], from, &index))
        return value_nil();
    return value_integer((int64_t)index);
}

value builtin_last_index_of(struct run *run, const struct builtin *self, value *arguments,
                            size_t count)
{
    argument_two_strings(run, self, arguments);
    int64_t from = count == 3 ? argument_position(run, self, arguments, 2) : INT64_MAX;
    size_t index;
    if (from < 0 || !string_search_last(run, arguments[0], arguments[1], (size_t)from, &index))
        return value_nil();
    return value_integer((int64_t)index);
}

// --- splitting -----------------------------------------------------------------------------------

static value split_characters(struct run *run, value string, size_t limit)
{
    struct span text = value_text(string);
    value fields = vector_new(run->region, 0);
    size_t start = 0;
    while (start < text.length && (limit == 0 || vector_count(fields) + 1 < limit)) {
        size_t end = string_is_simple(string) ? start + 1 : character_end(text, start);
        vector_add(run, &fields, part_of(run, string, start, end));
        start = end;
        run_spend(run, 1);
    }
    // Behind the last character an empty field remains; without a limit it is dropped.
    vector_add(run, &fields, part_of(run, string, start, text.length));
    return fields;
}

static value split_text(struct run *run, value string, struct span separator, size_t limit)
{
    struct span text = value_text(string);
    value fields = vector_new(run->region, 0);
    size_t start = 0;
    while (limit == 0 || vector_count(fields) + 1 < limit) {
        size_t found = text_find(run, text, separator, start);
        if (found == SIZE_MAX)
            break;
        vector_add(run, &fields, part_of(run, string, start, found));
        start = found + separator.length;
    }
    vector_add(run, &fields, part_of(run, string, start, text.length));
    return fields;
}

static value split_fields(struct run *run, const struct builtin *self, value *arguments,
                          size_t limit)
{
    value separator = arguments[1];
    if (separator.tag == VALUE_REGEX)
        return regex_split(run, self, separator, arguments[0], limit);
    if (value_text(separator).length == 0)
        return split_characters(run, arguments[0], limit);
    return split_text(run, arguments[0], value_text(separator), limit);
}

// The fields up to the last one that is not empty; one field stays as it is.
static value without_empty_end(struct run *run, value fields)
{
    size_t kept = vector_count(fields);
    if (kept == 1)
        return fields;
    while (kept > 0 && value_text(vector_at(fields, kept - 1)).length == 0)
        kept--;
    return vector_slice(run->region, fields, 0, kept);
}

value builtin_split(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    argument_string(run, self, arguments, 0);
    if (arguments[1].tag != VALUE_STRING && arguments[1].tag != VALUE_REGEX)
        run_type_error(run, self, 2, "a string or regex", arguments[1], NULL);
    // 0: as many fields as there are, without empty ones at the end; below 0: with them.
    int64_t wanted = count == 3 ? argument_integer(run, self, arguments, 2) : 0;
    value fields = split_fields(run, self, arguments, wanted > 0 ? (size_t)wanted : 0);
    return wanted == 0 ? without_empty_end(run, fields) : fields;
}

value builtin_split_lines(struct run *run, const struct builtin *self, value *arguments,
                          size_t count)
{
    (void)count;
    argument_string(run, self, arguments, 0);
    struct span text = value_text(arguments[0]);
    value lines = vector_new(run->region, 0);
    size_t kept = 0;  // lines up to the last one that is not empty
    for (size_t start = 0; start <= text.length;) {
        size_t found = text_find(run, text, SPAN("\n"), start);
        size_t next = found == SIZE_MAX ? text.length + 1 : found + 1;
        size_t end = found == SIZE_MAX ? text.length : found;
        if (found != SIZE_MAX && end > start && text.data[end - 1] == '\r')
            end--;
        vector_add(run, &lines, part_of(run, arguments[0], start, end));
        if (end > start)
            kept = vector_count(lines);
        start = next;
    }
    if (text.length == 0)
        kept = 1;
    return vector_slice(run->region, lines, 0, kept);
}

// --- replacing -----------------------------------------------------------------------------------

// The replacement between all characters and at both ends.
static value replace_everywhere(struct run *run, value string, struct span replacement)
{
    struct span text = value_text(string);
    struct sink sink;
    sink_to_region(&sink, run->region);
    sink_span(&sink, replacement);
    for (size_t start = 0; start < text.length;) {
        size_t end = string_is_simple(string) ? start + 1 : character_end(text, start);
        sink_span(&sink, (struct span){text.data + start, end - start});
        sink_span(&sink, replacement);
        run_spend(run, 1 + replacement.length / 256);
        start = end;
    }
    return sink_string(&sink);
}

static value replace_text(struct run *run, value string, struct span part, struct span replacement)
{
    struct span text = value_text(string);
    size_t found = text_find(run, text, part, 0);
    if (found == SIZE_MAX)
        return value_retain(string);
    struct sink sink;
    sink_to_region(&sink, run->region);
    size_t done = 0;
    for (; found != SIZE_MAX; found = text_find(run, text, part, done)) {
        sink_span(&sink, (struct span){text.data + done, found - done});
        sink_span(&sink, replacement);
        run_spend(run, replacement.length / 256);
        done = found + part.length;
    }
    sink_span(&sink, (struct span){text.data + done, text.length - done});
    return sink_string(&sink);
}

static value replace_in_string(struct run *run, const struct builtin *self, value *arguments)
{
    value string = arguments[0], pattern = arguments[1], replacement = arguments[2];
    argument_string(run, self, arguments, 0);
    if (pattern.tag == VALUE_REGEX) {
        if (replacement.tag != VALUE_STRING && !run_is_callable(replacement))
            run_type_error(run, self, 3, "a string or function", replacement, NULL);
        return regex_replace(run, self, pattern, string, replacement, false);
    }
    if (pattern.tag != VALUE_STRING)
        run_type_error(run, self, 2, "a string or regex", pattern, NULL);
    argument_string(run, self, arguments, 2);
    if (value_text(pattern).length == 0)
        return replace_everywhere(run, string, value_text(replacement));
    return replace_text(run, string, value_text(pattern), value_text(replacement));
}

// (replace map-or-vector coll)
static value replace_items(struct run *run, const struct builtin *self, value *arguments)
{
    value table = arguments[0], item, found;
    if (table.tag != VALUE_MAP && table.tag != VALUE_VECTOR)
        run_type_error(run, self, 1, "a map or vector", table,
                       table.tag == VALUE_STRING ? "(replace s pattern replacement)" : NULL);
    struct sequence items;
    value result = vector_new(run->region, 0);
    sequence_borrow(run, self, 2, &items, arguments[1]);
    while (sequence_step(&items, &item)) {
        bool present = false;
        if (table.tag == VALUE_MAP) {
            present = map_find(table, item, &found);
        } else if (item.tag == VALUE_INTEGER && item.integer >= 0 &&
                   (uint64_t)item.integer < vector_count(table)) {
            found = vector_at(table, (size_t)item.integer);
            present = true;
        }
        if (present)
            value_release(run->region, item);
        vector_add(run, &result, present ? value_retain(found) : item);
    }
    sequence_end(&items);
    return result;
}

value builtin_replace(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    return count == 3 ? replace_in_string(run, self, arguments)
                      : replace_items(run, self, arguments);
}
