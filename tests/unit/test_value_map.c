// Maps and sets against a model, and the laws of equality, hashing and order.
#include <criterion/criterion.h>
#include <stdio.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "value/collection/key_lookup.h"
#include "value/collection/shape.h"
#include "value/text/print.h"
#include "value/value_hash.h"
#include "value_random_tree.h"

static struct region *region;

static void set_up(void)
{
    region = region_new(SIZE_MAX);
}

static void tear_down(void)
{
    region_free(region);
}

TestSuite(value_map, .init = set_up, .fini = tear_down);

static const char *printed(value v)
{
    static struct buffer text = {.limit = BUFFER_DEFAULT_LIMIT};
    buffer_clear(&text);
    value_print(&text, v);
    return buffer_text(&text);
}

// --- against a model -----------------------------------------------------------------------------

enum { MODEL_KEYS = 400 };

struct model {
    bool present[MODEL_KEYS];
    int64_t item[MODEL_KEYS];
    size_t count;
};

// Keys of several kinds; number k always gives the same key.
static value model_key(size_t k)
{
    char text[32];
    snprintf(text, sizeof(text), "key-number-%zu", k);
    switch (k % 4) {
    case 0: return value_integer((int64_t)k);
    case 1: return value_string_text(region, text);
    case 2: return value_keyword(region, span_from(text));
    default:
        return vector_push(region,
                           vector_push(region, vector_new(region, 2), value_integer((int64_t)k)),
                           value_nil());
    }
}

static void check_against(value map, value set, const struct model *model)
{
    cr_assert_eq(map_count(map), model->count);
    cr_assert_eq(set_count(set), model->count);
    for (size_t k = 0; k < MODEL_KEYS; k++) {
        value key = model_key(k), item;
        bool found = map_find(map, key, &item);
        cr_assert_eq(found, model->present[k]);
        cr_assert_eq(set_has(set, key), model->present[k]);
        if (found)
            cr_assert_eq(item.integer, model->item[k]);
        value_release(region, key);
    }
    struct map_cursor cursor = map_iterate(map);
    value key, item;
    size_t seen = 0;
    int64_t sum = 0, expected = 0;
    for (; map_next(&cursor, &key, &item); seen++)
        sum += item.integer;
    for (size_t k = 0; k < MODEL_KEYS; k++)
        expected += model->present[k] ? model->item[k] : 0;
    cr_assert_eq(seen, model->count);
    cr_assert_eq(sum, expected);
    cursor = set_iterate(set);
    for (seen = 0; set_next(&cursor, &key); seen++)
        ;
    cr_assert_eq(seen, model->count);
}

// Random puts and removals, now and then on a shared map whose old version must not change.
static void run_model(size_t keys, int steps)
{
    struct model model = {0}, old_model;
    value map = map_new(region), set = set_new(region), old_map, old_set;
    bool has_old = false;
    for (int step = 0; step < steps; step++) {
        size_t k = random_below(keys);
        bool growing = step / 500 % 2 == 0;
        if (random_below(4) < (growing ? 3u : 1u)) {
            int64_t item = (int64_t)random_below(1000);
            map = map_put(region, map, model_key(k), value_integer(item));
            set = set_add(region, set, model_key(k));
            model.count += !model.present[k];
            model.present[k] = true;
            model.item[k] = item;
        } else {
            map = map_remove(region, map, model_key(k));
            set = set_remove(region, set, model_key(k));
            model.count -= model.present[k];
            model.present[k] = false;
        }
        if (step % 100 == 0) {
            check_against(map, set, &model);
            if (has_old) {
                check_against(old_map, old_set, &old_model);
                value_release(region, old_map);
                value_release(region, old_set);
            }
            old_map = value_retain(map);
            old_set = value_retain(set);
            old_model = model;
            has_old = true;
        }
    }
    value_release(region, old_map);
    value_release(region, old_set);
    value_release(region, map);
    value_release(region, set);
}

Test(value_map, small_maps_agree_with_the_model)
{
    run_model(12, 4000);
}

Test(value_map, large_maps_agree_with_the_model)
{
    run_model(MODEL_KEYS, 6000);
}

Test(value_map, colliding_hashes_agree_with_the_model)
{
    static const uint64_t masks[] = {0, 3, UINT64_C(0xF000000000000001)};
    for (size_t i = 0; i < 3; i++) {
        region_clear(region);
        hash_mask = masks[i];
        run_model(100, 3000);
    }
    hash_mask = UINT64_MAX;
}

Test(value_map, maps_give_back_all_memory)
{
    value map = map_new(region);
    for (int i = 0; i < 5000; i++)
        map = map_put(region, map, value_integer(i), value_string_format(region, "item %d", i));
    value shared = value_retain(map);
    for (int i = 0; i < 5000; i += 3)
        map = map_remove(region, map, value_integer(i));
    value_release(region, shared);
    for (int i = 0; i < 5000; i++)
        map = map_remove(region, map, value_integer(i));
    cr_assert_eq(map_count(map), 0);
    value_release(region, map);
    cr_assert_eq(region->live, 0);
}

Test(value_map, a_hundred_thousand_entries_fit_a_small_memory)
{
    value map = map_new(region);
    for (int i = 0; i < 100000; i++)
        map = map_put(region, map, value_integer(i), value_integer(i));
    cr_assert_lt(region->peak, 8000000);
    value_release(region, map);
    cr_assert_eq(region->live, 0);
}

Test(value_map, numbers_that_share_their_place_are_found_in_time)
{
    value map = map_new(region), item;
    for (int64_t i = 0; i < 50000; i++)
        map = map_put(region, map, value_integer(i), value_integer(i));
    int64_t start = clock_now_ms();
    for (int64_t i = 0; i < 50000; i++) {
        cr_assert(map_find(map, value_integer(i), &item));
        cr_assert_not(map_find(map, value_integer(i + 65536), &item));
        cr_assert_not(map_find(map, value_integer(i + 131072), &item));
    }
    map = map_new(region);
    for (int64_t i = 0; i < 20000; i++)
        map = map_put(region, map, value_integer(i << 20), value_integer(i));
    for (int64_t i = 0; i < 20000; i++) {
        cr_assert(map_find(map, value_integer(i << 20), &item) && item.integer == i);
        cr_assert_not(map_find(map, value_integer((i << 20) + 1), &item));
    }
    cr_assert_lt(clock_now_ms() - start, 5000);  // a search through all entries takes minutes
}

// --- records -------------------------------------------------------------------------------------

Test(value_map, records_with_the_same_keys_share_a_shape)
{
    value a = map_put_text(region, map_put_text(region, map_new(region), "x", value_integer(1)),
                           "y", value_integer(2));
    value b = map_put_text(region, map_put_text(region, map_new(region), "x", value_integer(3)),
                           "y", value_integer(4));
    value c = map_put_text(region, map_put_text(region, map_new(region), "y", value_integer(2)),
                           "x", value_integer(1));
    cr_assert_eq(map_shape(a), map_shape(b));
    cr_assert_neq(map_shape(a), map_shape(c));
    cr_assert(value_equal(a, c));
    cr_assert_eq(value_hash(a), value_hash(c));
    size_t slot;
    cr_assert(shape_slot(map_shape(b), value_string_borrow(region, SPAN("y")), &slot));
    cr_assert_eq(record_slot(b, slot).integer, 4);
    cr_assert_eq(map_get(c, "x").integer, 1);
    cr_assert_eq(map_get(c, "z").tag, VALUE_NIL);
}

Test(value_map, insertion_order_is_kept_up_to_32_entries)
{
    value map = map_new(region);
    for (int i = 0; i < 32; i++) {
        char name[16];
        snprintf(name, sizeof(name), "%c%d", 'z' - i % 26, i);
        map = map_put_text(region, map, name, value_integer(i));
    }
    struct map_cursor cursor = map_iterate(map);
    value key, item;
    for (int i = 0; map_next(&cursor, &key, &item); i++)
        cr_assert_eq(item.integer, i);
    value keys = map_sorted_keys(region, map);
    for (size_t i = 1; i < vector_count(keys); i++)
        cr_assert_lt(value_compare_keys(vector_at(keys, i - 1), vector_at(keys, i)), 0);
}

Test(value_map, a_region_makes_only_so_many_shapes)
{
    for (int i = 0; i < 20000; i++) {
        char name[16];
        snprintf(name, sizeof(name), "name%d", i);
        value map = map_put_text(region, map_new(region), name, value_integer(i));
        map = map_put(region, map, value_keyword(region, SPAN("second")), value_integer(i));
        cr_assert_eq(map_get(map, name).integer, i);
        cr_assert_eq(map_count(map), 2);
        value_release(region, map);
    }
    cr_assert_lt(region->live, 1000000);
}

Test(value_map, flexible_lookup_follows_the_specification)
{
    value map = map_new(region);
    map = map_put_text(region, map, "user_id", value_integer(1));
    map = map_put(region, map, value_keyword(region, SPAN("name")), value_integer(2));
    map = map_put_text(region, map, "a-b", value_integer(3));
    map = map_put(region, map, value_keyword(region, SPAN("a_b")), value_integer(4));
    map = map_put_text(region, map, "nothing", value_nil());
    value item;
    static const struct {
        const char *name;
        bool keyword;
        int found;  // 0: not found, -1: found nil
    } cases[] = {
        {"user-id", true, 1}, {"user-id", false, 1}, {"user_id", true, 1},  {"user--id", true, 0},
        {"name", true, 2},    {"name", false, 2},    {"a-b", true, 3},      {"a-b", false, 3},
        {"a_b", true, 4},     {"a_b", false, 4},     {"nothing", true, -1}, {"Name", true, 0},
        {"", true, 0},
    };
    for (int table = 0; table < 2; table++) {
        for (size_t i = 0; i < COUNT_OF(cases); i++) {
            struct span name = span_from(cases[i].name);
            value key = cases[i].keyword ? value_keyword(region, name) : value_string(region, name);
            bool found = map_find_flexible(map, key, &item);
            cr_assert_eq(found, cases[i].found != 0, "%s", cases[i].name);
            if (cases[i].found > 0)
                cr_assert_eq(item.integer, cases[i].found, "%s", cases[i].name);
            size_t slot;
            if (map_shape(map))
                cr_assert_eq(shape_slot_flexible(map_shape(map), key, &slot), found);
        }
        for (int i = 0; i < 40; i++)  // the same for a trie
            map = map_put(region, map, value_integer(i), value_nil());
    }
    cr_assert_not(map_find_flexible(map, value_integer(77), &item));
}

// --- laws ----------------------------------------------------------------------------------------

enum { SAMPLES = 180 };

static void make_samples(value samples[SAMPLES])
{
    for (size_t i = 0; i < SAMPLES; i++)
        samples[i] = random_tree(region, 3);
}

Test(value_map, identity_is_an_equivalence_that_hashes_agree_with)
{
    value samples[SAMPLES];
    for (int round = 0; round < 5; round++) {
        make_samples(samples);
        for (size_t i = 0; i < SAMPLES; i++) {
            cr_assert(value_identical(samples[i], samples[i]));
            for (size_t j = 0; j < SAMPLES; j++) {
                bool same = value_identical(samples[i], samples[j]);
                cr_assert_eq(same, value_identical(samples[j], samples[i]));
                if (same)
                    cr_assert_eq(value_hash(samples[i]), value_hash(samples[j]));
                cr_assert_eq(same, value_compare_keys(samples[i], samples[j]) == 0, "%s",
                             printed(samples[i]));
            }
        }
    }
}

Test(value_map, equality_is_symmetric_and_weaker_than_identity)
{
    value samples[SAMPLES];
    make_samples(samples);
    for (size_t i = 0; i < SAMPLES; i++) {
        for (size_t j = 0; j < SAMPLES; j++) {
            bool equal = value_equal(samples[i], samples[j]);
            cr_assert_eq(equal, value_equal(samples[j], samples[i]));
            if (value_compare(samples[i], samples[j]) == VALUE_SAME)
                cr_assert(equal);
        }
    }
}

Test(value_map, key_order_is_total)
{
    value samples[SAMPLES];
    make_samples(samples);
    for (size_t i = 0; i < SAMPLES; i++) {
        for (size_t j = 0; j < SAMPLES; j++) {
            int forth = value_compare_keys(samples[i], samples[j]);
            int back = value_compare_keys(samples[j], samples[i]);
            cr_assert_eq((forth > 0) - (forth < 0), (back < 0) - (back > 0));
            if (forth > 0)
                continue;
            size_t k = random_below(SAMPLES);
            if (value_compare_keys(samples[j], samples[k]) <= 0)
                cr_assert_leq(value_compare_keys(samples[i], samples[k]), 0);
        }
    }
}

Test(value_map, natural_order_is_consistent)
{
    value samples[SAMPLES];
    make_samples(samples);
    for (size_t i = 0; i < SAMPLES; i++) {
        for (size_t j = 0; j < SAMPLES; j++) {
            enum value_order forth = value_compare(samples[i], samples[j]);
            enum value_order back = value_compare(samples[j], samples[i]);
            if (forth == VALUE_INCOMPARABLE)
                cr_assert_eq(back, VALUE_INCOMPARABLE);
            else
                cr_assert_eq((int)forth, -(int)back);
        }
    }
}

Test(value_map, equality_and_identity_of_numbers)
{
    value one = value_integer(1), one_float = value_float(1.0), nan = value_float(NAN);
    cr_assert(value_equal(one, one_float));
    cr_assert(value_identical(one, one_float));
    cr_assert_eq(value_hash(one), value_hash(one_float));
    value large = value_integer_from_text(region, SPAN("100000000000000000000"));
    cr_assert(value_identical(large, value_float(1e20)));
    cr_assert_eq(value_hash(large), value_hash(value_float(1e20)));
    cr_assert_not(value_equal(nan, nan));
    cr_assert(value_identical(nan, nan));
    cr_assert(value_equal(value_float(0.0), value_float(-0.0)));
    cr_assert(value_identical(value_float(0.0), value_float(-0.0)));
    cr_assert_eq(value_hash(value_float(0.0)), value_hash(value_float(-0.0)));
    value a = vector_push(region, vector_new(region, 1), nan);
    cr_assert_not(value_equal(a, a));
    cr_assert(value_identical(a, a));
    value left = map_put(region, map_new(region), one, one);
    value right = map_put(region, map_new(region), one, one_float);
    cr_assert(value_equal(left, right));
    cr_assert(value_identical(left, right));
    right = map_put(region, map_new(region), one_float, one);
    cr_assert(value_equal(left, right));
    cr_assert_eq(value_compare_keys(one, one_float), 0);
}

Test(value_map, printing_is_in_key_order)
{
    value map = map_new(region);
    value vector = vector_push(region, vector_new(region, 1), value_integer(1));
    value keys[] = {
        vector,
        value_string_text(region, "b"),
        value_keyword(region, SPAN("k")),
        value_float(2.5),
        value_integer(2),
        value_boolean(true),
        value_boolean(false),
        value_nil(),
        map_new(region),
        set_add(region, set_new(region), value_integer(1)),
        value_string_text(region, "a"),
        value_float(NAN),
        value_float(2.0),
        value_symbol(region, SPAN("s")),
    };
    for (size_t i = 0; i < COUNT_OF(keys); i++)
        map = map_put(region, map, keys[i], value_integer((int64_t)i));
    cr_assert_str_eq(printed(map), "{nil 7 false 6 true 5 2 12 2.5 3 ##NaN 11 :k 2 \"a\" 10 "
                                   "\"b\" 1 [1] 0 {} 8 #{1} 9 's 13}");
}
