// describe: the shape of a value in a few lines (docs/reference/language.md 8.12): kinds, counts, keys,
// ranges, examples; what one wants to know before writing a program over the value.
//
// Bounded in every direction: levels, keys per map, items looked at, characters of an example.
#include <stdio.h>

#include "base/utf8.h"
#include "program/builtin/builtins.h"
#include "program/builtin/support.h"
#include "value/text/print.h"
#include "value/text/sink.h"

enum {
    LEVELS = 4,          // of nested collections
    KEYS_SHOWN = 24,     // of one map
    ITEMS_SEEN = 1000,   // of one collection
    EXAMPLES = 4,        // different strings shown
    EXAMPLE_LENGTH = 24  // characters of one
};

struct description {
    struct run *run;
    const struct builtin *self;
    struct sink sink;
};

// What is known of the values found at one place: all items of a vector, or all values of a key.
struct summary {
    size_t total;  // values seen
    size_t kinds[VALUE_TAG_COUNT];
    value least, most;  // of numbers, borrowed
    bool has_number;
    value strings;                   // set of different ones, as far as they are counted
    value inside;                    // vector of what collections and maps hold
    value maps;                      // vector of the maps
    size_t count_least, count_most;  // of collections
};

static const char *const kind_names[VALUE_TAG_COUNT] = {
    [VALUE_NIL] = "nil",         [VALUE_BOOLEAN] = "boolean",   [VALUE_INTEGER] = "integer",
    [VALUE_FLOAT] = "float",     [VALUE_BIGNUM] = "integer",    [VALUE_STRING] = "string",
    [VALUE_KEYWORD] = "keyword", [VALUE_VECTOR] = "vector",     [VALUE_MAP] = "map",
    [VALUE_SET] = "set",         [VALUE_FUNCTION] = "function", [VALUE_REGEX] = "regex",
    [VALUE_SYMBOL] = "symbol",   [VALUE_VAR] = "var",
};

static void describe_summary(struct description *description, struct summary *summary,
                             unsigned level);

// --- collecting ----------------------------------------------------------------------------------

static struct summary summary_new(struct run *run)
{
    return (struct summary){
        .strings = set_new(run->region),
        .inside = vector_new(run->region, 0),
        .maps = vector_new(run->region, 0),
        .count_least = SIZE_MAX,
    };
}

static void summary_release(struct run *run, struct summary *summary)
{
    values_release(run, (value[]){summary->strings, summary->inside, summary->maps}, 3);
}

static void note_number(struct summary *summary, value v)
{
    if (!summary->has_number || number_compare(v, summary->least) == VALUE_LESS)
        summary->least = v;
    if (!summary->has_number || number_compare(v, summary->most) == VALUE_GREATER)
        summary->most = v;
    summary->has_number = true;
}

static void note_items(struct description *description, struct summary *summary, value v)
{
    struct run *run = description->run;
    size_t count = sequence_count(run, v);
    summary->count_least = count < summary->count_least ? count : summary->count_least;
    summary->count_most = count > summary->count_most ? count : summary->count_most;
    struct sequence items;
    value item;
    sequence_borrow(run, description->self, 1, &items, v);
    while (vector_count(summary->inside) < ITEMS_SEEN && sequence_next(&items, &item))
        vector_add(run, &summary->inside, item);
    sequence_end(&items);
}

// Borrows v, which must live as long as the summary.
static void summary_add(struct description *description, struct summary *summary, value v)
{
    struct run *run = description->run;
    run_spend(run, 1);
    summary->total++;
    summary->kinds[v.tag == VALUE_BIGNUM ? VALUE_INTEGER : v.tag]++;
    if (value_is_number(v))
        note_number(summary, v);
    else if (v.tag == VALUE_STRING || v.tag == VALUE_KEYWORD)
        summary->strings = set_add(run->region, summary->strings, value_retain(v));
    else if (v.tag == VALUE_VECTOR || v.tag == VALUE_SET)
        note_items(description, summary, v);
    else if (v.tag == VALUE_MAP)
        vector_add(run, &summary->maps, value_retain(v));
}

// --- writing -------------------------------------------------------------------------------------

static void write_indent(struct description *description, unsigned level)
{
    sink_byte(&description->sink, '\n');
    for (unsigned i = 0; i < level; i++)
        sink_text(&description->sink, "  ");
}

static void write_count(struct description *description, const char *before, size_t number,
                        const char *after)
{
    char text[80];
    snprintf(text, sizeof(text), "%s%zu%s", before, number, after);
    sink_text(&description->sink, text);
}

// A value at most EXAMPLE_LENGTH characters long.
static void write_example(struct description *description, value v)
{
    struct run *run = description->run;
    value text = value_printed(run->region, v);
    struct span bytes = value_text(text);
    size_t end = utf8_offset(bytes.data, bytes.length, EXAMPLE_LENGTH);
    sink_span(&description->sink, (struct span){bytes.data, end});
    if (end < bytes.length)
        sink_text(&description->sink, "...");
    value_release(run->region, text);
}

static void write_kinds(struct description *description, const struct summary *summary)
{
    size_t kinds = 0;
    for (int tag = 0; tag < VALUE_TAG_COUNT; tag++)
        kinds += summary->kinds[tag] > 0;
    bool first = true;
    for (int tag = VALUE_TAG_COUNT - 1; tag >= 0; tag--) {
        if (summary->kinds[tag] == 0)
            continue;
        if (!first)
            sink_text(&description->sink, ", ");
        first = false;
        sink_text(&description->sink, kind_names[tag]);
        if (kinds > 1)
            write_count(description, " (", summary->kinds[tag], ")");
    }
}

static void write_range(struct description *description, const struct summary *summary)
{
    if (!summary->has_number)
        return;
    sink_byte(&description->sink, ' ');
    write_example(description, summary->least);
    if (number_compare(summary->least, summary->most) != VALUE_SAME) {
        sink_text(&description->sink, " to ");
        write_example(description, summary->most);
    }
}

static void write_strings(struct description *description, const struct summary *summary)
{
    struct run *run = description->run;
    size_t different = set_count(summary->strings);
    if (different == 0)
        return;
    value sorted = set_sorted(run->region, summary->strings);
    if (different > EXAMPLES)
        write_count(description, ", ", different, " different");
    sink_text(&description->sink, different > EXAMPLES ? ", such as" : ":");
    for (size_t i = 0; i < different && i < EXAMPLES; i++) {
        sink_byte(&description->sink, ' ');
        write_example(description, vector_at(sorted, i));
    }
    value_release(run->region, sorted);
}

// The values of one key in all maps.
static void write_key(struct description *description, const struct summary *summary, value key,
                      unsigned level)
{
    struct run *run = description->run;
    struct summary below = summary_new(run);
    size_t maps = vector_count(summary->maps), found = 0;
    for (size_t i = 0; i < maps; i++) {
        value item;
        if (!map_find(vector_at(summary->maps, i), key, &item))
            continue;
        found++;
        summary_add(description, &below, item);
    }
    write_indent(description, level);
    write_example(description, key);
    if (found < maps)
        write_count(description, " (in ", found, ""), write_count(description, " of ", maps, ")");
    sink_text(&description->sink, " ");
    describe_summary(description, &below, level);
    summary_release(run, &below);
}

static void write_maps(struct description *description, const struct summary *summary,
                       unsigned level)
{
    struct run *run = description->run;
    value keys = set_new(run->region);
    for (size_t i = 0; i < vector_count(summary->maps) && i < ITEMS_SEEN; i++) {
        value key, item;
        struct map_cursor cursor = map_iterate(vector_at(summary->maps, i));
        while (set_count(keys) <= ITEMS_SEEN && map_next(&cursor, &key, &item)) {
            run_spend(run, 1);
            keys = set_add(run->region, keys, value_retain(key));
        }
    }
    value sorted = set_sorted(run->region, keys);
    size_t count = vector_count(sorted);
    for (size_t i = 0; i < count && i < KEYS_SHOWN; i++)
        write_key(description, summary, vector_at(sorted, i), level + 1);
    if (count > KEYS_SHOWN) {
        write_indent(description, level + 1);
        write_count(description, "and ", count - KEYS_SHOWN, " more keys");
    }
    value_release(run->region, sorted);
    value_release(run->region, keys);
}

static void write_items(struct description *description, const struct summary *summary,
                        unsigned level)
{
    struct run *run = description->run;
    if (vector_count(summary->inside) == 0)
        return;
    struct summary below = summary_new(run);
    for (size_t i = 0; i < vector_count(summary->inside); i++)
        summary_add(description, &below, vector_at(summary->inside, i));
    sink_text(&description->sink, " of ");
    describe_summary(description, &below, level);
    summary_release(run, &below);
}

static void describe_summary(struct description *description, struct summary *summary,
                             unsigned level)
{
    size_t collections = summary->kinds[VALUE_VECTOR] + summary->kinds[VALUE_SET];
    write_kinds(description, summary);
    write_range(description, summary);
    write_strings(description, summary);
    if (collections > 0) {
        write_count(description, ", ", summary->count_least, "");
        if (summary->count_most > summary->count_least)
            write_count(description, " to ", summary->count_most, "");
        sink_text(&description->sink,
                  summary->count_least == 1 && summary->count_most == 1 ? " item" : " items");
        if (level < LEVELS)
            write_items(description, summary, level);
    }
    if (summary->kinds[VALUE_MAP] > 0 && level < LEVELS)
        write_maps(description, summary, level);
}

value builtin_describe(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    struct description description = {.run = run, .self = self};
    sink_to_region(&description.sink, run->region);
    struct summary summary = summary_new(run);
    summary_add(&description, &summary, arguments[0]);
    describe_summary(&description, &summary, 0);
    summary_release(run, &summary);
    return sink_string(&description.sink);
}
