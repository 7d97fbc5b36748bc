// Parts of the MCP library that are easier to test alone: header values, URI templates, kinds of
// messages, metrics.
#include <criterion/criterion.h>
#include <event2/event.h>
#include <string.h>

#include "base/array.h"
#include "mcp/http/http_headers.h"
#include "mcp/mcp_internal.h"

#include "mcp_support.h"  // last: its region would shadow parameters of the others

TestSuite(mcp, .init = set_up, .fini = tear_down);

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
