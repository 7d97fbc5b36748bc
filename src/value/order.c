// Key order, which is total, and the natural order of programs.
#include <math.h>
#include <string.h>

#include "base/buffer.h"
#include "value/chunks.h"
#include "value/collection/entries.h"
#include "value/collection/sort.h"
#include "value/number/number.h"
#include "value/text/print.h"
#include "value/worklist.h"

enum {
    FIRST_FRAMES = 16,
    // Keys that are maps with such keys in turn: below this depth they are ordered by hash, because
    // putting them in order would recurse.
    SORT_DEPTH_MAX = 32,
};

static int compare_keys_at(value a, value b, unsigned depth);

static int compare_spans(struct span left, struct span right)
{
    size_t common = left.length < right.length ? left.length : right.length;
    int order = chunks_compare(left.data, right.data, common);
    if (order == 0)
        order = (left.length > right.length) - (left.length < right.length);
    return (order > 0) - (order < 0);
}

static int compare_text(value a, value b)
{
    return compare_spans(value_text(a), value_text(b));
}

static size_t namespace_length(struct span text)
{
    const char *slash = text.length > 1 ? memchr(text.data, '/', text.length) : NULL;
    return slash ? (size_t)(slash - text.data) : 0;
}

// Names without a namespace come first, then they are in the order of their namespaces.
static int compare_names(value a, value b)
{
    struct span left = value_text(a), right = value_text(b);
    size_t left_space = namespace_length(left), right_space = namespace_length(right);
    if (left_space == 0 || right_space == 0)
        return left_space == right_space ? compare_spans(left, right) : left_space == 0 ? -1 : 1;
    int order =
        compare_spans((struct span){left.data, left_space}, (struct span){right.data, right_space});
    return order ? order : compare_spans(left, right);
}

// --- natural order -------------------------------------------------------------------------------

// Values that are not both vectors.
static enum value_order compare_scalars(value a, value b)
{
    if ((a.tag == VALUE_FLOAT && isnan(a.number)) || (b.tag == VALUE_FLOAT && isnan(b.number)))
        return VALUE_INCOMPARABLE;
    if (a.tag == VALUE_NIL || b.tag == VALUE_NIL)
        return (enum value_order)((b.tag == VALUE_NIL) - (a.tag == VALUE_NIL));
    if (value_is_number(a) && value_is_number(b))
        return number_compare(a, b);
    if (a.tag != b.tag)
        return VALUE_INCOMPARABLE;
    if (a.tag == VALUE_STRING)
        return (enum value_order)compare_text(a, b);
    if (a.tag == VALUE_KEYWORD || a.tag == VALUE_SYMBOL)
        return (enum value_order)compare_names(a, b);
    if (a.tag == VALUE_BOOLEAN)
        return (enum value_order)(a.boolean - b.boolean);
    return VALUE_INCOMPARABLE;
}

struct pair {
    value a;
    value b;
    uint32_t index;
    uint32_t count;       // elements, or twice the entries of a map: key, item, key, item
    const value *a_keys;  // maps and sets: in key order, allocated
    const value *b_keys;
};

enum value_order value_compare(value a, value b)
{
    if (a.tag != VALUE_VECTOR || b.tag != VALUE_VECTOR)
        return compare_scalars(a, b);
    struct pair first[FIRST_FRAMES];
    struct worklist work;
    worklist_init(&work, first, sizeof(first), sizeof(struct pair));
    enum value_order order = VALUE_SAME;
    for (;;) {
        if (a.tag == VALUE_VECTOR && b.tag == VALUE_VECTOR) {
            if (a.aux != b.aux) {
                order = a.aux < b.aux ? VALUE_LESS : VALUE_GREATER;
                break;
            }
            *(struct pair *)worklist_push(&work) = (struct pair){.a = a, .b = b, .count = a.aux};
        } else {
            order = compare_scalars(a, b);
            if (order != VALUE_SAME)
                break;
        }
        struct pair *top;
        while ((top = worklist_top(&work)) && top->index == top->count)
            worklist_pop(&work);
        if (!top)
            break;
        a = vector_items(top->a)[top->index];
        b = vector_items(top->b)[top->index++];
        fuel_spend(1);
    }
    worklist_release(&work);
    return order;
}

// --- key order -----------------------------------------------------------------------------------

static int kind_rank(value v)
{
    static const uint8_t rank[VALUE_TAG_COUNT] = {
        [VALUE_NIL] = 0,    [VALUE_BOOLEAN] = 1, [VALUE_INTEGER] = 2,  [VALUE_FLOAT] = 2,
        [VALUE_BIGNUM] = 2, [VALUE_KEYWORD] = 3, [VALUE_STRING] = 4,   [VALUE_VECTOR] = 5,
        [VALUE_MAP] = 6,    [VALUE_SET] = 7,     [VALUE_FUNCTION] = 8, [VALUE_REGEX] = 8,
        [VALUE_SYMBOL] = 8, [VALUE_VAR] = 8,
    };
    return rank[v.tag];
}

static int compare_number_keys(value a, value b)
{
    bool a_nan = a.tag == VALUE_FLOAT && isnan(a.number);
    bool b_nan = b.tag == VALUE_FLOAT && isnan(b.number);
    if (a_nan || b_nan)
        return a_nan - b_nan;
    return number_compare(a, b);
}

static int compare_printed(value a, value b)
{
    CLEANUP_BUFFER struct buffer left = {.limit = BUFFER_DEFAULT_LIMIT};
    CLEANUP_BUFFER struct buffer right = {.limit = BUFFER_DEFAULT_LIMIT};
    value_print(&left, a);
    value_print(&right, b);
    return compare_spans(buffer_span(&left), buffer_span(&right));
}

// Values of one rank that are not collections.
static int compare_scalar_keys(value a, value b)
{
    switch ((enum value_tag)a.tag) {
    case VALUE_NIL: return 0;
    case VALUE_BOOLEAN: return a.boolean - b.boolean;
    case VALUE_INTEGER:
    case VALUE_FLOAT:
    case VALUE_BIGNUM: return compare_number_keys(a, b);
    case VALUE_KEYWORD:
    case VALUE_STRING: return a.pointer == b.pointer && a.aux == b.aux ? 0 : compare_text(a, b);
    default: return value_identical(a, b) ? 0 : compare_printed(a, b);
    }
}

// The order as far as kinds and sizes decide it; 0 with *ret_inside: the elements decide.
static int compare_outside(value a, value b, bool *ret_inside)
{
    *ret_inside = false;
    int order = kind_rank(a) - kind_rank(b);
    if (order)
        return order;
    if (!value_is_collection(a))
        return compare_scalar_keys(a, b);
    if (a.aux != b.aux)
        return a.aux < b.aux ? -1 : 1;
    *ret_inside = a.object != b.object && a.aux > 0;
    return 0;
}

static int compare_hashes(void *data, const value *a, const value *b)
{
    (void)data;
    bool inside;
    int order = compare_outside(*a, *b, &inside);
    if (!inside)
        return order;
    uint64_t left = value_hash(*a), right = value_hash(*b);
    return (left > right) - (left < right);
}

static int compare_sorting(void *data, const value *a, const value *b)
{
    const unsigned *depth = data;
    fuel_spend(1);
    return compare_keys_at(*a, *b, *depth + 1);
}

// The keys or members in key order, in memory of the work list. Two arrays: the second is scratch.
static const value *sorted_keys(const struct worklist *work, value v, unsigned depth)
{
    fuel_spend(v.aux);
    value *keys = worklist_alloc(work, 2 * (size_t)v.aux * sizeof(value));
    struct map_cursor cursor = map_iterate(v);
    value ignored;
    for (size_t i = 0; i < v.aux; i++)
        if (v.tag == VALUE_MAP)
            map_next(&cursor, &keys[i], &ignored);
        else
            set_next(&cursor, &keys[i]);
    sort_entries(keys, v.aux, 1, keys + v.aux,
                 depth < SORT_DEPTH_MAX ? compare_sorting : compare_hashes, &depth);
    return keys;
}

static void push_collections(struct worklist *work, value a, value b, unsigned depth)
{
    struct pair pair = {.a = a, .b = b, .count = a.aux};
    if (a.tag == VALUE_MAP)
        pair.count *= 2;
    if (a.tag != VALUE_VECTOR) {
        pair.a_keys = sorted_keys(work, a, depth);
        pair.b_keys = sorted_keys(work, b, depth);
    }
    *(struct pair *)worklist_push(work) = pair;
}

static void pop_collections(struct worklist *work)
{
    struct pair *pair = worklist_top(work);
    size_t size = 2 * (size_t)pair->a.aux * sizeof(value);
    if (pair->a_keys) {
        worklist_return(work, (void *)(uintptr_t)pair->a_keys, size);
        worklist_return(work, (void *)(uintptr_t)pair->b_keys, size);
    }
    worklist_pop(work);
}

static void next_pair(struct pair *pair, value *ret_a, value *ret_b)
{
    uint32_t index = pair->index++;
    if (pair->a.tag == VALUE_VECTOR) {
        *ret_a = vector_items(pair->a)[index];
        *ret_b = vector_items(pair->b)[index];
    } else if (pair->a.tag == VALUE_SET || index % 2 == 0) {
        uint32_t entry = pair->a.tag == VALUE_SET ? index : index / 2;
        *ret_a = pair->a_keys[entry];
        *ret_b = pair->b_keys[entry];
    } else {
        map_find(pair->a, pair->a_keys[index / 2], ret_a);
        map_find(pair->b, pair->b_keys[index / 2], ret_b);
    }
}

// `depth`: how many sorts of keys this comparison is inside of.
static int compare_keys_at(value a, value b, unsigned depth)
{
    bool inside;
    int order = compare_outside(a, b, &inside);
    if (!inside)
        return order;
    struct pair first[FIRST_FRAMES];
    struct worklist work;
    worklist_init(&work, first, sizeof(first), sizeof(struct pair));
    for (;;) {
        if (inside)
            push_collections(&work, a, b, depth);
        struct pair *top;
        while ((top = worklist_top(&work)) && top->index == top->count)
            pop_collections(&work);
        if (!top)
            break;
        next_pair(top, &a, &b);
        fuel_spend(1);
        order = compare_outside(a, b, &inside);
        if (order)
            break;
    }
    while (work.count)
        pop_collections(&work);
    worklist_release(&work);
    return order;
}

int value_compare_keys(value a, value b)
{
    return compare_keys_at(a, b, 0);
}
