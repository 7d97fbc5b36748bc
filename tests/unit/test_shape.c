// Shapes that regions share: what is learned, what is not, and that it changes no value.
#include <criterion/criterion.h>
#include <setjmp.h>
#include <stdio.h>

#include "base/array.h"
#include "base/buffer.h"
#include "value/collection/shape.h"
#include "value/text/json.h"
#include "value/text/print.h"
#include "value_random.h"

#include "text_support.h"  // last: its region would shadow parameters of the others

TestSuite(shape, .init = set_up, .fini = tear_down);

static value read_message(struct region *shared, const char *text)
{
    region_clear(region);
    shapes_share(region, shared);
    return read(text);
}

Test(shape, regions_share_what_they_learn)
{
    static const char *const texts[] = {
        "{\"id\":1,\"method\":\"a\",\"params\":{\"name\":\"x\",\"arguments\":{\"code\":[{\"n\":1}]}"
        "}}",
        "{\"id\":2,\"params\":{\"arguments\":{\"other\":true}},\"method\":\"b\"}",
        // A name too long to be shared, and what follows it.
        "{\"id\":3,\"a name of more than sixty-four bytes, which is for this one message alone\":{"
        "\"inner\":1},\"params\":{\"name\":\"y\"}}",
    };
    enum { TEXTS = COUNT_OF(texts) };
    struct region *shared = region_new(SIZE_MAX);
    const struct shape *shapes[TEXTS] = {0};
    size_t live = 0;
    for (size_t i = 0; i < (size_t)4 * TEXTS; i++) {
        value v = read_message(shared, texts[i % TEXTS]);
        cr_assert_str_eq(written(v, 0), texts[i % TEXTS]);
        cr_assert_eq(map_get(v, "id").integer, (int64_t)(i % TEXTS) + 1);
        bool is_known = i >= TEXTS;
        if (is_known && i % TEXTS < 2)
            cr_assert_eq(map_shape(v), shapes[i % TEXTS]);
        shapes[i % TEXTS] = map_shape(v);
        if (is_known)
            cr_assert_eq(shared->live, live, "text %zu", i % TEXTS);
        live = shared->live;
    }
    region_clear(region);
    region_free(shared);
}

Test(shape, maps_of_sharing_regions_are_like_others)
{
    struct region *shared = region_new(SIZE_MAX);
    shapes_share(region, shared);
    value map = map_new(region);
    map = map_put(region, map, value_keyword(region, SPAN("key")), value_integer(1));
    map = map_put_text(region, map, "key", value_integer(2));
    cr_assert_str_eq(printed(map), "{:key 1 \"key\" 2}");
    map = map_put_text(region, map, "key", value_integer(3));
    struct region *other = region_new(SIZE_MAX);
    value copy = value_copy(other, map);
    value_release(region, map);
    region_clear(region);
    region_free(shared);
    cr_assert_str_eq(printed(copy), "{:key 1 \"key\" 3}");
    region_free(other);
}

// Keys that fit and do not, names that come again, more keys than a narrow shape has.
static void append_message(struct buffer *text)
{
    static const char *const names[] = {
        "a",
        "b",
        "id",
        "params",
        "\\u0061\\n",
        "\xC3\xA9",
        "",
        "sixty-four bytes, no more and no less, make the longest name 1234",
        "sixty-five bytes, and so one more than that, make a longer name 12"};
    buffer_clear(text);
    size_t depth = 1 + random_below(3);
    for (size_t level = 0; level < depth; level++) {
        size_t count = random_below(4) ? random_below(8) : 28 + random_below(10);
        buffer_append_byte(text, '{');
        for (size_t i = 0; i < count; i++) {
            buffer_append_format(text, "\"%s", names[random_below(COUNT_OF(names))]);
            if (random_below(4))
                buffer_append_format(text, "%u", (unsigned)random_below(count > 8 ? 64 : 3));
            buffer_append_format(text, "\":[%zu],", i);
        }
        buffer_append_text(text, "\"in\":");
    }
    buffer_append_text(text, "null");
    while (depth--)
        buffer_append_byte(text, '}');
}

Test(shape, sharing_changes_no_value)
{
    CLEANUP_BUFFER struct buffer text = {.limit = BUFFER_DEFAULT_LIMIT};
    struct region *shared = region_new(SIZE_MAX), *alone = region_new(SIZE_MAX);
    struct region *copies = region_new(SIZE_MAX);
    for (int i = 0; i < 3000; i++) {
        append_message(&text);
        struct json_options options = {.borrow = i & 1, .immortal = i & 2};
        region_clear(region);
        shapes_share(region, shared);
        value v = read_with(buffer_text(&text), &options), expected;
        region_clear(alone);
        cr_assert(json_read(alone, buffer_span(&text), NULL, &expected, NULL));
        cr_assert(value_identical(v, expected), "%s", buffer_text(&text));
        region_clear(copies);
        shapes_share(copies, shared);
        value copy = value_copy(copies, expected);
        cr_assert(value_identical(copy, v));
        copy = map_put(copies, copy, value_keyword(copies, SPAN("in")), value_integer(i));
        copy = map_remove(copies, copy, value_string_text(copies, "in"));
        cr_assert_eq(map_count(copy), map_count(v));
    }
    region_free(copies);
    region_free(alone);
    region_clear(region);
    region_free(shared);
}

Test(shape, sharing_survives_a_lack_of_memory)
{
    static const char text[] =
        "{\"id\":1,\"params\":{\"name\":\"a\",\"list\":[{\"x\":1,\"y\":[]}]}}";
    struct region *shared = region_new(SIZE_MAX);
    bool ok = false;
    for (size_t n = 1; !ok; n++) {
        struct error error = {0};
        value v;
        region_clear(region);
        shapes_share(region, n % 2 ? shared : NULL);
        region_fail_nth(region, n);
        ok = json_read(region, span_from(text), NULL, &v, &error);
        cr_assert(ok || error.code == ERROR_MEMORY);
        region_fail_nth(region, 0);
        cr_assert_str_eq(written(read_message(shared, text), 0), text);
    }
    region_clear(region);
    region_free(shared);
}

Test(shape, immortal_maps_are_changed_where_others_share)
{
    struct region *first = region_new(SIZE_MAX), *second = region_new(SIZE_MAX);
    struct region *other = region_new(SIZE_MAX);
    shapes_share(region, first);
    shapes_share(other, second);
    value v = read_with("{\"id\":1}", &(struct json_options){.immortal = true});
    size_t learned = second->live;
    value changed = map_put_text(other, value_retain(v), "more", value_integer(2));
    cr_assert_str_eq(written(changed, 0), "{\"id\":1,\"more\":2}");
    cr_assert_eq(second->live, learned, "a shape that outlives the one it came from");
    cr_assert_null(map_shape(changed)->shared);
    region_clear(region);
    region_free(first);
    region_free(other);
    region_free(second);
}

Test(shape, what_is_shared_has_an_end)
{
    struct region *shared = region_new(SIZE_MAX);
    char text[64];
    for (int i = 0; i < 5000; i++) {
        snprintf(text, sizeof(text), "{\"n%d\":{\"m%d\":%d,\"x\":[]}}", i, i, i);
        cr_assert_str_eq(written(read_message(shared, text), 0), text);
    }
    cr_assert_lt(shared->live, (size_t)2 << 20);
    region_clear(region);
    region_free(shared);
}
