// JSON: what is read, what is refused and where, what is written, and the way there and back.
#include <criterion/criterion.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "value/collection/shape.h"
#include "value/fuel.h"
#include "value/text/json.h"
#include "value/text/print.h"
#include "value_random_tree.h"

#include "text_support.h"  // last: its region would shadow parameters of the others

TestSuite(json, .init = set_up, .fini = tear_down);

// --- reading -------------------------------------------------------------------------------------

Test(json, values_are_read)
{
    static const struct {
        const char *text;
        const char *printed;
    } cases[] = {
        {"null", "nil"},
        {" true ", "true"},
        {"\tfalse\r\n", "false"},
        {"0", "0"},
        {"-0", "0"},
        {"-0.0", "-0.0"},
        {"7", "7"},
        {"-12", "-12"},
        {"1e2", "100.0"},
        {"1E+2", "100.0"},
        {"1.5", "1.5"},
        {"12.50e-1", "1.25"},
        {"999999999999999999", "999999999999999999"},
        {"9223372036854775807", "9223372036854775807"},
        {"-9223372036854775808", "-9223372036854775808"},
        {"9223372036854775808", "9223372036854775808"},
        {"123456789012345678901234567890", "123456789012345678901234567890"},
        {"0.30000000000000004", "0.30000000000000004"},
        {"1234567890.12345678", "1234567890.1234567"},
        {"\"\"", "\"\""},
        {"\"a\"", "\"a\""},
        {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\\"\\\\/\b\f\\n\\r\\t\""},
        {"\"\\u0041\\u00e9\\u20ac\\ud83d\\ude00\"", "\"Aé€😀\""},
        {"\"\\ud83d\"", "\"\xEF\xBF\xBD\""},
        {"\"\\ude00x\"", "\"\xEF\xBF\xBDx\""},
        {"\"\\ud83d\\u0041\"", "\"\xEF\xBF\xBD"
                               "A\""},
        {"\"é€😀\"", "\"é€😀\""},
        {"\"\x7f\"", "\"\x7f\""},
        {"[]", "[]"},
        {"[ ]", "[]"},
        {"[1,[2,[3]],4]", "[1 [2 [3]] 4]"},
        {"{}", "{}"},
        {"{ }", "{}"},
        {"{\"b\":1,\"a\":[{}]}", "{\"a\" [{}] \"b\" 1}"},
        {"{\"\":1}", "{\"\" 1}"},
        {"{\"a\":1,\"a\":2}", "{\"a\" 2}"},
        {"{\"a\":1,\"b\":2,\"a\":{}}", "{\"a\" {} \"b\" 2}"},
        {"{\"a\\u0062\":1,\"ab\":2}", "{\"ab\" 2}"},
        {"{\"x\\\"y\":1}", "{\"x\\\"y\" 1}"},
        {"[{\"a\\\\\":1},{\"a\\\\\":2}]", "[{\"a\\\\\" 1} {\"a\\\\\" 2}]"},
        {"[{\"a\":1,\"longer name\":2},{\"a\":3,\"longer name\":4}]",
         "[{\"a\" 1 \"longer name\" 2} {\"a\" 3 \"longer name\" 4}]"},
        {"[{\"longer nam\":1},{\"longer name\":2},{\"longer nam\":3}]",
         "[{\"longer nam\" 1} {\"longer name\" 2} {\"longer nam\" 3}]"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        for (int round = 0; round < 2; round++) {  // the second time with predictions
            cr_assert_str_eq(printed(read(cases[i].text)), cases[i].printed);
            struct json_options options = {.borrow = true, .immortal = true};
            cr_assert_str_eq(printed(read_with(cases[i].text, &options)), cases[i].printed);
        }
    }
}

Test(json, errors_have_a_position)
{
    static const struct {
        const char *text;
        enum error_code code;
        unsigned line;
        unsigned column;
    } cases[] = {
        {"", ERROR_SYNTAX, 1, 1},
        {"   ", ERROR_SYNTAX, 1, 4},
        {"nul", ERROR_SYNTAX, 1, 1},
        {"True", ERROR_SYNTAX, 1, 1},
        {"01", ERROR_SYNTAX, 1, 1},
        {"-", ERROR_SYNTAX, 1, 2},
        {"+1", ERROR_SYNTAX, 1, 1},
        {".5", ERROR_SYNTAX, 1, 1},
        {"1.", ERROR_SYNTAX, 1, 3},
        {"1.e5", ERROR_SYNTAX, 1, 3},
        {"1e", ERROR_SYNTAX, 1, 3},
        {"1e+", ERROR_SYNTAX, 1, 4},
        {"-01", ERROR_SYNTAX, 1, 2},
        {"1 2", ERROR_SYNTAX, 1, 3},
        {"[1,]", ERROR_SYNTAX, 1, 4},
        {"[1 2]", ERROR_SYNTAX, 1, 4},
        {"[", ERROR_SYNTAX, 1, 2},
        {"[1", ERROR_SYNTAX, 1, 3},
        {"]", ERROR_SYNTAX, 1, 1},
        {"[}", ERROR_SYNTAX, 1, 2},
        {"{]", ERROR_SYNTAX, 1, 2},
        {"{\"a\"}", ERROR_SYNTAX, 1, 5},
        {"{\"a\":}", ERROR_SYNTAX, 1, 6},
        {"{\"a\":1,}", ERROR_SYNTAX, 1, 8},
        {"{a:1}", ERROR_SYNTAX, 1, 2},
        {"{1:1}", ERROR_SYNTAX, 1, 2},
        {"{\"a\":1 \"b\":2}", ERROR_SYNTAX, 1, 8},
        {"\"abc", ERROR_SYNTAX, 1, 5},
        {"\"a\nb\"", ERROR_SYNTAX, 1, 3},
        {"\"\\x\"", ERROR_SYNTAX, 1, 2},
        {"\"\\u12g4\"", ERROR_SYNTAX, 1, 2},
        {"\"\\u123\"", ERROR_SYNTAX, 1, 2},
        {"\"\\", ERROR_SYNTAX, 1, 2},
        {"'a'", ERROR_SYNTAX, 1, 1},
        {"NaN", ERROR_SYNTAX, 1, 1},
        {"[1,\n 2,\n  x]", ERROR_SYNTAX, 3, 3},
        {"[\"é€😀\", x]", ERROR_SYNTAX, 1, 9},
        {"\"\xC0\x80\"", ERROR_ENCODING, 1, 2},
        {"\"a\xED\xA0\x80\"", ERROR_ENCODING, 1, 3},
        {"\"\xF4\x90\x80\x80\"", ERROR_ENCODING, 1, 2},
        {"\"\xE2\x82\"", ERROR_ENCODING, 1, 2},
        {"\"\xEF"
         "9\"",
         ERROR_ENCODING, 1, 2},
        {"\"\xEF\xBF\"", ERROR_ENCODING, 1, 2},
        {"1e400", ERROR_LIMIT, 1, 1},
        {"\xEF\xBB\xBF 1", ERROR_SYNTAX, 1, 1},
        {"/**/1", ERROR_SYNTAX, 1, 1},
        {"[1]]", ERROR_SYNTAX, 1, 4},
        {"\v1", ERROR_SYNTAX, 1, 1},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        value v;
        struct error error = {0};
        cr_assert_not(json_read(region, span_from(cases[i].text), NULL, &v, &error), "%s",
                      cases[i].text);
        cr_assert_eq(error.code, cases[i].code, "%s: %s", cases[i].text, error.message);
        cr_assert_eq(error.line, cases[i].line, "%s: line %u", cases[i].text, error.line);
        cr_assert_eq(error.column, cases[i].column, "%s: column %u", cases[i].text, error.column);
    }
}

Test(json, an_error_releases_what_was_read)
{
    value v;
    struct error error;
    static const char *const texts[] = {
        "[\"some long string\",[123456789012345678901234567890,[\"another string\"]],x",
        "{\"first name\":\"some long string\",\"second\":{\"first name\":[\"a long one\"]},}",
        "[\"complete but followed\"] 1",
    };
    for (size_t i = 0; i < 3; i++) {
        json_read(region, span_from(texts[i]), NULL, &v, &error);  // makes the shapes
        size_t before = region->live;
        cr_assert_not(json_read(region, span_from(texts[i]), NULL, &v, &error));
        cr_assert_eq(region->live, before);
    }
}

Test(json, duplicate_names_can_be_refused)
{
    struct json_options options = {.reject_duplicate_names = true};
    value v;
    struct error error;
    cr_assert_not(json_read(region, SPAN("{\"a\":1,\"b\":2,\"a\":3}"), &options, &v, &error));
    cr_assert_eq(error.code, ERROR_INVALID);
    cr_assert_eq(error.column, 14);
    cr_assert(json_read(region, SPAN("[{\"a\":1},{\"a\":1}]"), &options, &v, &error));
    CLEANUP_BUFFER struct buffer text = {.limit = BUFFER_DEFAULT_LIMIT};
    for (int i = 0; i < 60; i++)
        buffer_append_format(&text, "%s\"n%d\":%d", i ? "," : "{", i % 59, i);
    buffer_append_byte(&text, '}');
    cr_assert_not(json_read(region, buffer_span(&text), &options, &v, &error));
    cr_assert(json_read(region, buffer_span(&text), NULL, &v, &error));
    cr_assert_eq(map_count(v), 59);
    cr_assert_eq(map_get(v, "n0").integer, 59);
}

Test(json, depth_is_limited_and_needs_no_stack)
{
    enum { DEPTH = 300000 };
    char *text = malloc(DEPTH * 2 + 1);
    memset(text, '[', DEPTH);
    memset(text + DEPTH, ']', DEPTH);
    text[2 * DEPTH] = '\0';
    value v;
    struct error error;
    cr_assert_not(json_read(region, span_from(text), NULL, &v, &error));
    cr_assert_eq(error.code, ERROR_LIMIT);
    cr_assert_eq(error.column, 129);
    struct json_options options = {.max_depth = DEPTH};
    v = read_with(text, &options);
    cr_assert_str_eq(written(v, 0), text);
    value_release(region, v);
    cr_assert_eq(region->live, 0);
    free(text);
}

Test(json, wide_objects_keep_their_order)
{
    CLEANUP_BUFFER struct buffer text = {.limit = BUFFER_DEFAULT_LIMIT};
    for (int i = 0; i < 5000; i++)
        buffer_append_format(&text, "%s\"n%d\":%d", i ? "," : "{", (i * 7919) % 5000, i);
    buffer_append_byte(&text, '}');
    value v = read(buffer_text(&text));
    cr_assert_eq(map_count(v), 5000);
    cr_assert_str_eq(written(v, 0), buffer_text(&text));
    cr_assert_eq(map_get(v, "n4999").tag, VALUE_INTEGER);
    value copy = value_copy(region, v);
    cr_assert(value_identical(v, copy));
    v = map_put_text(region, v, "more", value_nil());
    cr_assert_eq(map_count(v), 5001);
    v = map_remove(region, v, value_string_text(region, "more"));
    cr_assert(value_identical(v, copy));
    size_t shapes = region->live;
    value_release(region, v);
    value_release(region, copy);
    cr_assert_lt(region->live, shapes / 20);
}

Test(json, records_in_arrays_share_their_shape)
{
    value v = read("[{\"id\":1,\"in\":{\"x\":1,\"y\":2}},{\"id\":2,\"in\":{\"x\":3,\"y\":4}}]");
    cr_assert_eq(map_shape(vector_at(v, 0)), map_shape(vector_at(v, 1)));
    cr_assert_eq(map_shape(map_get(vector_at(v, 0), "in")),
                 map_shape(map_get(vector_at(v, 1), "in")));
}

Test(json, wide_records_in_arrays_share_their_shape)
{
    CLEANUP_BUFFER struct buffer text = {.limit = BUFFER_DEFAULT_LIMIT};
    for (int record = 0; record < 4; record++) {
        for (int i = 0; i < 40; i++)
            buffer_append_format(&text, "%s\"n%d%s\":%d",
                                 i        ? ","
                                 : record ? ",{"
                                          : "[{",
                                 i, record == 2 ? "x" : "", i + record);
        buffer_append_byte(&text, '}');
    }
    buffer_append_byte(&text, ']');
    struct json_options options = {0};
    for (int round = 0; round < 3; round++, options.immortal = true) {
        value v = read_with(buffer_text(&text), &options);
        const struct shape *shape = map_shape(vector_at(v, 0));
        cr_assert_not_null(shape);
        cr_assert_eq(map_shape(vector_at(v, 1)), shape);
        cr_assert_neq(map_shape(vector_at(v, 2)), shape);
        cr_assert_eq(map_get(vector_at(v, 3), "n39").integer, 42);
        cr_assert_str_eq(written(v, 0), buffer_text(&text));
        value_release(region, v);
    }
}

Test(json, immortal_values_are_not_counted)
{
    struct json_options options = {.immortal = true};
    value v = read_with("[{\"name\":\"a long string\",\"n\":123456789012345678901234567890},[[1]]]",
                        &options);
    size_t live = region->live;
    struct region *other = region_new(SIZE_MAX);
    value record = vector_at(v, 0);
    value changed = map_put_text(other, value_retain(record), "n", value_integer(1));
    changed = map_put_text(other, changed, "more", value_retain(vector_at(v, 1)));
    cr_assert_str_eq(written(changed, 0), "{\"name\":\"a long string\",\"n\":1,\"more\":[[1]]}");
    value_release(other, changed);
    value_release(other, v);
    cr_assert_eq(region->live, live);
    cr_assert_str_eq(written(vector_at(v, 1), 0), "[[1]]");
    region_free(other);
}

// --- writing -------------------------------------------------------------------------------------

Test(json, values_without_json_form_follow_the_table)
{
    value map = map_new(region);
    map = map_put(region, map, value_keyword(region, SPAN("a")), value_integer(1));
    map = map_put(region, map, value_string_text(region, "a"), value_integer(2));
    map = map_put(region, map, value_integer(7), value_keyword(region, SPAN("k")));
    map = map_put(region, map, value_string_text(region, "7"), value_nil());
    map = map_put(region, map, value_nil(), value_float(NAN));
    map = map_put(
        region, map, value_string_text(region, "s"),
        set_add(region, set_add(region, set_new(region), value_integer(2)), value_integer(1)));
    map = map_put(region, map, value_string_text(region, "v"), value_symbol(region, SPAN("x")));
    CLEANUP_BUFFER struct buffer text = {.limit = BUFFER_DEFAULT_LIMIT};
    size_t dropped;
    json_write(&text, map, 0, &dropped);
    cr_assert_str_eq(buffer_text(&text),
                     "{\"nil\":\"##NaN\",\"7\":\"k\",\"a\":1,\"s\":[1,2],\"v\":\"'x\"}");
    cr_assert_eq(dropped, 2);
    cr_assert_str_eq(written(map, JSON_SORTED),
                     "{\"7\":\"k\",\"a\":1,\"nil\":\"##NaN\",\"s\":[1,2],\"v\":\"'x\"}");
}

Test(json, writing_escapes_and_indents)
{
    value v = read("{\"b\":[1,{}],\"a\":\"\\u0000\\u001f\\u007f\\\"\\\\\\n é\"}");
    cr_assert_str_eq(written(v, 0), "{\"b\":[1,{}],\"a\":\"\\u0000\\u001f\\u007f\\\"\\\\\\n é\"}");
    cr_assert_str_eq(written(v, JSON_SORTED),
                     "{\"a\":\"\\u0000\\u001f\\u007f\\\"\\\\\\n é\",\"b\":[1,{}]}");
    v = read("{\"b\":[1,{},[]],\"a\":{\"c\":null}}");
    cr_assert_str_eq(written(v, JSON_PRETTY), "{\n  \"b\": [\n    1,\n    {},\n    []\n  ],\n"
                                              "  \"a\": {\n    \"c\": null\n  }\n}");
    CLEANUP_BUFFER struct buffer text = {.limit = BUFFER_DEFAULT_LIMIT};
    json_write_string(&text, SPAN("a\xFF\"\xE2\x82 \xED\xA0\x80z"));
    cr_assert_str_eq(buffer_text(&text),
                     "\"a\xEF\xBF\xBD\\\"\xEF\xBF\xBD \xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBDz\"");
}

Test(json, a_full_buffer_is_seen)
{
    for (size_t limit = 0; limit < 20; limit++) {
        CLEANUP_BUFFER struct buffer text = {.limit = limit};
        json_write(&text, read("[1,2,\"abc\",true]"), 0, NULL);
        cr_assert_eq(text.failed, limit < 16);
        cr_assert_leq(text.length, limit);
    }
}

Test(json, generate_string_refuses_what_has_no_form)
{
    value text;
    struct error error;
    value map = read("{\"b\":1,\"a\":[1.0,null,\"é\"]}");
    map = map_put(region, map, value_integer(5), value_boolean(true));
    map = map_put(region, map, value_keyword(region, SPAN("k")), value_integer(0));
    cr_assert(json_generate(region, map, &text, &error));
    cr_assert(
        span_equal_text(value_text(text), "{\"5\":true,\"a\":[1.0,null,\"é\"],\"b\":1,\"k\":0}"));
    value refused[] = {
        value_keyword(region, SPAN("k")),
        set_new(region),
        value_float(NAN),
        value_float(INFINITY),
        value_symbol(region, SPAN("s")),
        map_put(region, map_new(region), value_float(1.5), value_nil()),
        map_put(region, map_new(region), value_nil(), value_nil()),
        map_put(region, map_put_text(region, map_new(region), "a", value_nil()),
                value_keyword(region, SPAN("a")), value_nil()),
        map_put(region, map_put_text(region, map_new(region), "5", value_nil()), value_integer(5),
                value_nil()),
    };
    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        value inside = vector_push(region, vector_new(region, 1), refused[i]);
        cr_assert_not(json_generate(region, inside, &text, &error), "%s", printed(inside));
        cr_assert_eq(error.code, ERROR_INVALID);
    }
}

// --- there and back ------------------------------------------------------------------------------

static value random_json(unsigned depth)
{
    size_t kind = random_below(depth ? 10 : 6), count;
    value v;
    switch (kind) {
    case 0: return value_nil();
    case 1: return value_boolean(random_below(2));
    case 2: return value_integer((int64_t)(random_u64() >> random_below(64)));
    case 3: return value_float(random_bits_double());
    case 4:
        return integer_shift_left(region, value_integer((int64_t)random_u64()), random_below(100));
    case 5: {
        char text[24];
        size_t length = random_below(20);
        for (size_t i = 0; i < length; i++)
            text[i] = (char)random_below(128);
        return value_string(region, (struct span){text, length});
    }
    case 6:
    case 7:
        v = vector_new(region, 0);
        for (count = random_below(6); count > 0; count--)
            v = vector_push(region, v, random_json(depth - 1));
        return v;
    default:
        v = map_new(region);
        for (count = random_below(random_below(20) ? 6 : 80); count > 0; count--) {
            char name[16];
            snprintf(name, sizeof(name), "n%zu", random_below(100));
            v = map_put_text(region, v, name, random_json(depth - 1));
        }
        return v;
    }
}

Test(json, every_value_makes_the_round_trip)
{
    for (int i = 0; i < 3000; i++) {
        value v = random_json(4);
        for (unsigned flags = 0; flags < 4; flags++) {
            char *text = strdup(written(v, flags));
            value again = read(text);
            cr_assert(value_identical(v, again), "%s", text);
            cr_assert_str_eq(written(again, flags | JSON_SORTED), written(v, flags | JSON_SORTED));
            value_release(region, again);
            free(text);
        }
        value_release(region, v);
    }
}

// --- limits --------------------------------------------------------------------------------------

static const char *const RICH =
    "[{\"id\":1,\"name\":\"a long enough string\",\"big\":123456789012345678901234567890,"
    "\"in\":{\"x\":[1,2,3,[4,5]],\"escaped\":\"line\\nline and more\"}},"
    "{\"id\":2,\"name\":\"another string\",\"extra\":null},{\"id\":3,\"id\":4}]";

// Reads with the n-th allocation failing, for all n, then once more in what is left of the region.
static void sweep(const char *text, size_t least)
{
    region_clear(region);
    char *expected = strdup(written(read(text), 0));
    size_t n = 1;
    for (;; n++) {
        region_clear(region);
        region_fail_nth(region, n);
        value v;
        struct error error = {0};
        if (json_read(region, span_from(text), NULL, &v, &error)) {
            cr_assert_str_eq(written(v, 0), expected);
            break;
        }
        cr_assert_eq(error.code, ERROR_MEMORY);
        v = read(text);
        cr_assert_str_eq(written(v, 0), expected);
        value_release(region, v);
    }
    region_fail_nth(region, 0);
    cr_assert_gt(n, least);
    free(expected);
}

Test(json, a_full_region_is_an_error_at_any_allocation)
{
    sweep(RICH, 20);
    CLEANUP_BUFFER struct buffer text = {.limit = BUFFER_DEFAULT_LIMIT};
    for (int record = 0; record < 3; record++) {
        for (int i = 0; i < 40; i++)
            buffer_append_format(&text, "%s\"name %d\":\"item %d\"",
                                 i        ? ","
                                 : record ? ",{"
                                          : "[{",
                                 record == 2 ? i % 39 : i, i);
        buffer_append_byte(&text, '}');
    }
    buffer_append_byte(&text, ']');
    sweep(buffer_text(&text), 100);
    for (size_t limit = 0; limit < 4000; limit += 16) {
        region_clear(region);
        region_set_limit(region, limit);
        value v;
        struct error error = {0};
        if (!json_read(region, span_from(RICH), NULL, &v, &error))
            cr_assert_eq(error.code, ERROR_MEMORY);
        cr_assert_leq(region->peak, limit);
    }
}

static jmp_buf escape;

static void stop(void *data)
{
    (void)data;
    longjmp(escape, 1);
}

static _Noreturn void outer_exhausted(void *data, size_t size)
{
    (void)size;
    *(bool *)data = true;
    longjmp(escape, 2);
}

// A handler that jumps out of the reader must find the region as it was before.
Test(json, fuel_that_ends_leaves_the_outer_handlers_in_place)
{
    CLEANUP_BUFFER struct buffer text = {.limit = BUFFER_DEFAULT_LIMIT};
    buffer_append_byte(&text, '[');
    for (int i = 0; i < 100000; i++)
        buffer_append_text(&text, "1,");
    buffer_append_text(&text, "1]");
    bool called = false;
    region_on_exhausted(region, outer_exhausted, &called);
    fuel = (struct fuel){.left = 5000, .handler = stop};
    value v;
    struct error error;
    if (setjmp(escape) == 0) {
        json_read(region, buffer_span(&text), NULL, &v, &error);
        cr_assert_fail("the fuel did not end");
    }
    cr_assert_eq(fuel.handler, stop);
    fuel = (struct fuel){0};
    region_clear(region);
    region_set_limit(region, 0);
    if (setjmp(escape) == 0)
        value_string_text(region, "too much");
    cr_assert(called);
}
