// println, apropos, doc.
#include <stdio.h>
#include <string.h>

#include "base/ascii.h"
#include "base/utf8.h"
#include "program/builtin/builtins.h"
#include "program/builtin/support.h"
#include "program/run/run_state.h"
#include "value/text/print.h"
#include "value/text/sink.h"

// Adds one text to the prints, cut to the limit; consumes it.
static void print_line(struct run *run, value line)
{
    struct span text = value_text(line);
    size_t limit = run->limits.max_print_length;
    size_t end = utf8_offset(text.data, text.length, limit);
    if (end < text.length) {
        struct sink sink;
        sink_to_region(&sink, run->region);
        sink_span(&sink, (struct span){text.data, end});
        sink_text(&sink, "...");
        value_release(run->region, line);
        line = sink_string(&sink);
    }
    struct branch_state *branch = &run->state->branch;
    branch->prints = vector_push(run->region, branch->prints, line);
}

value builtin_println(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)self;
    print_line(run, text_of_all(run, arguments, count, false));
    return value_nil();
}

static bool contains_ignoring_case(const char *name, struct span part)
{
    size_t length = strlen(name);
    for (size_t start = 0; start + part.length <= length; start++) {
        size_t i = 0;
        while (i < part.length && ascii_to_lower(name[start + i]) == ascii_to_lower(part.data[i]))
            i++;
        if (i == part.length)
            return true;
    }
    return false;
}

value builtin_apropos(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    if (arguments[0].tag != VALUE_STRING)
        run_type_error(run, self, 1, "a string", arguments[0], NULL);
    struct span part = value_text(arguments[0]);
    value names = set_new(run->region);
    for (size_t i = 0; i < builtin_count; i++) {
        if (contains_ignoring_case(builtin_table[i].name, part))
            names =
                set_add(run->region, names, value_string_text(run->region, builtin_table[i].name));
    }
    for (int special = SPECIAL_NONE + 1; special < SPECIAL_COUNT; special++) {
        const char *name = special_name((enum special)special);
        if (contains_ignoring_case(name, part))
            names = set_add(run->region, names, value_string_text(run->region, name));
    }
    value sorted = set_sorted(run->region, names);
    value_release(run->region, names);
    return sorted;
}

value builtin_doc(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    if (arguments[0].tag != VALUE_STRING && arguments[0].tag != VALUE_SYMBOL)
        run_type_error(run, self, 1, "a name: string or symbol reference", arguments[0], NULL);
    struct span name = value_text(arguments[0]);
    const struct builtin *builtin = builtin_find(name);
    if (builtin) {
        print_line(run,
                   value_string_format(run->region, "%s\n  %s", builtin->signature, builtin->doc));
        return value_nil();
    }
    for (int special = SPECIAL_NONE + 1; special < SPECIAL_COUNT; special++) {
        if (!span_equal_text(name, special_name((enum special)special)))
            continue;
        print_line(run, value_string_format(run->region, "%s\n  %s",
                                            special_signature((enum special)special),
                                            special_doc((enum special)special)));
        return value_nil();
    }
    print_line(run, value_string_format(run->region, "no documentation for %.*s",
                                        (int)(name.length > 80 ? 80 : name.length), name.data));
    return value_nil();
}
