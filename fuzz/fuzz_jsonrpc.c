// Lines of a client, as they come: each must be answered with protocol or not at all, and the server must
// still answer the next good request.
#include <event2/event.h>
#include <string.h>

#include "base/assert.h"
#include "base/memory.h"
#include "fuzz.h"
#include "mcp/mcp_internal.h"

struct fuzz_exchange {
    struct exchange base;
    size_t *answers;
};

static void check_message(struct span text)
{
    struct region *region = region_new(64 << 20);
    struct error error;
    value whole;
    CHECK(jsonrpc_read(region, text, &whole, &error) && value_is_map(whole));
    CHECK(span_equal_text(value_text(map_get(whole, "jsonrpc")), "2.0"));
    region_free(region);
}

static void fuzz_notify(struct exchange *exchange, struct span message)
{
    (void)exchange;
    check_message(message);
}

static void fuzz_write(struct exchange *exchange, const struct span *messages, size_t count,
                       int status)
{
    (void)status;
    for (size_t i = 0; i < count; i++)
        check_message(messages[i]);
    size_t *answers = ((struct fuzz_exchange *)exchange)->answers;
    if (answers)
        *answers += count;
    exchange_release(exchange);
    memory_free(exchange);
}

static const struct exchange_ops fuzz_ops = {.notify = fuzz_notify, .write = fuzz_write};

static void peer_send(struct peer *peer, struct span message)
{
    (void)peer;
    check_message(message);
}

static void take(struct peer *peer, struct span line, size_t *answers)
{
    struct fuzz_exchange *exchange = memory_alloc(sizeof(*exchange));
    exchange_init(&exchange->base, &fuzz_ops);
    exchange->answers = answers;
    dispatch_text(peer->server, &exchange->base, peer, line);
}

// --- a server with one of everything -------------------------------------------------------------

static void answer_tool(struct mcp_call *call, void *data)
{
    (void)data;
    value answer;
    mcp_call_progress(call, 1, 2, "x");
    mcp_call_log(call, MCP_LOG_ERROR, NULL, mcp_call_arguments(call));
    value wanted = mcp_call_argument(call, "ask");
    if (wanted.tag == VALUE_BOOLEAN && wanted.boolean &&
        !mcp_call_need_form(call, "key", "?", "{\"type\":\"object\"}", &answer)) {
        mcp_call_ask(call);
        return;
    }
    if (value_is_string(mcp_call_argument(call, "task")))
        mcp_call_become_task(call);
    mcp_notify_resource_updated(mcp_call_server(call), "x://a");
    mcp_call_reply(call, SPAN("done"), value_nil(), false);
}

static void answer_resource(struct mcp_call *call, void *data)
{
    (void)data;
    mcp_call_reply_text(call, "text/plain", SPAN("text"));
}

static void answer_prompt(struct mcp_call *call, void *data)
{
    (void)data;
    mcp_call_add_text(call, SPAN("text"));
    mcp_call_reply_prompt(call);
}

static void answer_completion(struct mcp_call *call, void *data)
{
    (void)data;
    mcp_call_add_completion(call, value_text(mcp_call_argument(call, "value")));
    mcp_call_reply_completion(call);
}

static struct mcp_server *new_server(struct event_base *base)
{
    struct mcp_server *server =
        mcp_server_new(base, &(struct mcp_server_info){"fuzz", NULL, "1", NULL, true, true, true,
                                                       true, true, true, false});
    mcp_server_add_tool(
        server,
        &(struct mcp_tool){
            .name = "t",
            .description = "d",
            .handler = answer_tool,
            .input_schema =
                "{\"type\":\"object\",\"properties\":{\"ask\":{\"type\":\"boolean\"},\"task\":{"
                "\"type\":\"string\"},\"n\":{\"type\":[\"integer\",\"null\"],\"minimum\":0}},"
                "\"additionalProperties\":false}"});
    mcp_server_add_resource(
        server, &(struct mcp_resource){
                    .uri = "x://a", .name = "a", .size = -1, .handler = answer_resource});
    mcp_server_add_template(
        server, &(struct mcp_resource){
                    .uri = "x://{a}/b{c}", .name = "b", .size = -1, .handler = answer_resource});
    mcp_server_add_prompt(server, &(struct mcp_prompt){.name = "p",
                                                       .description = "d",
                                                       .arguments = {{"a", "d", true}},
                                                       .handler = answer_prompt});
    mcp_server_add_completer(server, &(struct mcp_completer){"p", "a", answer_completion, NULL});
    return server;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct event_base *base;
    static struct mcp_server *server;  // one for all inputs, as it is one for all clients
    if (!base) {
        base = event_base_new();
        server = new_server(base);
    }
    struct peer peer;
    peer_init(&peer, server, peer_send);

    const char *text = (const char *)data, *end = text + size;
    while (text < end) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        const char *stop = newline ? newline : end;
        take(&peer, (struct span){text, (size_t)(stop - text)}, NULL);
        text = stop + 1;
        event_base_loop(base, EVLOOP_NONBLOCK);
    }
    while (!TAILQ_EMPTY(&peer.calls))  // whatever the input left open
        call_cancel(TAILQ_FIRST(&peer.calls));
    size_t answers = 0;
    take(&peer, SPAN("{\"jsonrpc\":\"2.0\",\"id\":\"last\",\"method\":\"ping\"}"), &answers);
    CHECK(answers == 1);
    CHECK(peer.call_count == 0);
    peer_release(&peer);
    return 0;
}
