// Strings: the rest of clojure.string (docs/reference/language.md 8.9).
#include "program/builtin/builtins.h"
#include "program/builtin/regex/regex_builtins.h"
#include "program/builtin/support.h"
#include "program/builtin/text_case.h"
#include "program/builtin/text_search.h"
#include "value/text/sink.h"

// The text of what Clojure takes as a string: it, or what str makes of it. Owned.
static value argument_text(struct run *run, const struct builtin *self, const value *arguments)
{
    if (arguments[0].tag == VALUE_STRING)
        return value_retain(arguments[0]);
    if (value_is_nil(arguments[0]))
        run_type_error(run, self, 1, "a string", arguments[0], NULL);
    return text_of_all(run, arguments, 1, false);
}

value builtin_capitalize(struct run *run, const struct builtin *self, value *arguments,
                         size_t count)
{
    (void)count;
    value text = argument_text(run, self, arguments);
    size_t length = value_text(text).length;
    if (length == 0)
        return text;
    size_t first = string_is_simple(text) ? 1 : character_end(value_text(text), 0);
    value head = string_upper(run, string_cut(run->region, value_retain(text), 0, first));
    value tail = string_lower(run, string_cut(run->region, text, first, length));
    return string_append(run->region, head, tail);
}

value builtin_reverse_string(struct run *run, const struct builtin *self, value *arguments,
                             size_t count)
{
    (void)count;
    argument_string(run, self, arguments, 0);
    struct sequence items;
    value item, characters = vector_new(run->region, 0);
    sequence_borrow(run, self, 1, &items, arguments[0]);
    while (sequence_step(&items, &item))
        vector_add(run, &characters, item);
    sequence_end(&items);
    struct sink sink;
    sink_to_region(&sink, run->region);
    for (size_t i = vector_count(characters); i-- > 0;) {
        run_spend(run, 1);
        sink_span(&sink, value_text(vector_at(characters, i)));
    }
    value_release(run->region, characters);
    return sink_string(&sink);
}

// (escape s cmap): every character for which cmap has a text is replaced by it.
value builtin_escape(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    argument_string(run, self, arguments, 0);
    run_check_callable(run, self, 2, arguments[1]);
    struct sequence items;
    struct sink sink;
    value item;
    sequence_borrow(run, self, 1, &items, arguments[0]);
    sink_to_region(&sink, run->region);
    while (sequence_step(&items, &item)) {
        value replacement = run_call_on(run, arguments[1], item);
        value written = value_is_nil(replacement) ? item : replacement;
        if (written.tag == VALUE_STRING) {
            sink_span(&sink, value_text(written));
        } else {
            value text = text_of_all(run, &written, 1, false);
            sink_span(&sink, value_text(text));
            value_release(run->region, text);
        }
        value_release(run->region, replacement);
        value_release(run->region, item);
    }
    sequence_end(&items);
    return sink_string(&sink);
}

// --- replace-first -------------------------------------------------------------------------------

// The string with bytes start … end replaced; `part` is consumed.
static value replace_bytes(struct run *run, value string, size_t start, size_t end, value part)
{
    struct span text = value_text(string);
    struct sink sink;
    sink_to_region(&sink, run->region);
    sink_span(&sink, (struct span){text.data, start});
    sink_span(&sink, value_text(part));
    sink_span(&sink, (struct span){text.data + end, text.length - end});
    run_spend(run, 1 + text.length / 256);
    value_release(run->region, part);
    return sink_string(&sink);
}

value builtin_replace_first(struct run *run, const struct builtin *self, value *arguments,
                            size_t count)
{
    (void)count;
    argument_string(run, self, arguments, 0);
    if (arguments[1].tag == VALUE_REGEX) {
        if (arguments[2].tag != VALUE_STRING && !run_is_callable(arguments[2]))
            run_type_error(run, self, 3, "a string or function", arguments[2], NULL);
        return regex_replace(run, self, arguments[1], arguments[0], arguments[2], true);
    }
    argument_string(run, self, arguments, 1);
    argument_string(run, self, arguments, 2);
    struct span text = value_text(arguments[0]), part = value_text(arguments[1]);
    size_t found = part.length == 0 ? 0 : text_find(run, text, part, 0);
    if (found == SIZE_MAX)
        return value_retain(arguments[0]);
    return replace_bytes(run, arguments[0], found, found + part.length, value_retain(arguments[2]));
}

// A text in which $ and \ mean themselves in a replacement.
value builtin_quote_replacement(struct run *run, const struct builtin *self, value *arguments,
                                size_t count)
{
    (void)count;
    argument_string(run, self, arguments, 0);
    struct span text = value_text(arguments[0]);
    struct sink sink;
    sink_to_region(&sink, run->region);
    for (size_t i = 0; i < text.length; i++) {
        run_spend(run, 1);
        if (text.data[i] == '$' || text.data[i] == '\\')
            sink_byte(&sink, '\\');
        sink_byte(&sink, text.data[i]);
    }
    return sink_string(&sink);
}
