// Aggregation: sums, extremes, groups (docs/reference/language.md 8.6).
#include <string.h>

#include "program/builtin/builtins.h"
#include "program/builtin/numeric.h"
#include "program/builtin/support.h"
#include "program/builtin/transducer.h"

// --- sums ----------------------------------------------------------------------------------------

// The sum of the items or of their keys, and how many there were without nil.
static value sum_numbers(struct run *run, const struct builtin *self, value *arguments,
                         size_t count, int64_t *ret_counted)
{
    value total = value_integer(0), item;
    if (count == 2)
        run_check_key(run, self, 1, arguments[0]);
    struct sequence items;
    sequence_start(run, self, (unsigned)count, &items, arguments[count - 1]);
    *ret_counted = 0;
    while (sequence_step(&items, &item)) {
        value number = item;
        if (count == 2) {
            number = run_key(run, arguments[0], item);
            value_release(run->region, item);
        }
        if (value_is_nil(number))
            continue;
        if (!value_is_number(number))
            builtin_fail(run, self, TYPE_ERROR, "can only add numbers, got %s",
                         value_describe(number, (char[DESCRIBE_SIZE]){0}));
        total = numeric_add(run, self, total, number);
        ++*ret_counted;
    }
    sequence_end(&items);
    if (count == 2)
        value_release(run->region, arguments[0]);
    return total;
}

value builtin_sum(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    int64_t counted;
    return sum_numbers(run, self, arguments, count, &counted);
}

value builtin_avg(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    int64_t counted;
    value total = sum_numbers(run, self, arguments, count, &counted);
    if (counted == 0)
        return value_nil();
    value mean = numeric_divide(run, self, total, value_integer(counted));
    double number = numeric_to_double(run, self, mean);
    value_release(run->region, mean);
    return value_float(number);
}

// --- extremes ------------------------------------------------------------------------------------

struct extreme {
    struct run *run;
    const struct builtin *self;
    bool greatest;
    bool last;  // of equal keys the last one wins
    bool found;
    value item;  // owned
    value key;   // owned
};

// Consumes item and key.
static void extreme_offer(struct extreme *extreme, value item, value key)
{
    struct run *run = extreme->run;
    if (extreme->found) {
        enum value_order order = value_compare(key, extreme->key);
        if (order == VALUE_INCOMPARABLE)
            fail_incomparable(run, extreme->self, extreme->key, key);
        bool wins = order == (extreme->greatest ? VALUE_GREATER : VALUE_LESS) ||
                    (extreme->last && order == VALUE_SAME);
        if (!wins) {
            value_release(run->region, item);
            value_release(run->region, key);
            return;
        }
        value_release(run->region, extreme->item);
        value_release(run->region, extreme->key);
    }
    extreme->found = true;
    extreme->item = item;
    extreme->key = key;
}

static value extreme_result(struct extreme *extreme)
{
    if (!extreme->found)
        return value_nil();
    value_release(extreme->run->region, extreme->key);
    return extreme->item;
}

static void extreme_offer_by_key(struct extreme *extreme, value f, value item)
{
    struct run *run = extreme->run;
    value key = run_key(run, f, item);
    if (value_is_nil(key))
        value_release(run->region, item);
    else
        extreme_offer(extreme, item, key);
}

static value extreme_by(struct run *run, const struct builtin *self, value *arguments, size_t count,
                        bool greatest)
{
    value key = arguments[0], first = arguments[1], item;
    struct extreme extreme = {.run = run, .self = self, .greatest = greatest};
    run_check_key(run, self, 1, key);
    bool collection = first.tag == VALUE_VECTOR || first.tag == VALUE_MAP ||
                      first.tag == VALUE_SET || first.tag == VALUE_NIL;
    if (count == 2 && collection) {
        struct sequence items;
        sequence_start(run, self, 2, &items, first);
        while (sequence_step(&items, &item))
            extreme_offer_by_key(&extreme, key, item);
        sequence_end(&items);
    } else {
        for (size_t i = 1; i < count; i++) {
            run_spend(run, 1);
            extreme_offer_by_key(&extreme, key, arguments[i]);
        }
    }
    value_release(run->region, key);
    return extreme_result(&extreme);
}

value builtin_min_by(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    return extreme_by(run, self, arguments, count, false);
}

value builtin_max_by(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    return extreme_by(run, self, arguments, count, true);
}

static value extreme_key(struct run *run, const struct builtin *self, value *arguments,
                         size_t count, bool greatest)
{
    value f = arguments[0];
    struct extreme extreme = {.run = run, .self = self, .greatest = greatest, .last = true};
    run_check_callable(run, self, 1, f);
    if (count == 2) {
        value_release(run->region, f);
        return arguments[1];
    }
    for (size_t i = 1; i < count; i++) {
        run_spend(run, 1);
        value key = run_call_on(run, f, arguments[i]);
        if (!value_is_number(key))
            builtin_fail(run, self, TYPE_ERROR, "the function must return a number, got %s",
                         value_describe(key, (char[DESCRIBE_SIZE]){0}));
        extreme_offer(&extreme, arguments[i], key);
    }
    value_release(run->region, f);
    return extreme_result(&extreme);
}

value builtin_min_key(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    return extreme_key(run, self, arguments, count, false);
}

value builtin_max_key(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    return extreme_key(run, self, arguments, count, true);
}

// --- numbering keys ------------------------------------------------------------------------------

// Numbers keys in the order of their first appearance: what group-by, frequencies, distinct and
// distinct-by count with. A hash table in the run's region, by key identity
// (docs/reference/language.md 1.2).
struct key_index {
    struct run *run;
    value keys;         // vector of the different keys; key number i is element i
    uint64_t *hashes;   // of the keys
    uint32_t *slots;    // number + 1, 0 = free; open addressing
    size_t slot_count;  // power of two, 0 = no table yet
};

enum { FIRST_SLOTS = 16 };  // filled to three quarters at most

static size_t hash_room(size_t slot_count)
{
    return slot_count / 4 * 3;
}

static void key_index_start(struct run *run, struct key_index *ret_index)
{
    *ret_index = (struct key_index){.run = run, .keys = vector_new(run->region, 0)};
}

static void place(struct key_index *index, size_t number)
{
    size_t slot = index->hashes[number] & (index->slot_count - 1);
    while (index->slots[slot] != 0)
        slot = (slot + 1) & (index->slot_count - 1);
    index->slots[slot] = (uint32_t)number + 1;
}

static void release_table(struct key_index *index)
{
    if (index->slot_count == 0)
        return;
    struct region *region = index->run->region;
    region_return(region, index->slots, index->slot_count * sizeof(uint32_t));
    region_return(region, index->hashes, hash_room(index->slot_count) * sizeof(uint64_t));
}

static void grow(struct key_index *index)
{
    struct region *region = index->run->region;
    size_t count = vector_count(index->keys);
    struct key_index larger = *index;
    larger.slot_count = index->slot_count == 0 ? FIRST_SLOTS : 2 * index->slot_count;
    larger.slots = region_alloc_zero(region, larger.slot_count * sizeof(uint32_t));
    larger.hashes = region_alloc(region, hash_room(larger.slot_count) * sizeof(uint64_t));
    if (index->hashes)
        memcpy(larger.hashes, index->hashes, count * sizeof(uint64_t));
    release_table(index);
    *index = larger;
    for (size_t i = 0; i < count; i++)
        place(index, i);
    run_spend(index->run, count / 4);
}

// The number of the key, which is consumed. A new key gets the next number.
static size_t key_index_number(struct key_index *index, value key, bool *ret_is_new)
{
    uint64_t hash = value_hash(key);
    size_t count = vector_count(index->keys), mask = index->slot_count - 1;
    const value *keys = vector_items(index->keys);
    for (size_t slot = hash & mask; index->slot_count > 0 && index->slots[slot] != 0;
         slot = (slot + 1) & mask) {
        size_t number = index->slots[slot] - 1;
        if (index->hashes[number] == hash && value_identical(keys[number], key)) {
            value_release(index->run->region, key);
            *ret_is_new = false;
            return number;
        }
    }
    if (!index->hashes || count == hash_room(index->slot_count))
        grow(index);
    vector_add(index->run, &index->keys, key);
    index->hashes[count] = hash;
    place(index, count);
    *ret_is_new = true;
    return count;
}

// Gives the vector of the keys.
static value key_index_end(struct key_index *index)
{
    release_table(index);
    return index->keys;
}

// --- groups --------------------------------------------------------------------------------------

// A map from each key to the element of `groups` with its number; consumes both vectors.
static value map_from_groups(struct run *run, value keys, value groups)
{
    value result = map_new(run->region);
    for (size_t i = 0; i < vector_count(keys); i++) {
        run_spend(run, 2);
        result = map_put(run->region, result, value_retain(vector_at(keys, i)),
                         value_retain(vector_at(groups, i)));
    }
    value_release(run->region, keys);
    value_release(run->region, groups);
    return result;
}

value builtin_group_by(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    value f = arguments[0], item, groups = vector_new(run->region, 0);
    run_check_key(run, self, 1, f);
    struct sequence items;
    struct key_index index;
    sequence_start(run, self, 2, &items, arguments[1]);
    key_index_start(run, &index);
    while (sequence_step(&items, &item)) {
        bool is_new;
        size_t number = key_index_number(&index, run_key(run, f, item), &is_new);
        if (is_new)
            vector_add(run, &groups, vector_new(run->region, 0));
        vector_add(run, &vector_own_items(groups)[number], item);
    }
    sequence_end(&items);
    value_release(run->region, f);
    return map_from_groups(run, key_index_end(&index), groups);
}

value builtin_frequencies(struct run *run, const struct builtin *self, value *arguments,
                          size_t count)
{
    (void)count;
    value item, totals = vector_new(run->region, 0);
    struct sequence items;
    struct key_index index;
    sequence_start(run, self, 1, &items, arguments[0]);
    key_index_start(run, &index);
    while (sequence_step(&items, &item)) {
        bool is_new;
        size_t number = key_index_number(&index, item, &is_new);
        if (is_new)
            vector_add(run, &totals, value_integer(0));
        vector_own_items(totals)[number].integer++;
    }
    sequence_end(&items);
    return map_from_groups(run, key_index_end(&index), totals);
}

value builtin_distinct(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    value answer;
    if (transducer_answer(run, TRANSDUCER_DISTINCT, arguments, count, 0, &answer))
        return answer;
    argument_seqable(run, self, arguments, 0);
    value item;
    bool is_new;
    struct sequence items;
    struct key_index index;
    sequence_start(run, self, 1, &items, arguments[0]);
    key_index_start(run, &index);
    while (sequence_step(&items, &item))
        key_index_number(&index, item, &is_new);
    sequence_end(&items);
    return vector_as_seq(key_index_end(&index));
}

value builtin_distinct_by(struct run *run, const struct builtin *self, value *arguments,
                          size_t count)
{
    (void)count;
    value f = arguments[0], item, result = vector_new(run->region, 0);
    run_check_key(run, self, 1, f);
    struct sequence items;
    struct key_index index;
    sequence_start(run, self, 2, &items, arguments[1]);
    key_index_start(run, &index);
    while (sequence_step(&items, &item)) {
        bool is_new;
        key_index_number(&index, run_key(run, f, item), &is_new);
        if (is_new)
            vector_add(run, &result, item);
        else
            value_release(run->region, item);
    }
    sequence_end(&items);
    value_release(run->region, key_index_end(&index));
    value_release(run->region, f);
    return result;
}

value builtin_pluck(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    value f = arguments[0], item;
    run_check_key(run, self, 1, f);
    struct sequence items;
    sequence_start(run, self, 2, &items, arguments[1]);
    value result = vector_new(run->region, items.count == SIZE_MAX ? 0 : items.count);
    while (sequence_step(&items, &item)) {
        vector_add(run, &result, run_key(run, f, item));
        value_release(run->region, item);
    }
    sequence_end(&items);
    value_release(run->region, f);
    return result;
}
