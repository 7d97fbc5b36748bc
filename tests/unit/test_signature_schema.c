// Signatures and JSON Schema, and properties over generated signatures and values.
#include "signature_support.h"

#include "base/array.h"
#include "signature_generate.h"

static void expect_schema(const char *signature, const char *input, const char *output)
{
    struct signature_test test = signature_test_start();
    const struct signature *parsed = parse(&test, signature);
    cr_expect_str_eq(json_text(signature_input_schema(parsed, test.region)), input);
    cr_expect_str_eq(json_text(signature_output_schema(parsed, test.region)), output);
    signature_test_end(&test);
}

Test(signature_schema, writes)
{
    expect_schema(":any", "{\"type\":\"object\"}", "{}");
    expect_schema("() -> :map?", "{\"type\":\"object\",\"properties\":{}}",
                  "{\"type\":[\"object\",\"null\"]}");
    expect_schema(
        "(q :string, n :int?) -> [{id :int, score :float?}]",
        "{\"type\":\"object\",\"properties\":{\"q\":{\"type\":\"string\"},\"n\":{\"type\":"
        "[\"integer\",\"null\"]}},\"required\":[\"q\"]}",
        "{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{\"id\":{\"type\":"
        "\"integer\"},\"score\":{\"type\":[\"number\",\"null\"]}},\"required\":[\"id\"]}}");
    expect_schema(
        "(e [:enum \"a\" 1]?, n [:int 1 _], f [:float >0 <1]) -> [:or :int :datetime]?",
        "{\"type\":\"object\",\"properties\":{\"e\":{\"enum\":[\"a\",1,null]},\"n\":{\"type\":"
        "\"integer\",\"minimum\":1},\"f\":{\"type\":\"number\",\"exclusiveMinimum\":0,"
        "\"exclusiveMaximum\":1}},\"required\":[\"n\",\"f\"]}",
        "{\"anyOf\":[{\"type\":\"integer\"},{\"type\":\"string\",\"format\":\"date-time\"},"
        "{\"type\":\"null\"}]}");
    expect_schema("(k :keyword) -> [:string 1 9 #\"^a\\\"\"]?",
                  "{\"type\":\"object\",\"properties\":{\"k\":{\"type\":\"string\",\"pattern\":"
                  "\"^[A-Za-z][A-Za-z0-9_?!-]*$\"}},\"required\":[\"k\"]}",
                  "{\"type\":[\"string\",\"null\"],\"minLength\":1,\"maxLength\":9,\"pattern\":"
                  "\"^a\\\"\"}");
    expect_schema("(k :keyword) -> :keyword",
                  "{\"type\":\"object\",\"properties\":{\"k\":{\"type\":\"string\",\"pattern\":"
                  "\"^[A-Za-z][A-Za-z0-9_?!-]*$\"}},\"required\":[\"k\"]}",
                  "{\"type\":\"string\",\"pattern\":\"^[A-Za-z0-9_?!+*<>=-]+$\"}");
}

static void expect_read(const char *input, const char *output, const char *signature,
                        const char *expected_lost)
{
    struct signature_test test = signature_test_start();
    const struct signature *read = NULL;
    value lost;
    struct error error = {0};
    value output_schema = output ? read_value(test.region, output) : value_nil();
    bool good = signature_from_schema(&test.arena, test.region, read_value(test.region, input),
                                      output_schema, &read, &lost, &error);
    cr_assert(good, "%s", error.message);
    cr_expect_str_eq(render(read), signature);
    cr_expect_str_eq(json_text(lost), expected_lost ? expected_lost : "[]");
    signature_test_end(&test);
}

Test(signature_schema, reads_what_can_be_said)
{
    expect_read("{\"type\":\"object\"}", NULL, "() -> :any", NULL);
    expect_read("{\"type\":\"object\",\"title\":\"t\",\"properties\":{\"a\":{\"type\":\"string\","
                "\"description\":"
                "\"d\",\"format\":\"uri\"},\"b\":{\"type\":[\"integer\",\"null\"]},\"c\":{}},"
                "\"required\":[\"a\"],"
                "\"additionalProperties\":true}",
                "{\"type\":\"array\",\"items\":{\"type\":\"number\"}}",
                "(a :string, b :int?, c :any?) -> [:float]", NULL);
    expect_read("{\"type\":\"object\",\"required\":[\"x\"]}", "true", "(x :any) -> :any", NULL);
    expect_read("{\"type\":\"object\",\"properties\":{\"t\":{\"$ref\":\"#/$defs/"
                "T\"},\"u\":{\"anyOf\":[{\"type\":"
                "\"null\"},{\"$ref\":\"#/$defs/"
                "T\"}]}},\"$defs\":{\"T\":{\"type\":\"boolean\"}},\"required\":"
                "[\"t\",\"u\"]}",
                NULL, "(t :bool, u :bool?) -> :any", NULL);
    expect_read("{\"type\":\"object\",\"properties\":{\"k\":{\"type\":\"string\",\"pattern\":"
                "\"^[A-Za-z][A-Za-z0-9_?!-]*$\"}},\"required\":[\"k\"]}",
                "{\"type\":\"array\"}", "(k :keyword) -> [:any]", NULL);
}

Test(signature_schema, reads_constraints)
{
    expect_read(
        "{\"type\":\"object\",\"properties\":{"
        "\"n\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":1e2},"
        "\"m\":{\"type\":\"integer\",\"exclusiveMinimum\":0,\"maximum\":9.5},"
        "\"f\":{\"type\":\"number\",\"exclusiveMinimum\":0,\"minimum\":-1},"
        "\"s\":{\"type\":[\"string\",\"integer\"],\"minimum\":2,\"maxLength\":3},"
        "\"c\":{\"anyOf\":[{\"type\":\"string\"},{\"type\":\"null\"},{\"type\":\"integer\"}]},"
        "\"e\":{\"enum\":[1,\"b\",true,null]},\"k\":{\"const\":\"only\"},"
        "\"p\":{\"type\":\"string\",\"pattern\":\"^\\\\d+\\\"$\"},"
        "\"w\":{\"type\":\"string\",\"format\":\"date-time\"}},"
        "\"required\":[\"n\",\"m\",\"f\",\"s\",\"e\",\"k\",\"p\",\"w\"]}",
        "{\"oneOf\":[{\"type\":\"object\",\"required\":[\"a\"]},{\"type\":\"array\"}]}",
        "(n [:int 1 100], m [:int 1 9], f [:float >0 _], s [:or [:string _ 3] [:int 2 _]], "
        "c [:or :string :int]?, e [:enum 1 \"b\" true]?, k [:enum \"only\"], "
        "p [:string #\"^\\d+\\\"$\"], w :datetime) -> [:or {a :any} [:any]]",
        NULL);
}

// A schema is foreign text: nothing in it ends the line or hides.
Test(signature_schema, texts_stay_in_their_quotes)
{
    expect_read(
        "{\"type\":\"object\",\"properties\":{\"e\":{\"enum\":[\"a\\n) -> \\u202e\\\"\"]},"
        "\"p\":{\"type\":\"string\",\"pattern\":\"a\\nb\"}},\"required\":[\"e\",\"p\"]}",
        NULL, "(e [:enum \"a\\u000A) -> \\u202E\\\"\"], p [:string #\"a\\u000Ab\"]) -> :any", NULL);
    struct span text = SPAN("(e [:enum \"a\\\" -> b\"]) -> :int");
    cr_expect(span_equal(signature_inputs_text(text), SPAN("(e [:enum \"a\\\" -> b\"])")));
    cr_expect_eq(signature_inputs_text(SPAN(":int")).length, 0);
}

// However deep or wide, what comes out can be parsed.
Test(signature_schema, deep_and_wide_schemas_can_be_said)
{
    static const char *const levels[] = {
        "{\"type\":\"array\",\"items\":", "{\"type\":[\"array\",\"string\"],\"items\":",
        "{\"anyOf\":[{\"type\":\"string\"},", "{\"type\":\"object\",\"properties\":{\"a\":"};
    static const char *const ends[] = {"}", "}", "]}", "}}"};
    for (size_t kind = 0; kind < COUNT_OF(levels); kind++) {
        struct signature_test test = signature_test_start();
        CLEANUP_BUFFER struct buffer text;
        buffer_init(&text, BUFFER_DEFAULT_LIMIT);
        for (int i = 0; i < 100; i++)
            buffer_append_text(&text, levels[kind]);
        buffer_append_text(&text, "{\"type\":[\"integer\",\"string\"]}");
        for (int i = 0; i < 100; i++)
            buffer_append_text(&text, ends[kind]);
        const struct signature *read = NULL;
        value lost, schema;
        struct error error = {0};
        struct json_options options = {.max_depth = 1000};
        cr_assert(json_read(test.region, buffer_span(&text), &options, &schema, &error));
        cr_assert(signature_from_schema(&test.arena, test.region, value_boolean(true), schema,
                                        &read, &lost, &error));
        cr_expect_str_eq(render(parse(&test, render(read))), render(read));
        signature_test_end(&test);
    }
}

Test(signature_schema, reports_what_cannot_be_said)
{
    expect_read(
        "{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\",\"multipleOf\":3,"
        "\"minLength\":2},"
        "\"s\":{\"type\":[\"string\",7]},\"c\":{\"not\":{\"type\":\"string\"}},"
        "\"l\":{\"type\":\"array\",\"minItems\":1},"
        "\"p\":{\"type\":\"string\",\"pattern\":\"(\"},"
        "\"e\":{\"enum\":[1,[2]]},\"$x\":{\"type\":\"string\"}},\"additionalProperties\":false}",
        "{\"type\":\"array\",\"items\":{\"type\":\"null\"}}",
        "(n :int?, s :any?, c :any?, l [:any]?, p :string?, e :any?) -> [:any]",
        "[\"input: additionalProperties is not checked\",\"input.n: multipleOf is not checked\","
        "\"input.s: type became :any\",\"input.c: not became :any\",\"input.l: minItems is not "
        "checked\",\"input.p: pattern is not checked\",\"input.e: enum became :any\","
        "\"input.$x: the name cannot be a field and is not checked\",\"output[]: type became "
        ":any\"]");
    expect_read("{\"type\":\"object\",\"properties\":{\"a-b\":{\"type\":\"string\"},\"a_b\":{"
                "\"type\":\"string\"}}}",
                NULL, "() -> :any", "[\"input: two fields are spelled a_b; no field is checked\"]");
    expect_read("{\"type\":\"string\"}", "false", ":any", "[\"output: false became :any\"]");
    expect_read("{\"type\":\"object\"}", "{\"$ref\":\"#/$defs/none\"}", "() -> :any",
                "[\"output: $ref became :any\"]");
    expect_read("{\"type\":\"object\"}", "{\"$ref\":\"#\"}", "() -> :any",
                "[\"output: a $ref to itself became :any\"]");
    expect_read("{\"type\":\"object\",\"properties\":{\"next\":{\"$ref\":\"#\"}}}", NULL,
                "(next {next :any?}?) -> :any",
                "[\"input.next.next: a $ref to itself became :any\"]");
}

// Each level refers twice to the next: 2^40 parts if there were no limit.
Test(signature_schema, bounds_what_references_multiply)
{
    struct signature_test test = signature_test_start();
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, BUFFER_DEFAULT_LIMIT);
    buffer_append_text(
        &text, "{\"type\":\"object\",\"properties\":{\"a\":{\"$ref\":\"#/$defs/d0\"}},\"$defs\":{");
    for (int i = 0; i < 40; i++)
        buffer_append_format(
            &text,
            "%s\"d%d\":{\"type\":\"object\",\"properties\":{\"a\":{\"$ref\":\"#/$defs/d%d\"},"
            "\"b\":{\"$ref\":\"#/$defs/d%d\"}}}",
            i ? "," : "", i, i + 1, i + 1);
    buffer_append_text(&text, ",\"d40\":{\"type\":\"string\"}}}");
    const struct signature *read = NULL;
    value lost;
    struct error error = {0};
    cr_assert(signature_from_schema(&test.arena, test.region,
                                    read_value(test.region, buffer_text(&text)), value_nil(), &read,
                                    &lost, &error));
    cr_assert_gt(vector_count(lost), 0);
    cr_assert_lt(test.arena.used, 64u << 20);
    signature_test_end(&test);
}

Test(signature_schema, refuses_what_is_no_schema)
{
    struct signature_test test = signature_test_start();
    const struct signature *read = NULL;
    value lost;
    struct error error = {0};
    cr_assert_not(signature_from_schema(&test.arena, test.region, value_integer(1), value_nil(),
                                        &read, &lost, &error));
    cr_assert_eq(error.code, ERROR_INVALID);
    signature_test_end(&test);
}

// --- properties ----------------------------------------------------------------------------------

enum { ROUNDS = 2000 };

static const char *joined_errors(const struct signature_check *check)
{
    return json_text(check->errors);
}

Test(signature_properties, rendering_is_stable)
{
    for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
        struct signature_test test = signature_test_start();
        struct generator generator = {.state = seed, .region = test.region};
        CLEANUP_BUFFER struct buffer text;
        buffer_init(&text, BUFFER_DEFAULT_LIMIT);
        generate_signature(&generator, &text);
        const char *once = render(parse(&test, buffer_text(&text)));
        cr_assert_str_eq(render(parse(&test, once)), once, "seed %lu", seed);
        signature_test_end(&test);
    }
}

Test(signature_properties, generated_values_validate)
{
    for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
        struct signature_test test = signature_test_start();
        struct generator generator = {.state = seed, .region = test.region};
        CLEANUP_BUFFER struct buffer text;
        buffer_init(&text, BUFFER_DEFAULT_LIMIT);
        generate_signature(&generator, &text);
        const struct signature *signature = parse(&test, buffer_text(&text));
        value v = generate_value(&generator, &signature->output);
        value kept = value_copy(test.region, v);
        for (int mode = 0; mode <= SIGNATURE_STRICT; mode++) {
            struct signature_check check = signature_check_output(
                signature, (enum signature_mode)mode, test.region, value_retain(v));
            cr_assert_eq(vector_count(check.errors), 0, "seed %lu, %s: %s", seed,
                         buffer_text(&text), joined_errors(&check));
            cr_assert_eq(vector_count(check.warnings), 0);
            cr_assert(value_identical(check.result, kept));
        }
        signature_test_end(&test);
    }
}

Test(signature_properties, mutated_values_fail_at_the_place)
{
    size_t mutated = 0;
    for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
        struct signature_test test = signature_test_start();
        struct generator generator = {.state = seed, .region = test.region};
        CLEANUP_BUFFER struct buffer text;
        CLEANUP_BUFFER struct buffer place;
        buffer_init(&text, BUFFER_DEFAULT_LIMIT);
        buffer_init(&place, BUFFER_DEFAULT_LIMIT);
        generate_signature(&generator, &text);
        const struct signature *signature = parse(&test, buffer_text(&text));
        value v = generate_value(&generator, &signature->output);
        if (mutate_value(&generator, &signature->output, &v, &place)) {
            mutated++;
            struct signature_check check =
                signature_check_output(signature, SIGNATURE_ENABLED, test.region, v);
            cr_assert_eq(vector_count(check.errors), 1, "seed %lu, %s: %s", seed,
                         buffer_text(&text), joined_errors(&check));
            buffer_append_text(&place, ": ");
            struct span line = value_text(vector_at(check.errors, 0));
            cr_assert(span_starts_with(line, buffer_span(&place)), "seed %lu, %s: %s is not at %s",
                      seed, buffer_text(&text), joined_errors(&check), buffer_text(&place));
        }
        signature_test_end(&test);
    }
    cr_assert_gt(mutated, ROUNDS / 3);
}

// What is read back from the schemas accepts and refuses the same values.
Test(signature_properties, schemas_keep_the_meaning)
{
    for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
        struct signature_test test = signature_test_start();
        struct generator generator = {.state = seed, .region = test.region};
        CLEANUP_BUFFER struct buffer text;
        CLEANUP_BUFFER struct buffer place;
        buffer_init(&text, BUFFER_DEFAULT_LIMIT);
        buffer_init(&place, BUFFER_DEFAULT_LIMIT);
        generate_signature(&generator, &text);
        const struct signature *signature = parse(&test, buffer_text(&text));
        const struct signature *again = NULL;
        value lost;
        struct error error = {0};
        cr_assert(signature_from_schema(
            &test.arena, test.region, signature_input_schema(signature, test.region),
            signature_output_schema(signature, test.region), &again, &lost, &error));
        cr_assert_eq(vector_count(lost), 0, "seed %lu, %s: %s", seed, buffer_text(&text),
                     json_text(lost));
        value v = generate_value(&generator, &signature->output);
        for (int round = 0; round < 2; round++) {
            struct signature_check first =
                signature_check_output(signature, 0, test.region, value_retain(v));
            struct signature_check second =
                signature_check_output(again, 0, test.region, value_retain(v));
            cr_assert(value_identical(first.errors, second.errors), "seed %lu, %s: %s", seed,
                      buffer_text(&text), joined_errors(&second));
            mutate_value(&generator, &signature->output, &v, &place);
        }
        signature_test_end(&test);
    }
}
