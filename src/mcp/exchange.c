// Exchanges (the way back for the responses to one message or batch) and peers (clients of the 2024
// protocol).
#include "base/assert.h"
#include "base/memory.h"
#include "mcp/mcp_internal.h"

// Room for the largest responses to the largest batch.
enum { RESPONSES_LIMIT = MCP_BATCH_MAX * MCP_RESPONSE_LIMIT };

void exchange_init(struct exchange *exchange, const struct exchange_ops *ops)
{
    *exchange = (struct exchange){.ops = ops, .open = 1, .status = 200};
    buffer_init(&exchange->responses, RESPONSES_LIMIT);
}

void exchange_release(struct exchange *exchange)
{
    buffer_release(&exchange->responses);
}

void exchange_notify(struct exchange *exchange, struct span message)
{
    exchange->ops->notify(exchange, message);
}

static void collect(struct exchange *exchange, struct span message)
{
    if (message.length == 0)
        return;
    CHECK(exchange->response_count < MCP_BATCH_MAX);
    buffer_append_span(&exchange->responses, message);
    CHECK(!exchange->responses.failed);
    exchange->ends[exchange->response_count++] = exchange->responses.length;
}

void exchange_finish(struct exchange *exchange, struct span message, int status)
{
    CHECK(exchange->open > 0);
    exchange->open--;
    if (!exchange->is_batch) {
        exchange->ops->write(exchange, &message, message.length > 0, status);
        return;
    }
    collect(exchange, message);
    if (exchange->open > 0)
        return;
    struct span messages[MCP_BATCH_MAX];
    size_t start = 0;
    for (size_t i = 0; i < exchange->response_count; i++) {
        messages[i] = (struct span){exchange->responses.data + start, exchange->ends[i] - start};
        start = exchange->ends[i];
    }
    exchange->ops->write(exchange, messages, exchange->response_count, exchange->status);
}

// --- peers ---------------------------------------------------------------------------------------

void peer_init(struct peer *peer, struct mcp_server *server,
               void (*send)(struct peer *peer, struct span message))
{
    *peer = (struct peer){
        .server = server,
        .send = send,
        .version = VERSION_LAST_OF_2024,
        .structured = !server->info.text_results,
        .log_level = MCP_LOG_INFO,
    };
    TAILQ_INIT(&peer->calls);
    TAILQ_INIT(&peer->requests);
    TAILQ_INSERT_TAIL(&server->peers, peer, link);
}

void peer_release(struct peer *peer)
{
    struct mcp_call *call;
    while ((call = TAILQ_FIRST(&peer->calls))) {
        TAILQ_REMOVE(&peer->calls, call, peer_link);
        call->peer = NULL;
    }
    struct client_request *request;
    while ((request = TAILQ_FIRST(&peer->requests))) {  // their calls end at the time limit
        TAILQ_REMOVE(&peer->requests, request, link);
        memory_free(request);
    }
    for (size_t i = 0; i < peer->subscription_count; i++)
        memory_free(peer->subscriptions[i]);
    TAILQ_REMOVE(&peer->server->peers, peer, link);
}

struct mcp_call *peer_find_call(struct peer *peer, struct span id_json)
{
    struct mcp_call *call;
    TAILQ_FOREACH (call, &peer->calls, peer_link)
        if (span_equal_text(id_json, call->id))
            return call;
    return NULL;
}
