// Large maps and sets: updated in place while they have one owner, persistent once they are shared.
#include <criterion/criterion.h>
#include <stdio.h>

#include "base/array.h"
#include "value/layout.h"

enum { MANY = 5000 };

static struct region *region;

static void set_up(void)
{
    region = region_new(SIZE_MAX);
}

static void tear_down(void)
{
    region_free(region);
}

TestSuite(value_hash_table, .init = set_up, .fini = tear_down);

static value key_of(int64_t i)
{
    if (i % 3 == 0)
        return value_integer(i);
    if (i % 3 == 1)
        return value_string_format(region, "key %lld", (long long)i);
    return vector_push(region, vector_new(region, 1), value_integer(i));
}

static value big_map(int64_t count)
{
    value map = map_new(region);
    for (int64_t i = 0; i < count; i++)
        map = map_put(region, map, key_of(i), value_integer(i));
    return map;
}

static void check_item(value map, int64_t i, int64_t expected)
{
    value key = key_of(i), item = value_nil();
    cr_assert(map_find(map, key, &item));
    cr_assert_eq(item.integer, expected);
    value_release(region, key);
}

Test(value_hash_table, one_owner_is_changed_in_place)
{
    value map = big_map(MANY);
    cr_assert_eq(map.object->kind, OBJECT_HASH_TABLE);
    struct object *before = map.object;
    map = map_put(region, map, key_of(7), value_integer(-7));
    cr_assert_eq(map.object, before);
    cr_assert_eq(map_count(map), MANY);
    check_item(map, 7, -7);
    for (int64_t i = 0; i < MANY; i++)
        if (i != 7)
            check_item(map, i, i);
    value_release(region, map);
    cr_assert_eq(region->live, 0, "%zu bytes are left", region->live);
}

Test(value_hash_table, a_shared_map_stays_as_it_is)
{
    value base = big_map(MANY);
    for (int64_t round = 0; round < 50; round++) {
        value other = map_put(region, value_retain(base), key_of(round), value_integer(-1));
        check_item(other, round, -1);
        check_item(base, round, round);
        other = map_put(region, other, value_integer(-5), value_nil());
        cr_assert_eq(map_count(other), MANY + 1);
        cr_assert_eq(map_count(base), MANY);
        value_release(region, other);
    }
    base = map_put(region, base, key_of(0), value_integer(-9));
    cr_assert_eq(base.object->kind, OBJECT_HASH_TABLE);
    check_item(base, 0, -9);
    value_release(region, base);
    cr_assert_eq(region->live, 0, "%zu bytes are left", region->live);
}

Test(value_hash_table, removing_leaves_the_others)
{
    value map = big_map(MANY);
    for (int64_t i = 0; i < MANY; i += 2)
        map = map_remove(region, map, key_of(i));
    cr_assert_eq(map_count(map), MANY / 2);
    for (int64_t i = 0; i < MANY; i++) {
        value key = key_of(i), item;
        cr_assert_eq(map_find(map, key, &item), i % 2 == 1);
        value_release(region, key);
    }
    value_release(region, map);
}

Test(value_hash_table, equal_to_the_same_entries_in_another_form)
{
    value table = big_map(MANY), shared = big_map(MANY - 1);
    value trie = map_put(region, value_retain(shared), key_of(MANY - 1), value_integer(MANY - 1));
    cr_assert_eq(trie.object->kind, OBJECT_NODE);
    cr_assert(value_identical(table, trie));
    cr_assert(value_identical(trie, table));
    cr_assert_eq(value_hash(table), value_hash(trie));
    cr_assert_eq(value_compare_keys(table, trie), 0);
    cr_assert(value_equal(table, big_map(MANY)));
    cr_assert(!value_equal(table, shared));
    trie = map_put(region, trie, key_of(2), value_nil());
    cr_assert(!value_equal(table, trie));
    cr_assert(!value_equal(trie, table));
}

// The integer that hash_table.c's multiplier takes to `product`: small ones have equal hashes.
static int64_t colliding(uint64_t product)
{
    const uint64_t multiplier = 0x9e3779b97f4a7c15;
    uint64_t inverse = multiplier;  // right in 3 bits, and in twice as many after each step
    for (int i = 0; i < 5; i++)
        inverse *= 2 - multiplier * inverse;
    return (int64_t)(product * inverse);
}

Test(value_hash_table, integers_that_collide_end_in_a_trie)
{
    value map = map_new(region);
    for (int64_t i = 0; i < MANY; i++)
        map = map_put(region, map, value_integer(colliding((uint64_t)i)), value_integer(i));
    cr_assert_eq(map.object->kind, OBJECT_NODE);
    cr_assert_eq(map_count(map), MANY);
    for (int64_t i = 0; i < MANY; i++) {
        value item;
        cr_assert(map_find(map, value_integer(colliding((uint64_t)i)), &item));
        cr_assert_eq(item.integer, i);
    }
}

Test(value_hash_table, sets_copies_and_immortal_maps)
{
    value set = set_new(region);
    for (int64_t i = 0; i < 2 * MANY; i++)
        set = set_add(region, set, key_of(i % MANY));
    cr_assert_eq(set_count(set), MANY);
    value smaller = set_remove(region, value_retain(set), key_of(3));
    cr_assert_eq(set_count(smaller), MANY - 1);
    cr_assert_eq(set_count(set), MANY);

    struct region *other = region_new(SIZE_MAX);
    value copy = value_copy(other, set);
    cr_assert(value_identical(copy, set));
    region_free(other);

    value map = big_map(MANY);
    value_make_immortal(map);
    value changed = map_put(region, map, key_of(1), value_integer(-1));
    check_item(map, 1, 1);
    check_item(changed, 1, -1);
}

// --- integer keys --------------------------------------------------------------------------------

static int64_t key_at(int64_t first, int64_t step, int64_t i)
{
    return (int64_t)((uint64_t)first + (uint64_t)step * (uint64_t)i);
}

static value integer_map(int64_t first, int64_t step)
{
    value map = map_new(region);
    for (int64_t i = 0; i < MANY; i++)
        map = map_put(region, map, value_integer(key_at(first, step, i)),
                      value_string_format(region, "item %lld", (long long)i));
    cr_assert_eq(map.object->kind, OBJECT_HASH_TABLE);
    return map;
}

static void check_integers(value map, int64_t first, int64_t step)
{
    for (int64_t i = 0; i < MANY; i++) {
        value found, item;
        value key = value_integer(key_at(first, step, i));
        cr_assert(map_find_entry(map, key, &found, &item));
        cr_assert(value_identical(found, key));
        char text[32];
        snprintf(text, sizeof(text), "item %lld", (long long)i);
        cr_assert(span_equal_text(value_text(item), text));
    }
}

// However the integers follow each other, none is far from its first slot.
Test(value_hash_table, progressions_of_integers_spread_evenly)
{
    static const int64_t firsts[] = {0, 1, -100, INT64_MIN, INT64_MAX - 50};
    static const int64_t steps[] = {1,    -1,    2,       7,         10,       1000,
                                    4096, 86400, 1 << 20, 1LL << 32, 1LL << 50};
    for (size_t i = 0; i < COUNT_OF(firsts); i++) {
        for (size_t j = 0; j < COUNT_OF(steps); j++) {
            value map = integer_map(firsts[i], steps[j]), item;
            uint32_t reach = ((const struct hash_table *)map.object)->reach;
            cr_assert_leq(reach, 32, "%u slots with step %lld", reach, (long long)steps[j]);
            cr_assert_eq(map_count(map), MANY);
            check_integers(map, firsts[i], steps[j]);
            value behind = value_integer(key_at(firsts[i], steps[j], MANY));
            cr_assert(!map_find(map, behind, &item));
            cr_assert(!map_find(map, value_float(1.5), &item));
            cr_assert(!map_find(map, value_nil(), &item));
            value_release(region, map);
            cr_assert_eq(region->live, 0, "%zu bytes are left", region->live);
        }
    }
}

Test(value_hash_table, other_keys_join_integers)
{
    value keys[] = {value_integer(-1), value_integer(MANY + 1), value_float(1.5),
                    value_string_text(region, "k"), vector_new(region, 0)};
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        value map = integer_map(0, 1), item;
        map = map_put(region, map, value_integer(3), value_string_text(region, "item 3"));
        cr_assert_eq(map_count(map), MANY);
        map = map_put(region, map, value_retain(keys[i]), value_integer(1));
        cr_assert_eq(map_count(map), MANY + 1);
        check_integers(map, 0, 1);
        cr_assert(map_find(map, keys[i], &item));
        map = map_put(region, map, value_integer(MANY), value_nil());
        cr_assert_eq(map_count(map), MANY + 2);
        value_release(region, map);
        value_release(region, keys[i]);
    }
    cr_assert_eq(region->live, 0, "%zu bytes are left", region->live);
}

Test(value_hash_table, items_are_replaced_by_those_of_another_kind)
{
    static const int64_t places[] = {0, MANY / 2, MANY - 1, MANY};
    for (size_t i = 0; i < COUNT_OF(places); i++) {
        value others[] = {value_nil(), value_float(1.5), value_string_text(region, "text"),
                          vector_push(region, vector_new(region, 1), value_integer(1))};
        for (size_t j = 0; j < COUNT_OF(others); j++) {
            value map = map_new(region), item;
            for (int64_t k = 0; k < MANY; k++)
                map = map_put(region, map, value_integer(k), value_integer(INT64_MIN + k));
            map = map_put(region, map, value_integer(places[i]), value_retain(others[j]));
            cr_assert_eq(map_count(map), places[i] == MANY ? MANY + 1 : MANY);
            for (int64_t k = 0; k < MANY; k++) {
                cr_assert(map_find(map, value_integer(k), &item));
                cr_assert(k == places[i] || item.integer == INT64_MIN + k);
            }
            cr_assert(map_find(map, value_integer(places[i]), &item));
            cr_assert(value_identical(item, others[j]));
            value_release(region, map);
            value_release(region, others[j]);
        }
    }
    cr_assert_eq(region->live, 0, "%zu bytes are left", region->live);
}

Test(value_hash_table, a_shared_map_of_integers_stays_as_it_is)
{
    value base = integer_map(5, 1);
    for (int64_t round = 0; round < 20; round++) {
        value other = map_put(region, value_retain(base), value_integer(5 + MANY), value_nil());
        cr_assert_eq(map_count(other), MANY + 1);
        other = map_remove(region, other, value_integer(5 + round));
        cr_assert_eq(map_count(other), MANY);
        value_release(region, other);
        check_integers(base, 5, 1);
    }
    base = map_put(region, base, value_integer(5 + MANY), value_nil());
    cr_assert_eq(base.object->kind, OBJECT_HASH_TABLE);
    base = map_remove(region, base, value_integer(5 + MANY));
    check_integers(base, 5, 1);
    value_release(region, base);
    cr_assert_eq(region->live, 0, "%zu bytes are left", region->live);
}

Test(value_hash_table, the_order_of_insertion_does_not_count)
{
    value map = integer_map(0, 1), reversed = map_new(region);
    for (int64_t i = MANY - 1; i >= 0; i--)
        reversed = map_put(region, reversed, value_integer(i),
                           value_string_format(region, "item %lld", (long long)i));
    cr_assert(value_identical(map, reversed) && value_identical(reversed, map));
    cr_assert_eq(value_hash(map), value_hash(reversed));
    cr_assert_eq(value_compare_keys(map, reversed), 0);
    cr_assert(!value_equal(map, integer_map(1, 1)));
    value fewer = map_remove(region, reversed, value_integer(0));
    value odd = map_put(region, fewer, vector_new(region, 0), value_nil());
    cr_assert(!value_equal(map, odd) && !value_equal(odd, map));
}

Test(value_hash_table, iterated_in_insertion_order_copied_and_made_immortal)
{
    value map = integer_map(-7, 1), key, item;
    struct map_cursor cursor = map_iterate(map);
    int64_t expected = -7;
    while (map_next(&cursor, &key, &item))
        cr_assert_eq(key.integer, expected++);
    cr_assert_eq(expected, MANY - 7);
    value keys = map_sorted_keys(region, map);
    cr_assert_eq(vector_at(keys, 10).integer, 3);

    struct region *other = region_new(SIZE_MAX);
    value copy = value_copy(other, map);
    cr_assert(value_identical(copy, map));
    region_free(other);

    value_make_immortal(map);
    value changed = map_put(region, map, value_integer(0), value_nil());
    check_integers(map, -7, 1);
    cr_assert(map_find(changed, value_integer(0), &item) && value_is_nil(item));
}
