// JSON Schema checks of tool arguments and results.
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "mcp/jsonrpc.h"
#include "mcp/schema/schema.h"

#include "mcp_support.h"  // last: its region would shadow parameters of the others

TestSuite(mcp_schema, .init = set_up, .fini = tear_down);

static const struct schema *compile(const char *text)
{
    return schema_compile(region, parse(text));
}

static void expect_arguments(const char *schema, const char *arguments, const char *message)
{
    struct error error = {0};
    bool ok = schema_check_arguments(compile(schema), parse(arguments), false, &error);
    cr_expect_eq(ok, message == NULL, "%s: %s", arguments, error.message);
    if (message)
        cr_expect_str_eq(error.message, message);
}

static const char tool_schema[] =
    "{\"type\":\"object\","
    "\"properties\":{"
    "\"code\":{\"type\":\"string\"},"
    "\"timeout\":{\"type\":\"integer\",\"minimum\":0,\"maximum\":60},"
    "\"mode\":{\"enum\":[\"a\",\"b\",1]},"
    "\"list\":{\"type\":\"array\",\"items\":{\"type\":[\"string\",\"null\"]}},"
    "\"deep\":{\"type\":\"object\",\"required\":[\"x\"],\"properties\":{\"x\":{\"const\":5}},"
    "\"additionalProperties\":{\"type\":\"boolean\"}}},"
    "\"required\":[\"code\"],\"additionalProperties\":false}";

Test(mcp_schema, arguments_are_checked_and_named)
{
    expect_arguments(tool_schema, "{\"code\":\"x\"}", NULL);
    expect_arguments(tool_schema,
                     "{\"code\":\"x\",\"timeout\":60,\"mode\":1,\"list\":[\"a\",null]}", NULL);
    expect_arguments(tool_schema, "{\"code\":\"x\",\"timeout\":5.0}", NULL);
    expect_arguments(tool_schema, "{}", "Invalid params: missing required parameter 'code'");
    expect_arguments(tool_schema, "{\"cod\":\"x\"}",
                     "Invalid params: unknown parameter 'cod' (did you mean 'code'?)");
    expect_arguments(tool_schema, "{\"code\":\"x\",\"zzzzzzzz\":1}",
                     "Invalid params: unknown parameter 'zzzzzzzz' (known: code, timeout, mode, "
                     "list, deep)");
    expect_arguments("{\"type\":\"object\",\"additionalProperties\":false}", "{\"a\":1}",
                     "Invalid params: unknown parameter 'a' (known: none)");
    expect_arguments(tool_schema, "{\"code\":5}", "Invalid params: 'code' must be a string, not 5");
    expect_arguments(tool_schema, "{\"code\":null}",
                     "Invalid params: 'code' must be a string, not null");
    expect_arguments(tool_schema, "{\"code\":\"x\",\"timeout\":5.5}",
                     "Invalid params: 'timeout' must be an integer, not 5.5");
    expect_arguments(tool_schema, "{\"code\":\"x\",\"timeout\":-1}",
                     "Invalid params: 'timeout' must be at least 0, not -1");
    expect_arguments(tool_schema, "{\"code\":\"x\",\"timeout\":99999999999999999999}",
                     "Invalid params: 'timeout' must be at most 60, not 99999999999999999999");
    expect_arguments(tool_schema, "{\"code\":\"x\",\"mode\":\"c\"}",
                     "Invalid params: 'mode' must be one of \"a\", \"b\", 1, not \"c\"");
    expect_arguments(tool_schema, "{\"code\":\"x\",\"list\":[\"a\",{}]}",
                     "Invalid params: 'list'[1] must be a string or null, not an object");
    expect_arguments(tool_schema, "{\"code\":\"x\",\"deep\":{}}",
                     "Invalid params: 'deep' lacks the required member 'x'");
    expect_arguments(tool_schema, "{\"code\":\"x\",\"deep\":{\"x\":6}}",
                     "Invalid params: 'deep'.x must be the constant of its schema, not 6");
    expect_arguments(tool_schema, "{\"code\":\"x\",\"deep\":{\"x\":5,\"y\":1}}",
                     "Invalid params: 'deep'.y must be true or false, not 1");
}

Test(mcp_schema, whole_numbers_are_integers_to_handlers)
{
    static const char schema[] =
        "{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"},\"s\":{\"type\":["
        "\"string\",\"integer\"]},\"f\":{\"type\":\"number\"},\"o\":{\"type\":\"object\"}}}";
    value given = parse("{\"n\":5.0,\"s\":-2e0,\"f\":1.0,\"o\":{\"n\":1.0},\"other\":1.0}");
    value taken = schema_integers(compile(schema), region, given);
    cr_expect(value_equal(map_get(taken, "n"), value_integer(5)));
    cr_expect_eq(map_get(taken, "n").tag, VALUE_INTEGER);
    cr_expect_eq(map_get(taken, "s").tag, VALUE_INTEGER);
    cr_expect_eq(map_get(taken, "f").tag, VALUE_FLOAT);
    cr_expect_eq(map_get(map_get(taken, "o"), "n").tag, VALUE_FLOAT);
    cr_expect_eq(map_get(taken, "other").tag, VALUE_FLOAT);
    cr_expect_eq(map_get(given, "n").tag, VALUE_FLOAT, "what was given stays as it is");
    given = parse("{\"n\":5.5,\"s\":1e300}");
    taken = schema_integers(compile(schema), region, given);
    cr_expect_eq(map_get(taken, "n").tag, VALUE_FLOAT);
    cr_expect_eq(map_get(taken, "s").tag, VALUE_BIGNUM);
}

Test(mcp_schema, a_name_is_not_cut_inside_a_character)
{
    struct error error = {0};
    char arguments[128];
    snprintf(arguments, sizeof(arguments), "{\"%063d\u00e9\":1}", 0);
    cr_expect_not(schema_check_arguments(compile(tool_schema), parse(arguments), true, &error));
    cr_expect(utf8_is_valid(error.message, strlen(error.message)), "%s", error.message);
}

static void expect_place(const char *schema, const char *instance, const char *message)
{
    struct error error = {0};
    cr_expect_not(schema_check(compile(schema), parse(instance), "root", &error), "%s", instance);
    cr_expect_str_eq(error.message, message);
}

Test(mcp_schema, a_missing_member_is_reported_before_a_wrong_one)
{
    const char *schema = "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\"}},"
                         "\"required\":[\"b\",\"a\"],\"additionalProperties\":{\"type\":\"array\","
                         "\"items\":{\"type\":\"object\",\"additionalProperties\":false}}}";
    struct error error;
    cr_expect(schema_check(compile(schema), parse("{\"b\":[],\"a\":1}"), "root", &error));
    expect_place(schema, "{\"a\":\"x\"}", "root lacks the required member 'b'");
    expect_place(schema, "{\"b\":[]}", "root lacks the required member 'a'");
    expect_place(schema, "{\"b\":[],\"a\":\"x\"}", "root.a must be an integer, not \"x\"");
    expect_place(schema, "{\"b\":[{},{\"c\":1}],\"a\":1}", "root.b[1] has the unknown member 'c'");
    expect_place(schema, "{\"b\":1,\"a\":1}", "root.b must be an array, not 1");
}

Test(mcp_schema, names_only_leaves_the_rest_to_the_handler)
{
    struct error error;
    cr_expect(schema_check_arguments(compile(tool_schema), parse("{\"code\":5}"), true, &error));
    cr_expect_not(
        schema_check_arguments(compile(tool_schema), parse("{\"other\":5}"), true, &error));
}

Test(mcp_schema, long_values_are_cut_between_characters)
{
    struct error error;
    const struct schema *schema = compile("{\"type\":\"integer\"}");
    value text = parse("\"ääääääääääääääääääääääääääääääääääääääääääääääääääääää\"");
    cr_assert_not(schema_check(schema, text, "x", &error));
    cr_expect(utf8_is_valid(error.message, strlen(error.message)));
    cr_expect(strlen(error.message) < 120);
    cr_expect_str_eq(error.message + strlen(error.message) - 3, "…");
}
