// Pieces of the MCP library that are easier to see alone: schema checks, header values, templates,
// message kinds, metrics.
#include <criterion/criterion.h>
#include <event2/event.h>
#include <string.h>

#include "base/array.h"
#include "base/utf8.h"
#include "mcp/http/http_headers.h"
#include "mcp/internal.h"
#include "mcp/schema/schema.h"

static struct region *region;

static void set_up(void)
{
    region = region_new(16 << 20);
}

static void tear_down(void)
{
    region_free(region);
}

TestSuite(mcp, .init = set_up, .fini = tear_down);

static value parse(const char *text)
{
    value parsed;
    struct error error;
    cr_assert(jsonrpc_read(region, span_from(text), &parsed, &error), "%s: %s", text,
              error.message);
    return parsed;
}

// --- schema --------------------------------------------------------------------------------------

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

#define SCHEMA                                                                                     \
    "{\"type\":\"object\",\"properties\":{\"code\":{\"type\":\"string\"},\"timeout\":{\"type\":"   \
    "\"integer\",\"minimum\":0,\"maximum\":60},\"mode\":{\"enum\":[\"a\",\"b\",1]},\"list\":{"     \
    "\"type\":"                                                                                    \
    "\"array\",\"items\":{\"type\":[\"string\",\"null\"]}},\"deep\":{\"type\":\"object\","         \
    "\"required\":"                                                                                \
    "[\"x\"],\"properties\":{\"x\":{\"const\":5}},\"additionalProperties\":{\"type\":\"boolean\"}" \
    "}},"                                                                                          \
    "\"required\":[\"code\"],\"additionalProperties\":false}"

Test(mcp, arguments_are_checked_and_named)
{
    expect_arguments(SCHEMA, "{\"code\":\"x\"}", NULL);
    expect_arguments(SCHEMA, "{\"code\":\"x\",\"timeout\":60,\"mode\":1,\"list\":[\"a\",null]}",
                     NULL);
    expect_arguments(SCHEMA, "{\"code\":\"x\",\"timeout\":5.0}", NULL);
    expect_arguments(SCHEMA, "{}", "Invalid params: missing required parameter 'code'");
    expect_arguments(SCHEMA, "{\"cod\":\"x\"}",
                     "Invalid params: unknown parameter 'cod' (did you mean 'code'?)");
    expect_arguments(SCHEMA, "{\"code\":\"x\",\"zzzzzzzz\":1}",
                     "Invalid params: unknown parameter 'zzzzzzzz' (known: code, timeout, mode, "
                     "list, deep)");
    expect_arguments("{\"type\":\"object\",\"additionalProperties\":false}", "{\"a\":1}",
                     "Invalid params: unknown parameter 'a' (known: none)");
    expect_arguments(SCHEMA, "{\"code\":5}", "Invalid params: 'code' must be a string, not 5");
    expect_arguments(SCHEMA, "{\"code\":null}",
                     "Invalid params: 'code' must be a string, not null");
    expect_arguments(SCHEMA, "{\"code\":\"x\",\"timeout\":5.5}",
                     "Invalid params: 'timeout' must be an integer, not 5.5");
    expect_arguments(SCHEMA, "{\"code\":\"x\",\"timeout\":-1}",
                     "Invalid params: 'timeout' must be at least 0, not -1");
    expect_arguments(SCHEMA, "{\"code\":\"x\",\"timeout\":99999999999999999999}",
                     "Invalid params: 'timeout' must be at most 60, not 99999999999999999999");
    expect_arguments(SCHEMA, "{\"code\":\"x\",\"mode\":\"c\"}",
                     "Invalid params: 'mode' must be one of \"a\", \"b\", 1, not \"c\"");
    expect_arguments(SCHEMA, "{\"code\":\"x\",\"list\":[\"a\",{}]}",
                     "Invalid params: 'list'[1] must be a string or null, not an object");
    expect_arguments(SCHEMA, "{\"code\":\"x\",\"deep\":{}}",
                     "Invalid params: 'deep' lacks the required member 'x'");
    expect_arguments(SCHEMA, "{\"code\":\"x\",\"deep\":{\"x\":6}}",
                     "Invalid params: 'deep'.x must be the constant of its schema, not 6");
    expect_arguments(SCHEMA, "{\"code\":\"x\",\"deep\":{\"x\":5,\"y\":1}}",
                     "Invalid params: 'deep'.y must be true or false, not 1");
}

Test(mcp, whole_numbers_are_integers_to_handlers)
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

Test(mcp, a_name_is_not_cut_inside_a_character)
{
    struct error error = {0};
    char arguments[128];
    snprintf(arguments, sizeof(arguments), "{\"%063d\u00e9\":1}", 0);
    cr_expect_not(schema_check_arguments(compile(SCHEMA), parse(arguments), true, &error));
    cr_expect(utf8_is_valid(error.message, strlen(error.message)), "%s", error.message);
}

static void expect_place(const char *schema, const char *instance, const char *message)
{
    struct error error = {0};
    cr_expect_not(schema_check(compile(schema), parse(instance), "root", &error), "%s", instance);
    cr_expect_str_eq(error.message, message);
}

Test(mcp, a_missing_member_is_told_before_a_wrong_one)
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

Test(mcp, names_only_leaves_the_rest_to_the_handler)
{
    struct error error;
    cr_expect(schema_check_arguments(compile(SCHEMA), parse("{\"code\":5}"), true, &error));
    cr_expect_not(schema_check_arguments(compile(SCHEMA), parse("{\"other\":5}"), true, &error));
}

Test(mcp, long_values_are_cut_between_characters)
{
    struct error error;
    const struct schema *schema = compile("{\"type\":\"integer\"}");
    value text = parse("\"ääääääääääääääääääääääääääääääääääääääääääääääääääääää\"");
    cr_assert_not(schema_check(schema, text, "x", &error));
    cr_expect(utf8_is_valid(error.message, strlen(error.message)));
    cr_expect(strlen(error.message) < 120);
    cr_expect_str_eq(error.message + strlen(error.message) - 3, "…");
}

// --- headers -------------------------------------------------------------------------------------

static void expect_header(const char *raw, const char *expected)
{
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, 1024);
    bool ok = header_decode(span_from(raw), &text);
    cr_expect_eq(ok, expected != NULL, "%s", raw);
    if (ok && expected)
        cr_expect_str_eq(buffer_text(&text), expected);
}

Test(mcp, header_values_decode_strictly)
{
    expect_header("plain", "plain");
    expect_header("", "");
    expect_header("=?base64?aGVsbG8=?=", "hello");
    expect_header("=?base64?w6Q=?=", "ä");
    expect_header("=?base64?"
                  "?=",
                  "");
    expect_header("=?base64?aGVsbG8=", "=?base64?aGVsbG8=");  // no suffix: literal
    expect_header("=?BASE64?aGVsbG8=?=", "=?BASE64?aGVsbG8=?=");
    expect_header("=?base64?aGVsbG8?=", NULL);    // padding missing
    expect_header("=?base64?aGVs bG8=?=", NULL);  // alphabet
    expect_header("=?base64?/w==?=", NULL);       // not UTF-8
}

// --- templates -----------------------------------------------------------------------------------

static void read_nothing(struct mcp_call *call, void *data)
{
    (void)data;
    mcp_call_reply_not_found(call);
}

static const char *match(struct mcp_server *server, const char *uri, const char *variable)
{
    value variables;
    if (!registry_match_template(server, region, span_from(uri), &variables))
        return NULL;
    return json_region_text(region, map_get(variables, variable));
}

Test(mcp, templates_match_and_decode)
{
    struct event_base *base = event_base_new();
    struct mcp_server *server =
        mcp_server_new(base, &(struct mcp_server_info){.name = "t", .version = "1"});
    mcp_server_add_template(
        server, &(struct mcp_resource){
                    .uri = "x://a/{id}/b{n}", .name = "t", .size = -1, .handler = read_nothing});
    cr_expect_str_eq(match(server, "x://a/1/b2", "id"), "\"1\"");
    cr_expect_str_eq(match(server, "x://a/1/b2", "n"), "\"2\"");
    cr_expect_str_eq(match(server, "x://a/%2F%c3%a4/bz", "id"), "\"/ä\"");
    cr_expect_null(match(server, "x://a//b2", "id"));
    cr_expect_null(match(server, "x://a/1/2/b2", "id"));
    cr_expect_null(match(server, "x://a/1/b", "n"));
    cr_expect_null(match(server, "x://a/%ff/b2", "id"));
    cr_expect_null(match(server, "x://a/%2/b2", "id"));
    cr_expect_null(match(server, "x://a/1", "id"));
    cr_expect_null(match(server, "", "id"));
    mcp_server_free(server);
    event_base_free(base);
}

// --- messages ------------------------------------------------------------------------------------

Test(mcp, messages_are_told_apart)
{
    static const struct {
        const char *text;
        enum message_kind kind;
    } cases[] = {
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\"}", MESSAGE_REQUEST},
        {"{\"jsonrpc\":\"2.0\",\"id\":\"\",\"method\":\"m\",\"params\":{}}", MESSAGE_REQUEST},
        {"{\"jsonrpc\":\"2.0\",\"id\":1.0,\"method\":\"m\"}", MESSAGE_REQUEST},
        {"{\"jsonrpc\":\"2.0\",\"method\":\"m\"}", MESSAGE_NOTIFICATION},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", MESSAGE_RESPONSE},
        {"{\"jsonrpc\":\"2.0\",\"error\":{}}", MESSAGE_RESPONSE},
        {"{\"jsonrpc\":\"2.0\",\"id\":1}", MESSAGE_INVALID},
        {"{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"m\"}", MESSAGE_INVALID},
        {"{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"m\"}", MESSAGE_INVALID},
        {"{\"jsonrpc\":2.0,\"id\":1,\"method\":\"m\"}", MESSAGE_INVALID},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":[]}", MESSAGE_INVALID},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":null}", MESSAGE_INVALID},
        {"[]", MESSAGE_INVALID},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        cr_expect_eq(message_classify(parse(cases[i].text)).kind, cases[i].kind, "%s",
                     cases[i].text);
}

// --- metrics -------------------------------------------------------------------------------------

Test(mcp, metrics_are_written_by_family)
{
    struct event_base *base = event_base_new();
    struct mcp_server *server =
        mcp_server_new(base, &(struct mcp_server_info){.name = "t", .version = "1"});
    struct mcp_metric *a = mcp_server_add_metric(server, MCP_COUNTER, "a_total", "k=\"1\"", "An a");
    mcp_metric_set(mcp_server_add_metric(server, MCP_GAUGE, "b", NULL, "A b"), 1.5);
    mcp_metric_add(mcp_server_add_metric(server, MCP_COUNTER, "a_total", "k=\"2\"", "An a"), 2);
    cr_expect_eq(mcp_server_add_metric(server, MCP_COUNTER, "a_total", "k=\"1\"", "An a"), a);
    mcp_metric_observe(mcp_server_add_metric(server, MCP_HISTOGRAM, "c", NULL, "A c"), 0.3);
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, 1 << 20);
    metrics_write(server->metrics, &text);
    const char *start = "# HELP a_total An a\n# TYPE a_total counter\na_total{k=\"1\"} 0\n"
                        "a_total{k=\"2\"} 2\n# HELP b A b\n# TYPE b gauge\nb 1.5\n";
    cr_expect(strncmp(buffer_text(&text), start, strlen(start)) == 0, "%s", buffer_text(&text));
    cr_expect(strstr(buffer_text(&text), "c_bucket{le=\"0.25\"} 0\nc_bucket{le=\"0.5\"} 1\n"));
    cr_expect(strstr(buffer_text(&text), "c_sum 0.3\nc_count 1\n"));
    mcp_server_free(server);
    event_base_free(base);
}
