// add-context, list-context, remove-context, clear-context, render-context; notifications of
// changes.
#include <event2/event.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/memory.h"
#include "context/operation.h"
#include "tools/context_queue.h"
#include "tools/context_resources.h"
#include "tools/tools.h"

enum {
    OPERATIONS = CONTEXT_OPERATION_RENDER + 1,
    COALESCE_MS = 50,
    POLL_MS = 500,
    TOUCHED_MAX = 64,  // items named in one round of notifications
};

struct binding {
    struct context_queue *queue;
    enum context_operation operation;
};

struct context_tools {
    struct mcp_server *server;
    struct context_store *store;
    struct binding bindings[OPERATIONS];
    struct event *announce;  // pending while changes wait to be announced
    struct event *poll;
    int64_t touched[TOUCHED_MAX];
    size_t touched_count;
};

// --- tools ---------------------------------------------------------------------------------------

static bool operate(const struct context_attempt *attempt)
{
    const struct binding *binding = attempt->data;
    struct context_result result =
        context_operate(attempt->store, mcp_call_region(attempt->call), binding->operation,
                        mcp_call_arguments(attempt->call));
    if (!result.ok && context_attempt_again(attempt, &result.error))
        return false;
    mcp_call_reply(attempt->call, value_text(result.text), result.structured, !result.ok);
    return true;
}

static void handle_tool(struct mcp_call *call, void *data)
{
    const struct binding *binding = data;
    context_queue_run(binding->queue, operate, call, data);
}

static const struct tool tool_table[OPERATIONS] = {
    [CONTEXT_OPERATION_ADD] = {"add-context", MCP_TOOL_NAMES_ONLY, handle_tool},
    [CONTEXT_OPERATION_LIST] = {"list-context",
                                MCP_TOOL_NAMES_ONLY | MCP_TOOL_READ_ONLY | MCP_TOOL_IDEMPOTENT,
                                handle_tool},
    [CONTEXT_OPERATION_REMOVE] = {"remove-context",
                                  MCP_TOOL_NAMES_ONLY | MCP_TOOL_DESTRUCTIVE | MCP_TOOL_IDEMPOTENT,
                                  handle_tool},
    [CONTEXT_OPERATION_CLEAR] = {"clear-context",
                                 MCP_TOOL_NAMES_ONLY | MCP_TOOL_DESTRUCTIVE | MCP_TOOL_IDEMPOTENT,
                                 handle_tool},
    [CONTEXT_OPERATION_RENDER] = {"render-context",
                                  MCP_TOOL_NAMES_ONLY | MCP_TOOL_READ_ONLY | MCP_TOOL_IDEMPOTENT,
                                  handle_tool},
};

// --- notifications -------------------------------------------------------------------------------

static void schedule(struct event *event, long milliseconds)
{
    struct timeval delay = timeval_from_ms(milliseconds);
    event_add(event, &delay);
}

static void announce(evutil_socket_t descriptor, short events, void *data)
{
    (void)descriptor;
    (void)events;
    struct context_tools *context = data;
    mcp_notify_resource_updated(context->server, CONTEXT_URI_ITEMS);
    mcp_notify_resource_updated(context->server, CONTEXT_URI_RENDERED);
    for (size_t i = 0; i < context->touched_count; i++) {
        char id[CONTEXT_ID_SIZE];
        char uri[CONTEXT_ID_SIZE + sizeof(CONTEXT_URI_ITEMS) + 1];
        context_id_format(context->touched[i], id);
        snprintf(uri, sizeof(uri), "%s/%s", CONTEXT_URI_ITEMS, id);
        mcp_notify_resource_updated(context->server, uri);
    }
    context->touched_count = 0;
}

static void on_change(int64_t number, void *data)
{
    struct context_tools *context = data;
    bool known = number == 0;
    for (size_t i = 0; i < context->touched_count && !known; i++)
        known = context->touched[i] == number;
    if (!known && context->touched_count < TOUCHED_MAX)
        context->touched[context->touched_count++] = number;
    if (!event_pending(context->announce, EV_TIMEOUT, NULL))
        schedule(context->announce, COALESCE_MS);
}

static void find_subscriber(struct span uri, void *data)
{
    if (span_starts_with(uri, SPAN("context://")))
        *(bool *)data = true;
}

// Another process does not say which items it changed: all that clients are subscribed to may have.
static void touch_subscribed(struct span uri, void *data)
{
    struct span prefix = SPAN(CONTEXT_URI_ITEMS "/");
    int64_t number = 0;
    if (span_starts_with(uri, prefix) &&
        context_id_parse((struct span){uri.data + prefix.length, uri.length - prefix.length},
                         &number))
        on_change(number, data);
}

// Other processes change the file without notice; it is polled while a client is subscribed.
static void poll_store(evutil_socket_t descriptor, short events, void *data)
{
    (void)descriptor;
    (void)events;
    struct context_tools *context = data;
    bool subscribed = false;
    mcp_server_visit_subscriptions(context->server, find_subscriber, &subscribed);
    if (subscribed && context_store_poll(context->store)) {
        on_change(0, context);
        mcp_server_visit_subscriptions(context->server, touch_subscribed, context);
    }
}

// --- registration --------------------------------------------------------------------------------

static void register_tools(struct tools *tools, struct context_tools *context)
{
    for (int i = 0; i < OPERATIONS; i++) {
        context->bindings[i] = (struct binding){tools->context_queue, (enum context_operation)i};
        tools_add(tools, &tool_table[i], &context->bindings[i]);
    }
}

struct context_tools *tools_register_context(struct tools *tools)
{
    struct context_tools *context = memory_alloc_zero(sizeof(*context));
    context->server = tools->server;
    context->store = tools->contexts;
    context->announce = evtimer_new(tools->base, announce, context);
    context->poll = event_new(tools->base, -1, EV_PERSIST, poll_store, context);
    schedule(context->poll, POLL_MS);
    register_tools(tools, context);
    context_resources_register(tools->server, tools->context_queue);
    context_store_on_change(tools->contexts, on_change, context);
    return context;
}

void context_tools_free(struct context_tools *context)
{
    if (!context)
        return;
    context_store_on_change(context->store, NULL, NULL);
    event_free(context->announce);
    event_free(context->poll);
    memory_free(context);
}
