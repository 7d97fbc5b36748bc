// Ownership, strings, vectors, copies, immortal values, deep nesting, fuel, failing allocations.
#include <criterion/criterion.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "value/fuel.h"
#include "value/layout.h"
#include "value/text/print.h"
#include "value/text/text.h"
#include "value_random_tree.h"

static struct region *region;
static size_t at_start;

// Narrow shapes and the tables of names live as long as the region; these tests make them first.
static void warm(void)
{
    random_state = 7;
    for (int i = 0; i < 3000; i++)
        value_release(region, random_tree(region, 3));
    at_start = region->live;
}

static void set_up(void)
{
    region = region_new(SIZE_MAX);
}

static void tear_down(void)
{
    region_free(region);
}

TestSuite(value, .init = set_up, .fini = tear_down);

static const char *printed(value v)
{
    static struct buffer text = {.limit = BUFFER_DEFAULT_LIMIT};
    buffer_clear(&text);
    value_print(&text, v);
    return buffer_text(&text);
}

// --- strings -------------------------------------------------------------------------------------

Test(value, strings_are_counted_and_cut_by_cluster)
{
    static const struct {
        const char *text;
        size_t count;
        const char *middle;  // characters 1 … 3
    } cases[] = {
        {"", 0, ""},
        {"a", 1, ""},
        {"abcd", 4, "bc"},
        {"a\r\nb", 4, "\r\n"},
        {"é\r\n", 3, "\r\n"},
        {"e\xCC\x81x", 2, "x"},                                       // e and combining acute
        {"\xF0\x9F\x91\xA8\xE2\x80\x8D\xF0\x9F\x91\xA9z!", 3, "z!"},  // man, joiner, woman
        {"\xF0\x9F\x87\xA9\xF0\x9F\x87\xAA\xF0\x9F\x87\xAB\xF0\x9F\x87\xB7", 2,
         "\xF0\x9F\x87\xAB\xF0\x9F\x87\xB7"},  // two flags
        {"\xED\x95\x9C\xEA\xB8\x80", 2, "\xEA\xB8\x80"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        value s = value_string_text(region, cases[i].text);
        cr_assert_eq(string_count(s), cases[i].count, "%s", cases[i].text);
        value middle = string_slice(region, s, 1, 3);
        cr_assert(span_equal_text(value_text(middle), cases[i].middle), "%s", cases[i].text);
        value_release(region, middle);
    }
    cr_assert_eq(region->live, 0);
}

Test(value, slices_of_long_strings_share_memory)
{
    char text[4096];
    memset(text, 'x', sizeof(text));
    value s = value_string(region, (struct span){text, sizeof(text)});
    size_t before = region->live;
    value part = string_cut(region, value_retain(s), 100, 4000);
    cr_assert_lt(region->live, before + 64);
    value inner = string_cut(region, value_retain(part), 10, 3000);
    cr_assert_lt(region->live, before + 128);
    value_release(region, s);
    value_release(region, part);
    cr_assert_eq(value_text(inner).length, 2990);
    cr_assert_eq(value_text(inner).data[2989], 'x');
    value tiny = string_cut(region, inner, 5, 10);  // must not keep 4 KiB alive
    cr_assert_lt(region->live, 64);
    value_release(region, tiny);
    cr_assert_eq(region->live, 0);
}

Test(value, appending_to_the_only_owner_is_linear)
{
    value s = value_string_text(region, "ab");
    size_t moves = 0;
    const void *last = s.pointer;
    for (int i = 0; i < 100000; i++) {
        s = string_append(region, s, value_string_text(region, "cd"));
        moves += s.pointer != last;
        last = s.pointer;
    }
    cr_assert_eq(value_text(s).length, 200002);
    cr_assert_lt(moves, 60);
    value_release(region, s);
    cr_assert_eq(region->live, 0);
}

Test(value, appending_leaves_other_views_alone)
{
    value a = value_string_text(region, "abc");
    value b = string_append(region, value_retain(a), value_string_text(region, "1"));
    value c = string_append(region, value_retain(b), value_string_text(region, "2"));
    value d = string_append(region, value_retain(b), value_string_text(region, "3"));
    value e = string_append(region, value_retain(a), value_retain(a));
    cr_assert(span_equal_text(value_text(a), "abc"));
    cr_assert(span_equal_text(value_text(b), "abc1"));
    cr_assert(span_equal_text(value_text(c), "abc12"));
    cr_assert(span_equal_text(value_text(d), "abc13"));
    cr_assert(span_equal_text(value_text(e), "abcabc"));
    value all[] = {a, b, c, d, e};
    for (int i = 0; i < 5; i++)
        value_release(region, all[i]);
    cr_assert_eq(region->live, 0);
}

Test(value, appending_knows_simple_strings)
{
    value s =
        string_append(region, value_string_text(region, "a\n"), value_string_text(region, "b"));
    cr_assert(string_is_simple(s));
    s = string_append(region, s, value_string_text(region, "\r\n"));
    cr_assert(string_is_simple(s));
    s = string_append(region, s, value_string_text(region, "é"));
    cr_assert_not(string_is_simple(s));
    cr_assert_eq(string_count(s), 6);  // a, LF, b, CR, LF, é
    value_release(region, s);
}

Test(value, formatted_strings_are_valid)
{
    value s = value_string_format(region, "%d \xFF %s", 5, "é");
    cr_assert(span_equal_text(value_text(s), "5 \xEF\xBF\xBD é"));
    value_release(region, s);
    cr_assert_eq(region->live, 0);
}

Test(value, keywords_are_interned_and_freed)
{
    value a = value_keyword(region, SPAN("name"));
    size_t one = region->live;
    value b = value_keyword(region, SPAN("name"));
    cr_assert_eq(a.object, b.object);
    cr_assert_eq(region->live, one);
    value_release(region, a);
    value_release(region, b);
    cr_assert_lt(region->live, one);
    for (int i = 0; i < 1000; i++) {
        char name[16];
        snprintf(name, sizeof(name), "k%d", i);
        value_release(region, value_keyword(region, span_from(name)));
    }
    cr_assert_lt(region->live, one);
    struct region *other = region_new(SIZE_MAX);
    value here = value_keyword(region, SPAN("x")), there = value_keyword(other, SPAN("x"));
    cr_assert(value_identical(here, there));
    cr_assert_eq(value_hash(here), value_hash(there));
    region_free(other);
}

// --- vectors -------------------------------------------------------------------------------------

Test(value, vectors_with_one_owner_are_changed_in_place)
{
    value v = vector_new(region, 4);
    const void *object = v.pointer;
    for (int i = 0; i < 4; i++)
        v = vector_push(region, v, value_integer(i));
    v = vector_put(region, v, 2, value_string_text(region, "two and more"));
    cr_assert_eq(v.pointer, object);
    value shared = value_retain(v);
    value changed = vector_put(region, v, 0, value_nil());
    cr_assert_neq(changed.pointer, shared.pointer);
    cr_assert_str_eq(printed(shared), "[0 1 \"two and more\" 3]");
    cr_assert_str_eq(printed(changed), "[nil 1 \"two and more\" 3]");
    value_release(region, shared);
    value_release(region, changed);
    cr_assert_eq(region->live, 0);
}

Test(value, slices_cost_nothing_and_do_not_mix)
{
    value v = vector_new(region, 0);
    for (int i = 0; i < 1000; i++)
        v = vector_push(region, v, value_integer(i));
    size_t before = region->live;
    value front = vector_slice(region, value_retain(v), 0, 500);
    cr_assert_eq(region->live, before);
    value back = vector_slice(region, value_retain(v), 500, 1000);
    cr_assert_leq(region->live, before + 32);
    value inner = vector_slice(region, value_retain(back), 10, 20);
    front = vector_push(region, front, value_integer(-1));
    back = vector_push(region, back, value_integer(-2));
    cr_assert_eq(vector_at(v, 500).integer, 500);
    cr_assert_eq(vector_at(front, 500).integer, -1);
    cr_assert_eq(vector_at(back, 500).integer, -2);
    cr_assert_eq(vector_at(inner, 9).integer, 519);
    value_release(region, v);
    value_release(region, front);
    value_release(region, back);
    cr_assert_eq(vector_at(inner, 0).integer, 510);
    value_release(region, inner);
    cr_assert_eq(region->live, 0);
}

Test(value, a_shortened_vector_forgets_what_it_hides)
{
    value v = vector_push(region, vector_new(region, 0), value_string_text(region, "first one"));
    v = vector_push(region, v, value_string_text(region, "second one"));
    v = vector_slice(region, v, 0, 1);
    v = vector_push(region, v, value_integer(2));
    cr_assert_str_eq(printed(v), "[\"first one\" 2]");
    value_release(region, v);
    cr_assert_eq(region->live, 0);
}

Test(value, a_vector_can_hold_itself_without_a_cycle)
{
    value v = vector_push(region, vector_new(region, 8), value_integer(1));
    v = vector_push(region, v, value_retain(v));
    v = vector_push(region, v, value_retain(v));
    cr_assert_str_eq(printed(v), "[1 [1] [1 [1]]]");
    value_release(region, v);
    cr_assert_eq(region->live, 0);
}

// --- copies --------------------------------------------------------------------------------------

Test(value, copies_are_equal_and_independent)
{
    struct region *other = region_new(SIZE_MAX);
    for (int i = 0; i < 3000; i++) {
        value v = random_tree(region, 4);
        value copy = value_copy(other, v);
        cr_assert(value_identical(v, copy), "%s", printed(v));
        cr_assert_eq(value_hash(v), value_hash(copy));
        char *text = strdup(printed(v));
        value_release(region, v);
        cr_assert_str_eq(printed(copy), text);
        free(text);
        value_release(other, copy);
    }
    region_free(other);
}

Test(value, immortal_values_are_never_counted_or_changed)
{
    warm();
    for (int i = 0; i < 500; i++) {
        value v = random_tree(region, 4);
        value_make_immortal(v);
        value again = value_retain(v);
        char *text = strdup(printed(v));
        if (again.tag == VALUE_VECTOR) {
            again = vector_push(region, again, value_integer(99));
            if (vector_count(v))
                again = vector_put(region, again, 0, value_integer(98));
        }
        if (again.tag == VALUE_MAP)
            again = map_put(region, again, value_integer(99), value_integer(1));
        if (again.tag == VALUE_SET)
            again = set_add(region, again, value_integer(999));
        cr_assert_str_eq(printed(v), text);
        value_release(region, again);
        value_release(region, v);
        value_release(region, v);
        cr_assert_str_eq(printed(v), text);
        free(text);
    }
}

Test(value, releasing_gives_everything_back)
{
    warm();
    value trees[64];
    for (int round = 0; round < 50; round++) {
        random_state = 7;  // the same names as in warm()
        for (int i = 0; i < 64; i++)
            trees[i] = random_tree(region, 3);
        for (int i = 0; i < 64; i++)
            value_release(region, trees[i]);
        cr_assert_eq(region->live, at_start);
    }
}

// --- deep nesting --------------------------------------------------------------------------------

enum { DEEP = 200000 };  // more than any C stack could take

static value deep_value(int kind)
{
    value v = value_integer(1);
    for (int i = 0; i < DEEP; i++) {
        value outer;
        if (kind == 0)
            outer = vector_push(region, vector_new(region, 1), v);
        else if (kind == 1)
            outer = map_put(region, map_new(region), value_integer(1), v);
        else if (kind == 2)
            outer = set_add(region, set_new(region), v);
        else if (kind == 3)
            outer = map_put(region, map_new(region), v, value_nil());
        else
            outer = map_put_text(region, map_new(region), "a", v);
        v = outer;
    }
    return v;
}

static void check_deep(int kind)
{
    value a = deep_value(kind), b = value_copy(region, a);
    cr_assert(value_identical(a, b));
    cr_assert(value_equal(a, b));
    cr_assert_eq(value_hash(a), value_hash(b));
    cr_assert_eq(value_compare_keys(a, b), 0);
    cr_assert_eq(value_compare(a, b), kind == 0 ? VALUE_SAME : VALUE_INCOMPARABLE);
    CLEANUP_BUFFER struct buffer text = {.limit = BUFFER_DEFAULT_LIMIT};
    value_print(&text, a);
    cr_assert_gt(text.length, DEEP);
    value_make_immortal(b);
    value_release(region, a);
}

Test(value, deep_vectors_do_not_recurse)
{
    check_deep(0);
}
Test(value, deep_maps_do_not_recurse)
{
    check_deep(1);
}
Test(value, deep_sets_do_not_recurse)
{
    check_deep(2);
}
Test(value, deep_keys_do_not_recurse)
{
    check_deep(3);
}
Test(value, deep_records_do_not_recurse)
{
    check_deep(4);
}

// Two entries on every level, whose keys must be put in order by comparing deep keys.
Test(value, deep_keys_with_neighbours_do_not_recurse)
{
    value v = value_integer(1);
    for (int i = 0; i < 20000; i++) {
        value outer = set_add(region, set_new(region), v);
        v = set_add(region, outer, value_integer(i));
    }
    value other = value_copy(region, v);
    fuel.region = region;
    cr_assert_eq(value_compare_keys(v, other), 0);
    cr_assert(value_identical(v, other));
    fuel = (struct fuel){0};
}

// --- fuel and failing allocations ----------------------------------------------------------------

static jmp_buf escape;

static void stop(void *data)
{
    (void)data;
    longjmp(escape, 1);
}

static void exhausted(void *data, size_t size)
{
    (void)data;
    (void)size;
    longjmp(escape, 2);
}

// What the sweeps run: building, comparing, sorting, printing, copying, taking apart.
static void exercise(void)
{
    random_state = 11;
    for (int i = 0; i < 6; i++) {
        value a = random_tree(region, 3), b = value_copy(region, a);
        value_equal(a, b);
        value_hash(a);
        value_compare_keys(a, b);
        value text = value_printed(region, a);
        text = string_append(region, text, value_string_text(region, " and more of it"));
        value_release(region, text);
        value pair = vector_push(region, vector_push(region, vector_new(region, 1), a), b);
        value set = set_add(region, set_new(region), value_retain(pair));
        set = set_add(region, set, pair);
        for (int k = 0; k < 40; k++)
            set = set_add(region, set, value_integer(k));
        value sorted = set_sorted(region, set);
        value_release(region, sorted);
        value shared = value_retain(set);
        for (int k = 0; k < 40; k++)
            set = set_remove(region, set, value_integer(k));
        value_release(region, set);
        value_release(region, shared);
        value big = integer_shift_left(region, value_integer(3), 5000);
        value product = integer_multiply(region, value_retain(big), big);
        value_release(region, value_printed(region, product));
        value_release(region, product);
    }
}

Test(value, running_out_of_memory_at_any_allocation_is_clean)
{
    region_on_exhausted(region, exhausted, NULL);
    volatile size_t n = 1;
    for (;; n++) {
        region_clear(region);
        fuel = (struct fuel){.region = region};
        region_fail_nth(region, n);
        if (setjmp(escape) == 0) {
            exercise();
            break;
        }
    }
    region_fail_nth(region, 0);
    fuel = (struct fuel){0};
    cr_assert_gt(n, 100);
}

Test(value, fuel_can_end_at_any_point)
{
    volatile int64_t portion = 0;
    for (;; portion += 3) {
        region_clear(region);
        fuel = (struct fuel){.left = portion, .handler = stop, .region = region};
        if (setjmp(escape) == 0) {
            exercise();
            break;
        }
    }
    fuel = (struct fuel){0};
    cr_assert_gt(portion, 300);
}

Test(value, a_memory_limit_is_never_exceeded)
{
    region_on_exhausted(region, exhausted, NULL);
    for (volatile size_t limit = 0;; limit += 256) {
        region_clear(region);
        region_set_limit(region, limit);
        fuel = (struct fuel){.region = region};
        int left = setjmp(escape);
        if (left == 0)
            exercise();
        cr_assert_leq(region->peak, limit);
        if (left == 0)
            break;
    }
    fuel = (struct fuel){0};
}
