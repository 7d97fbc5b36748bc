// Sorting: stable, by precomputed keys, interruptible, with comparisons that may raise
// (docs/reference/language.md 8.5).
#include <math.h>
#include <string.h>

#include "program/builtin/builtins.h"
#include "program/builtin/numeric.h"
#include "program/builtin/support.h"

// How two keys are compared.
struct comparator {
    bool natural;     // natural order, otherwise by calling f
    bool descending;  // natural order only
    value f;          // borrowed
};

// Sorting moves these, not the items. The prefix orders most keys without a comparison of the keys themselves.
struct sort_entry {
    uint64_t prefix;
    uint32_t index;  // of item and key
};

// What equal prefixes mean.
enum prefix_kind {
    PREFIX_NOTHING,  // prefixes are all 0
    PREFIX_PART,     // the keys may still differ
    PREFIX_ALL,      // the keys are equal
};

struct sorter {
    struct run *run;
    const struct builtin *self;
    struct comparator comparator;
    enum prefix_kind kind;
    const value *keys;
};

// --- comparators ---------------------------------------------------------------------------------

static bool keyword_is(value v, const char *name)
{
    return v.tag == VALUE_KEYWORD && span_equal_text(value_text(v), name);
}

// What the argument `cmp` of sort and sort-by says; type_error when it says nothing.
static struct comparator comparator_from(struct run *run, const struct builtin *self,
                                         unsigned argument, value cmp)
{
    const struct builtin *builtin = function_builtin(cmp);
    builtin_fn *function = builtin ? builtin->function : NULL;
    bool ascending = keyword_is(cmp, "asc") || function == builtin_less ||
                     function == builtin_less_or_equal || function == builtin_compare;
    bool descending = keyword_is(cmp, "desc") || function == builtin_greater ||
                      function == builtin_greater_or_equal;
    if (ascending || descending)
        return (struct comparator){.natural = true, .descending = descending};
    if (!run_is_callable(cmp))
        run_type_error(run, self, argument, "a comparator (:asc, :desc, <, > or a function)", cmp,
                       "the collection is the last argument");
    return (struct comparator){.f = cmp};
}

// The answer of a user's comparator.
enum answer { ANSWER_NEGATIVE, ANSWER_NOT_NEGATIVE, ANSWER_TRUE, ANSWER_FALSE };

static enum answer comparator_call(struct sorter *sorter, value a, value b)
{
    struct run *run = sorter->run;
    value answer = run_call2(run, sorter->comparator.f, value_retain(a), value_retain(b));
    if (answer.tag == VALUE_BOOLEAN)
        return answer.boolean ? ANSWER_TRUE : ANSWER_FALSE;
    if (!value_is_number(answer))
        builtin_fail(run, sorter->self, TYPE_ERROR,
                     "the comparator must return a number or a boolean, got %s",
                     value_describe(answer, (char[DESCRIBE_SIZE]){0}));
    bool negative = numeric_sign(answer) < 0;
    value_release(run->region, answer);
    return negative ? ANSWER_NEGATIVE : ANSWER_NOT_NEGATIVE;
}

static bool called_goes_before(struct sorter *sorter, value b, value a)
{
    enum answer answer = comparator_call(sorter, b, a);
    if (answer != ANSWER_TRUE)
        return answer == ANSWER_NEGATIVE;
    // A comparator such as <= is true both ways for equal keys.
    return comparator_call(sorter, a, b) != ANSWER_TRUE;
}

static bool natural_goes_before(struct sorter *sorter, value b, value a)
{
    enum value_order order = value_compare(b, a);
    if (order == VALUE_INCOMPARABLE)
        fail_incomparable(sorter->run, sorter->self, a, b);
    return sorter->comparator.descending ? order == VALUE_GREATER : order == VALUE_LESS;
}

// Must b, which stands behind a, go before it? Equal ones stay, whatever the comparator.
static bool goes_before(struct sorter *sorter, const struct sort_entry *b,
                        const struct sort_entry *a)
{
    run_spend(sorter->run, 1);
    if (sorter->kind != PREFIX_NOTHING) {
        if (b->prefix != a->prefix)
            return b->prefix < a->prefix;
        if (sorter->kind == PREFIX_ALL)
            return false;
    }
    value left = sorter->keys[a->index], right = sorter->keys[b->index];
    if (sorter->comparator.natural)
        return natural_goes_before(sorter, right, left);
    return called_goes_before(sorter, right, left);
}

// --- prefixes ------------------------------------------------------------------------------------

static uint64_t integer_prefix(int64_t number)
{
    return (uint64_t)number ^ (UINT64_C(1) << 63);
}

static uint64_t float_prefix(double number)
{
    uint64_t bits;
    number += 0.0;  // -0.0 and 0.0 are equal
    memcpy(&bits, &number, sizeof(bits));
    return bits >> 63 ? ~bits : bits | (UINT64_C(1) << 63);
}

static uint64_t string_prefix(value string)
{
    struct span text = value_text(string);
    unsigned char bytes[8] = {0};
    memcpy(bytes, text.data, text.length < 8 ? text.length : 8);
    uint64_t prefix;
    memcpy(&prefix, bytes, sizeof(prefix));
    return __builtin_bswap64(prefix);
}

// One kind of key throughout allows prefixes.
static enum prefix_kind prefix_kind_of(const value *keys, size_t count)
{
    uint8_t tag = keys[0].tag;
    if (tag != VALUE_INTEGER && tag != VALUE_FLOAT && tag != VALUE_STRING)
        return PREFIX_NOTHING;
    for (size_t i = 0; i < count; i++) {
        if (keys[i].tag != tag || (tag == VALUE_FLOAT && isnan(keys[i].number)))
            return PREFIX_NOTHING;
    }
    return tag == VALUE_STRING ? PREFIX_PART : PREFIX_ALL;
}

static uint64_t key_prefix(value key)
{
    switch (key.tag) {
    case VALUE_INTEGER: return integer_prefix(key.integer);
    case VALUE_FLOAT: return float_prefix(key.number);
    default: return string_prefix(key);
    }
}

static void fill_entries(struct sorter *sorter, struct sort_entry *entries, size_t count)
{
    sorter->kind =
        sorter->comparator.natural ? prefix_kind_of(sorter->keys, count) : PREFIX_NOTHING;
    for (size_t i = 0; i < count; i++) {
        uint64_t prefix = sorter->kind == PREFIX_NOTHING ? 0 : key_prefix(sorter->keys[i]);
        entries[i].prefix = sorter->comparator.descending ? ~prefix : prefix;
        entries[i].index = (uint32_t)i;
    }
    run_spend(sorter->run, count / 4);
}

// --- merge sort ----------------------------------------------------------------------------------

enum { RUN_LENGTH = 8 };

static void insertion_sort(struct sorter *sorter, struct sort_entry *entries, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        struct sort_entry entry = entries[i];
        size_t place = i;
        for (; place > 0 && goes_before(sorter, &entry, &entries[place - 1]); place--)
            entries[place] = entries[place - 1];
        entries[place] = entry;
    }
}

// Merges [0, middle) and [middle, count) of `from` to `to`.
static void merge(struct sorter *sorter, const struct sort_entry *from, size_t middle, size_t count,
                  struct sort_entry *to)
{
    if (middle >= count || !goes_before(sorter, &from[middle], &from[middle - 1])) {
        memcpy(to, from, count * sizeof(*to));
        return;
    }
    size_t left = 0, right = middle, place = 0;
    while (left < middle && right < count)
        to[place++] = goes_before(sorter, &from[right], &from[left]) ? from[right++] : from[left++];
    memcpy(to + place, from + left, (middle - left) * sizeof(*to));
    memcpy(to + place + middle - left, from + right, (count - right) * sizeof(*to));
}

// Sorts `entries` with the help of `space`; returns the one that holds the result.
static struct sort_entry *merge_sort(struct sorter *sorter, struct sort_entry *entries,
                                     struct sort_entry *space, size_t count)
{
    for (size_t start = 0; start < count; start += RUN_LENGTH)
        insertion_sort(sorter, entries + start,
                       count - start < RUN_LENGTH ? count - start : RUN_LENGTH);
    for (size_t width = RUN_LENGTH; width < count; width *= 2) {
        for (size_t start = 0; start < count; start += 2 * width) {
            size_t length = count - start < 2 * width ? count - start : 2 * width;
            merge(sorter, entries + start, width < length ? width : length, length, space + start);
        }
        struct sort_entry *swapped = entries;
        entries = space;
        space = swapped;
    }
    return entries;
}

static value reorder(struct run *run, value items, const struct sort_entry *order, size_t count)
{
    value result = vector_new(run->region, count);
    value *own = vector_own_items(items);
    for (size_t i = 0; i < count; i++) {
        value item = vector_items(items)[order[i].index];
        vector_add(run, &result, own ? item : value_retain(item));
    }
    if (own)
        items = vector_own_cut(items, 0);  // every item was moved
    value_release(run->region, items);
    run_spend(run, count / 4);
    return result;
}

// The items in the order of their keys; `keys` has as many elements as `items` and may be the same
// vector. Consumes items, borrows keys.
static value sort_items(struct run *run, const struct builtin *self, value items, value keys,
                        struct comparator comparator)
{
    size_t count = vector_count(items);
    if (count < 2)
        return items;
    struct sorter sorter = {
        .run = run, .self = self, .comparator = comparator, .keys = vector_items(keys)};
    size_t size = count * sizeof(struct sort_entry);
    struct sort_entry *entries = region_alloc(run->region, size);
    struct sort_entry *space = region_alloc(run->region, size);
    fill_entries(&sorter, entries, count);
    struct sort_entry *order = merge_sort(&sorter, entries, space, count);
    value result = reorder(run, items, order, count);
    region_return(run->region, entries, size);
    region_return(run->region, space, size);
    return result;
}

// --- sort, sort-by -------------------------------------------------------------------------------

value builtin_sort(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    struct comparator comparator = {.natural = true};
    unsigned place = (unsigned)count - 1;
    if (count == 2)
        comparator = comparator_from(run, self, 1, arguments[0]);
    argument_seqable(run, self, arguments, place);
    value items = sequence_vector(run, self, place + 1, arguments[place]);
    value result = sort_items(run, self, items, items, comparator);
    if (count == 2)
        value_release(run->region, arguments[0]);
    return vector_as_seq(result);
}

value builtin_sort_by(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    value key = arguments[0], source = arguments[count - 1];
    run_check_key(run, self, 1, key);
    if (!value_is_seqable(source))
        run_type_error(run, self, (unsigned)count, "a collection", source,
                       "the collection is the last argument: (sort-by key cmp? coll)");
    struct comparator comparator = {.natural = true};
    if (count == 3)
        comparator = comparator_from(run, self, 2, arguments[1]);
    value items = sequence_vector(run, self, (unsigned)count, source);
    size_t total = vector_count(items);
    value keys = vector_new(run->region, total);
    for (size_t i = 0; i < total; i++) {
        run_spend(run, 1);
        vector_add(run, &keys, run_key(run, key, vector_at(items, i)));
    }
    value result = sort_items(run, self, items, keys, comparator);
    value_release(run->region, keys);
    if (count == 3)
        value_release(run->region, arguments[1]);
    value_release(run->region, key);
    return vector_as_seq(result);
}
