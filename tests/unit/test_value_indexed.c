// Large maps and sets: updated in place while they have one owner, persistent once they are shared.
#include <criterion/criterion.h>

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

TestSuite(value_indexed, .init = set_up, .fini = tear_down);

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

Test(value_indexed, one_owner_is_changed_in_place)
{
    value map = big_map(MANY);
    cr_assert_eq(map.object->kind, OBJECT_INDEXED);
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

Test(value_indexed, a_shared_map_stays_as_it_is)
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
    cr_assert_eq(base.object->kind, OBJECT_INDEXED);
    check_item(base, 0, -9);
    value_release(region, base);
    cr_assert_eq(region->live, 0, "%zu bytes are left", region->live);
}

Test(value_indexed, removing_leaves_the_others)
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

Test(value_indexed, equal_to_the_same_entries_in_another_form)
{
    value indexed = big_map(MANY), shared = big_map(MANY - 1);
    value trie = map_put(region, value_retain(shared), key_of(MANY - 1), value_integer(MANY - 1));
    cr_assert_eq(trie.object->kind, OBJECT_NODE);
    cr_assert(value_identical(indexed, trie));
    cr_assert(value_identical(trie, indexed));
    cr_assert_eq(value_hash(indexed), value_hash(trie));
    cr_assert_eq(value_compare_keys(indexed, trie), 0);
    cr_assert(value_equal(indexed, big_map(MANY)));
    cr_assert(!value_equal(indexed, shared));
    trie = map_put(region, trie, key_of(2), value_nil());
    cr_assert(!value_equal(indexed, trie));
    cr_assert(!value_equal(trie, indexed));
}

Test(value_indexed, integers_that_pile_up_end_in_a_trie)
{
    value map = map_new(region);
    for (int64_t i = 0; i < MANY; i++)
        map = map_put(region, map, value_integer(i << 50), value_integer(i));
    cr_assert_eq(map.object->kind, OBJECT_NODE);
    cr_assert_eq(map_count(map), MANY);
    for (int64_t i = 0; i < MANY; i++) {
        value item;
        cr_assert(map_find(map, value_integer(i << 50), &item));
        cr_assert_eq(item.integer, i);
    }
}

Test(value_indexed, sets_copies_and_lasting_maps)
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
    value_freeze(map);
    value changed = map_put(region, map, key_of(1), value_integer(-1));
    check_item(map, 1, 1);
    check_item(changed, 1, -1);
}
