// Checking values against signatures: lines, coercions, modes.
#include <setjmp.h>

#include "base/array.h"
#include "signature_support.h"

enum which { INPUTS, OUTPUT };

struct check_case {
    const char *signature;
    enum which which;
    enum signature_mode mode;
    const char *value;
    const char *result;    // JSON; NULL = the value itself
    const char *errors;    // JSON array; NULL = none
    const char *warnings;  // JSON array; NULL = none
};

static void run_case(const struct check_case *c)
{
    struct signature_test test = signature_test_start();
    const struct signature *signature = parse(&test, c->signature);
    value v = read_value(test.region, c->value);
    struct signature_check check = c->which == INPUTS
                                       ? signature_check_inputs(signature, c->mode, test.region, v)
                                       : signature_check_output(signature, c->mode, test.region, v);
    value expected = read_value(test.region, c->result ? c->result : c->value);
    cr_expect(value_identical(check.result, expected), "%s over %s: result %s", c->signature,
              c->value, json_text(check.result));
    cr_expect_str_eq(json_text(check.errors), c->errors ? c->errors : "[]");
    cr_expect_str_eq(json_text(check.warnings), c->warnings ? c->warnings : "[]");
    signature_test_end(&test);
}

#define RUN(...)                                                \
    do {                                                        \
        static const struct check_case table[] = {__VA_ARGS__}; \
        for (size_t i = 0; i < COUNT_OF(table); i++)            \
            run_case(&table[i]);                                \
    } while (0)

Test(signature_check, coerces_inputs)
{
    RUN({"(x :string) -> :any", INPUTS, 0, "{\":x\":\":pending\"}", "{\":x\":\"pending\"}", NULL,
         "[\"x: coerced keyword :pending to string\"]"},
        {"(x :int) -> :any", INPUTS, 0, "{\"x\":\" +42 \"}", "{\"x\":42}", NULL,
         "[\"x: coerced string \\\" +42 \\\" to int\"]"},
        {"(x :int) -> :any", INPUTS, 0, "{\"x\":\"-0\"}", "{\"x\":0}", NULL,
         "[\"x: coerced string \\\"-0\\\" to int\"]"},
        {"(x :int) -> :any", INPUTS, 0, "{\"x\":\"123456789012345678901234567890\"}",
         "{\"x\":123456789012345678901234567890}", NULL,
         "[\"x: coerced string \\\"123456789012345678901234567890\\\" to int\"]"},
        {"(x :float) -> :any", INPUTS, 0, "{\"x\":42}", "{\"x\":42.0}", NULL, NULL},
        {"(x :float) -> :any", INPUTS, 0, "{\"x\":\"1e3\"}", "{\"x\":1000.0}", NULL,
         "[\"x: coerced string \\\"1e3\\\" to float\"]"},
        {"(x :float) -> :any", INPUTS, 0, "{\"x\":\"+42\"}", "{\"x\":42.0}", NULL,
         "[\"x: coerced string \\\"+42\\\" to float\"]"},
        {"(x :bool) -> :any", INPUTS, 0, "{\"x\":\"true\"}", "{\"x\":true}", NULL,
         "[\"x: coerced string \\\"true\\\" to bool\"]"},
        {"(x :keyword) -> :any", INPUTS, 0, "{\"x\":\"hello\"}", "{\"x\":\":hello\"}", NULL,
         "[\"x: coerced string \\\"hello\\\" to keyword\"]"},
        {"(x :int?) -> :any", INPUTS, 0, "{\"x\":\"7\"}", "{\"x\":7}", NULL,
         "[\"x: coerced string \\\"7\\\" to int\"]"},
        {"(x [:float]) -> :any", INPUTS, 0, "{\"x\":[1,2.5,\"3\"],\"y\":\"4\"}",
         "{\"x\":[1.0,2.5,3.0],\"y\":\"4\"}", NULL,
         "[\"x[2]: coerced string \\\"3\\\" to float\"]"},
        {"(x {rows [{id :int}]}) -> :any", INPUTS, 0,
         "{\"x\":{\"rows\":[{\":id\":\"1\"},{\"id\":2}]}}",
         "{\"x\":{\"rows\":[{\":id\":1},{\"id\":2}]}}", NULL,
         "[\"x.rows[0].id: coerced string \\\"1\\\" to int\"]"});
}

Test(signature_check, coerces_nothing_else)
{
    RUN({"(x :int) -> :any", INPUTS, 0, "{\"x\":42.0}", NULL,
         "[\"x: expected int, got float 42.0\"]", NULL},
        {"(x :int) -> :any", INPUTS, 0, "{\"x\":\"4 2\"}", NULL,
         "[\"x: expected int, got string \\\"4 2\\\"\"]", NULL},
        {"(x :int) -> :any", INPUTS, 0, "{\"x\":\"\"}", NULL,
         "[\"x: expected int, got string \\\"\\\"\"]", NULL},
        {"(x :int) -> :any", INPUTS, 0, "{\"x\":\"+\"}", NULL,
         "[\"x: expected int, got string \\\"+\\\"\"]", NULL},
        {"(x :float) -> :any", INPUTS, 0, "{\"x\":\"1e999\"}", NULL,
         "[\"x: expected float, got string \\\"1e999\\\"\"]", NULL},
        {"(x :float) -> :any", INPUTS, 0, "{\"x\":\"1.\"}", NULL,
         "[\"x: expected float, got string \\\"1.\\\"\"]", NULL},
        {"(x :float) -> :any", INPUTS, 0, "{\"x\":\"NaN\"}", NULL,
         "[\"x: expected float, got string \\\"NaN\\\"\"]", NULL},
        {"(x :float) -> :any", INPUTS, 0, "{\"x\":\"0x10\"}", NULL,
         "[\"x: expected float, got string \\\"0x10\\\"\"]", NULL},
        {"(x :bool) -> :any", INPUTS, 0, "{\"x\":\" true\"}", NULL,
         "[\"x: expected bool, got string \\\" true\\\"\"]", NULL},
        {"(x :bool) -> :any", INPUTS, 0, "{\"x\":1}", NULL, "[\"x: expected bool, got int 1\"]",
         NULL},
        {"(x :keyword) -> :any", INPUTS, 0, "{\"x\":\"a b\"}", NULL,
         "[\"x: expected keyword, got string \\\"a b\\\"\"]", NULL},
        {"(x :string) -> :any", INPUTS, 0, "{\"x\":42}", NULL,
         "[\"x: expected string, got int 42\"]", NULL},
        // The seed's own examples.
        {"(user_id :int, limit :int) -> :any", INPUTS, 0, "{\"user_id\":\"abc\",\"limit\":10}",
         NULL, "[\"user_id: expected int, got string \\\"abc\\\"\"]", NULL},
        {"{orders [{id :int}]}", OUTPUT, 0, "{\"orders\":[{\"id\":null}]}", NULL,
         "[\"orders[0].id: expected int, got nil\"]", NULL});
}

Test(signature_check, limits_and_choices)
{
    RUN({"(x [:int 1 100]) -> :any", INPUTS, 0, "{\"x\":\"100\"}", "{\"x\":100}", NULL,
         "[\"x: coerced string \\\"100\\\" to int\"]"},
        {"(x [:int 1 100]) -> :any", INPUTS, 0, "{\"x\":\"101\"}", NULL,
         "[\"x: expected int from 1 to 100, got string \\\"101\\\"\"]", NULL},
        {"(x [:int 1 _]) -> :any", INPUTS, 0, "{\"x\":0}", NULL,
         "[\"x: expected int of at least 1, got int 0\"]", NULL},
        {"(x [:float >0 _]) -> :any", INPUTS, 0, "{\"x\":0}", NULL,
         "[\"x: expected float above 0, got int 0\"]", NULL},
        {"(x [:float _ 1]) -> :any", INPUTS, 0, "{\"x\":1}", "{\"x\":1.0}", NULL, NULL},
        {"(x [:string 1 3]) -> :any", INPUTS, 0, "{\"x\":\"äöü\"}", NULL, NULL, NULL},
        {"[:string 1 3]", OUTPUT, 0, "\"\"", NULL,
         "[\"return: expected string of 1 to 3 characters, got string \\\"\\\"\"]", NULL},
        {"[[:string #\"^\\d+$\"]]", OUTPUT, 0, "[\"12\",\"12\\n\"]", NULL,
         "[\"return[1]: expected string that fits #\\\"^\\\\d+$\\\", got string "
         "\\\"12\\\\n\\\"\"]",
         NULL},
        {"(x [:enum \"open\" 1 true]) -> :any", INPUTS, 0, "{\"x\":\":open\"}", "{\"x\":\"open\"}",
         NULL, "[\"x: coerced keyword :open to string\"]"},
        {"(x [:enum \"open\" 1 true]) -> :any", INPUTS, 0, "{\"x\":1.0}", NULL, NULL, NULL},
        {"(x [:enum \"open\" 1 true]) -> :any", INPUTS, 0, "{\"x\":\"1\"}", NULL,
         "[\"x: expected one of \\\"open\\\", 1, true, got string \\\"1\\\"\"]", NULL},
        {"(x [:enum \"open\"]) -> :any", INPUTS, 0, "{}", NULL,
         "[\"x: missing, expected one of \\\"open\\\"\"]", NULL},
        {":datetime", OUTPUT, 0, "\"2024-02-29T23:59:60.123z\"", NULL, NULL, NULL},
        {":datetime", OUTPUT, 0, "\"2023-02-29T00:00:00Z\"", NULL,
         "[\"return: expected datetime, got string \\\"2023-02-29T00:00:00Z\\\"\"]", NULL},
        {"[:datetime]", OUTPUT, SIGNATURE_WARN_ONLY, "[\"2024-01-01T00:00:00+24:00\",7]", NULL,
         NULL,
         "[\"return[0]: expected datetime, got string "
         "\\\"2024-01-01T00:00:00+24:00\\\"\",\"return[1]: "
         "expected datetime, got int 7\"]"});
}

Test(signature_check, alternatives)
{
    RUN({"(x [:or :int :string]) -> :any", INPUTS, 0, "{\"x\":\"7\"}", NULL, NULL, NULL},
        {"(x [:or :int :bool]) -> :any", INPUTS, 0, "{\"x\":\"true\"}", "{\"x\":true}", NULL,
         "[\"x: coerced string \\\"true\\\" to bool\"]"},
        {"(x [:or :string :float]) -> :any", INPUTS, 0, "{\"x\":7}", "{\"x\":7.0}", NULL, NULL},
        {"(x [:or :int :string]?) -> :any", INPUTS, 0, "{\"x\":null}", NULL, NULL, NULL},
        {"(x [:or [:int 1 9] :bool]) -> :any", INPUTS, 0, "{\"x\":10}", NULL,
         "[\"x: expected int from 1 to 9 or bool, got int 10\"]", NULL},
        {"(x [:or :string [{id :int}]]) -> :any", INPUTS, 0,
         "{\"x\":[{\"id\":\"1\"},{\"id\":null}]}", "{\"x\":[{\"id\":1},{\"id\":null}]}",
         "[\"x[1].id: expected int, got nil\"]", "[\"x[0].id: coerced string \\\"1\\\" to int\"]"},
        {"(x [:or {a :int} {b :int, c :int?}]) -> :any", INPUTS, 0, "{\"x\":{\"b\":\"2\"}}",
         "{\"x\":{\"b\":2}}", NULL, "[\"x.b: coerced string \\\"2\\\" to int\"]"},
        {"(x [:or {a :int} {b :int, c :int?}]) -> :any", INPUTS, 0, "{\"x\":{}}", NULL,
         "[\"x: expected map with a or map with b, got map\"]", NULL},
        {"[:or {a :int} {b :int}]", OUTPUT, SIGNATURE_STRICT, "{\"b\":1}", NULL, NULL, NULL});
}

// Sixty alternatives within alternatives: each is tried once, not twice as often as the one around it.
Test(signature_check, nested_alternatives_do_not_multiply)
{
    struct signature_test test = signature_test_start();
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, BUFFER_DEFAULT_LIMIT);
    for (int i = 0; i < 60; i++)
        buffer_append_text(&text, "[:or :bool ");
    buffer_append_text(&text, ":int");
    for (int i = 0; i < 60; i++)
        buffer_append_byte(&text, ']');
    CLEANUP_BUFFER struct buffer whole;
    buffer_init(&whole, BUFFER_DEFAULT_LIMIT);
    buffer_append_format(&whole, "(x %s) -> :any", buffer_text(&text));
    const struct signature *signature = parse(&test, buffer_text(&whole));
    struct signature_check check = signature_check_inputs(signature, SIGNATURE_ENABLED, test.region,
                                                          read_value(test.region, "{\"x\":\"x\"}"));
    cr_expect_eq(vector_count(check.errors), 1);
    check = signature_check_inputs(signature, SIGNATURE_ENABLED, test.region,
                                   read_value(test.region, "{\"x\":\"12\"}"));
    cr_expect_eq(vector_count(check.errors), 0);
    signature_test_end(&test);
}

// A pattern that would backtrack for ages does not fit, soon.
Test(signature_check, patterns_take_bounded_time)
{
    struct signature_test test = signature_test_start();
    const struct signature *signature = parse(&test, "[:string #\"^(a+)+$\"]");
    struct signature_check check = signature_check_output(
        signature, SIGNATURE_ENABLED, test.region,
        value_string(test.region, SPAN("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab")));
    cr_expect_eq(vector_count(check.errors), 1);
    signature_test_end(&test);
}

Test(signature_check, outputs_are_not_coerced)
{
    RUN({":int", OUTPUT, 0, "\"42\"", NULL, "[\"return: expected int, got string \\\"42\\\"\"]",
         NULL},
        {":float", OUTPUT, 0, "42", NULL, NULL, NULL},
        {":keyword", OUTPUT, 0, "\"a\"", NULL,
         "[\"return: expected keyword, got string \\\"a\\\"\"]", NULL},
        {":string", OUTPUT, 0, "\":a\"", NULL, "[\"return: expected string, got keyword :a\"]",
         NULL},
        {"[:int]", OUTPUT, 0, "[1,\"two\",3.0]", NULL,
         "[\"return[1]: expected int, got string \\\"two\\\"\",\"return[2]: expected int, got "
         "float 3.0\"]",
         NULL},
        {"[{id :int}]", OUTPUT, 0, "[{\"id\":true}]", NULL,
         "[\"return[0].id: expected int, got bool true\"]", NULL},
        {"{a [[:int]]}", OUTPUT, 0, "{\"a\":[[1],[2,null]]}", NULL,
         "[\"a[1][1]: expected int, got nil\"]", NULL},
        {"{x :int}", OUTPUT, 0, "[]", NULL, "[\"return: expected map, got list\"]", NULL},
        {"{x :int}", OUTPUT, 0, "{}", NULL, "[\"x: missing, expected int\"]", NULL},
        {"{x {y :int}, z [:any]}", OUTPUT, 0, "{}", NULL,
         "[\"x: missing, expected map\",\"z: missing, expected list\"]", NULL},
        {"{x :int?}", OUTPUT, 0, "{}", NULL, NULL, NULL},
        {"{x :int?}", OUTPUT, 0, "{\"x\":null}", NULL, NULL, NULL},
        {"{x :any}", OUTPUT, 0, "{\"x\":null}", NULL, NULL, NULL},
        {"{x :any}", OUTPUT, 0, "{}", NULL, "[\"x: missing, expected any\"]", NULL},
        {"{}", OUTPUT, 0, "{\"any\":1}", NULL, NULL, NULL});
}

Test(signature_check, spellings)
{
    RUN({"{user_id :int}", OUTPUT, 0, "{\":user-id\":1}", NULL, NULL, NULL},
        {"{user-id :int}", OUTPUT, 0, "{\"user_id\":1}", NULL, NULL, NULL},
        {"{a-b_c :int}", OUTPUT, 0, "{\"a_b-c\":1}", NULL, NULL, NULL},
        {"{user_id :int}", OUTPUT, 0, "{\"user-id\":\"bad\",\"user_id\":1}", NULL,
         "[\"user_id: ambiguous, several spellings present\"]", NULL},
        {"{id :int}", OUTPUT, 0, "{\":id\":1,\"id\":2}", NULL,
         "[\"id: ambiguous, several spellings present\"]", NULL},
        {"(user-id :int) -> :any", INPUTS, 0, "{\":user_id\":\"5\"}", "{\":user_id\":5}", NULL,
         "[\"user-id: coerced string \\\"5\\\" to int\"]"});
}

Test(signature_check, strict)
{
    RUN({"{x :int}", OUTPUT, SIGNATURE_STRICT, "{\"b\":1,\"x\":\"no\",\"a\":2,\":k\":3}", NULL,
         "[\"x: expected int, got string \\\"no\\\"\",\"k: unexpected field\",\"a: unexpected "
         "field\","
         "\"b: unexpected field\"]",
         NULL},
        {"{user {name :string}}", OUTPUT, SIGNATURE_STRICT,
         "{\"user\":{\"extra\":1,\"name\":\"A\"},\"z\":1}", NULL,
         "[\"user.extra: unexpected field\",\"z: unexpected field\"]", NULL},
        {"{}", OUTPUT, SIGNATURE_STRICT, "{\"a\":1}", NULL, NULL, NULL},
        {"{m :map}", OUTPUT, SIGNATURE_STRICT, "{\"m\":{\"a\":1}}", NULL, NULL, NULL},
        {"[{a :int}]", OUTPUT, SIGNATURE_STRICT, "[{\"a\":1,\"b\":1}]", NULL,
         "[\"return[0].b: unexpected field\"]", NULL},
        {"(x :int) -> :any", INPUTS, SIGNATURE_STRICT, "{\"x\":\"1\",\"y\":1}", NULL,
         "[\"x: expected int, got string \\\"1\\\"\",\"y: unexpected field\"]", NULL},
        {"() -> :any", INPUTS, SIGNATURE_STRICT, "{\"y\":1}", NULL, "[\"y: unexpected field\"]",
         NULL},
        {":any", INPUTS, SIGNATURE_STRICT, "{\"y\":1}", NULL, NULL, NULL},
        {"(x :float) -> :any", INPUTS, SIGNATURE_STRICT, "{\"x\":1}", NULL, NULL, NULL});
}

Test(signature_check, warn_only_and_disabled)
{
    RUN({"(a :int, b :int, c :int) -> :any", INPUTS, SIGNATURE_WARN_ONLY,
         "{\"a\":\"x\",\"b\":\"2\"}", "{\"a\":\"x\",\"b\":2}", NULL,
         "[\"b: coerced string \\\"2\\\" to int\",\"a: expected int, got string \\\"x\\\"\","
         "\"c: missing, expected int\"]"},
        {":int", OUTPUT, SIGNATURE_WARN_ONLY, "\"x\"", NULL, NULL,
         "[\"return: expected int, got string \\\"x\\\"\"]"},
        {"(a :int) -> :any", INPUTS, SIGNATURE_DISABLED, "{\"a\":\"1\"}", NULL, NULL, NULL},
        {":int", OUTPUT, SIGNATURE_DISABLED, "\"x\"", NULL, NULL, NULL});
}

static void expect_line(value v, const char *line)
{
    struct signature_test test = signature_test_start();
    struct signature_check check =
        signature_check_output(parse(&test, "[:map]?"), 0, test.region, value_copy(test.region, v));
    cr_assert_eq(vector_count(check.errors), 1);
    cr_expect(span_equal_text(value_text(vector_at(check.errors, 0)), line), "%s",
              json_text(check.errors));
    signature_test_end(&test);
}

Test(signature_check, says_what_it_got)
{
    struct region *region = region_new(TEST_LIMIT);
    expect_line(value_string_text(region, "a\"\\\n\t\rz"),
                "return: expected list, got string \"a\\\"\\\\\\n\\t\\rz\"");
    expect_line(
        value_string_text(region, "ééééééééééééééééééééééééééééééééééééééééx"),
        "return: expected list, got string \"éééééééééééééééééééééééééééééééééééééééé...\"");
    expect_line(value_string_text(region, "0123456789012345678901234567890123456789"),
                "return: expected list, got string \"0123456789012345678901234567890123456789\"");
    expect_line(value_float(4.5), "return: expected list, got float 4.5");
    expect_line(set_new(region), "return: expected list, got set");
    expect_line(map_new(region), "return: expected list, got map");
    expect_line(value_boolean(false), "return: expected list, got bool false");
    expect_line(value_keyword(region, SPAN("k")), "return: expected list, got keyword :k");
    expect_line(
        value_integer_from_text(region, SPAN("-1234567890123456789012345678901234567890123")),
        "return: expected list, got int -123456789012345678901234567890123456789...");
    region_free(region);
}

Test(signature_check, keys_that_are_no_names)
{
    struct signature_test test = signature_test_start();
    value map = map_put(test.region, map_new(test.region), value_integer(7), value_nil());
    map = map_put(test.region, map, value_nil(), value_nil());
    struct signature_check check =
        signature_check_output(parse(&test, "{a :int?}"), SIGNATURE_STRICT, test.region, map);
    cr_expect_str_eq(json_text(check.errors),
                     "[\"nil: unexpected field\",\"7: unexpected field\"]");
    signature_test_end(&test);
}

Test(signature_check, bounds_the_lines)
{
    struct signature_test test = signature_test_start();
    value list = vector_new(test.region, 0);
    for (int i = 0; i < SIGNATURE_MAX_PROBLEMS + 5; i++)
        list = vector_push(test.region, list, value_nil());
    struct signature_check check =
        signature_check_output(parse(&test, "[:int]"), 0, test.region, list);
    cr_assert_eq(vector_count(check.errors), SIGNATURE_MAX_PROBLEMS + 1);
    cr_expect(span_equal_text(value_text(vector_at(check.errors, SIGNATURE_MAX_PROBLEMS)),
                              "5 more errors left out"));
    signature_test_end(&test);
}

// A shared value must not be changed by a coercion: programs see the context they were given.
Test(signature_check, leaves_the_original_alone)
{
    struct signature_test test = signature_test_start();
    value original = read_value(test.region, "{\"x\":[\"1\",\"2\"]}");
    value_retain(original);
    struct signature_check check =
        signature_check_inputs(parse(&test, "(x [:int]) -> :any"), 0, test.region, original);
    cr_expect_str_eq(json_text(original), "{\"x\":[\"1\",\"2\"]}");
    cr_expect_str_eq(json_text(check.result), "{\"x\":[1,2]}");
    signature_test_end(&test);
}

Test(signature_check, modes_have_names)
{
    enum signature_mode mode;
    for (int i = SIGNATURE_ENABLED; i <= SIGNATURE_STRICT; i++) {
        const char *name = signature_mode_name((enum signature_mode)i);
        cr_assert(signature_mode_from_name(span_from(name), &mode));
        cr_assert_eq((int)mode, i);
    }
    cr_assert_not(signature_mode_from_name(SPAN("off"), &mode));
}

// Nothing leaks and nothing is lost when memory runs out at any point of a check.
static jmp_buf exhausted_jump;
static void on_exhausted(void *data, size_t size)
{
    (void)data;
    (void)size;
    longjmp(exhausted_jump, 1);
}

Test(signature_check, survives_exhaustion_anywhere)
{
    struct signature_test test = signature_test_start();
    const struct signature *signature = parse(&test, "(x [:int], y {a :float}) -> :any");
    for (volatile size_t n = 1;; n++) {
        struct region *volatile region = region_new(TEST_LIMIT);
        value v = read_value(region, "{\"x\":[\"1\",\"no\"],\"y\":{\"a\":1,\"b\":2},\"z\":3}");
        region_on_exhausted(region, on_exhausted, NULL);
        if (setjmp(exhausted_jump)) {
            region_free(region);
            continue;
        }
        region_fail_nth(region, n);
        struct signature_check check = signature_check_inputs(signature, 0, region, v);
        size_t errors = vector_count(check.errors);
        region_free(region);
        cr_assert_eq(errors, 1);
        cr_assert_gt(n, 5);
        break;
    }
    signature_test_end(&test);
}
