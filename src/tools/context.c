// add-context, list-context, remove-context, clear-context, render-context; notifications of changes.
#include <event2/event.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/memory.h"
#include "context/operation.h"
#include "tools/context_resources.h"
#include "tools/context_tools.h"
#include "tools/schema.h"

enum {
    OPERATIONS = CONTEXT_OPERATION_RENDER + 1,
    COALESCE_MS = 50,
    POLL_MS = 500,
    TOUCHED_MAX = 64,  // items named in one round of notifications
};

struct binding {
    struct context_tools *context;
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

// --- tools --------------------------------------------------------------------------------------

#define TYPE_NAMES "\"code\",\"text\",\"file\",\"repl-history\",\"error\",\"custom\""
#define SCHEMA_TYPES                                                                           \
    "\"types\":{\"type\":\"array\",\"items\":{\"type\":\"string\",\"enum\":[" TYPE_NAMES "]}," \
    "\"description\":\"only items of these types\"}"
#define SCHEMA_LIMIT SCHEMA_INTEGER("limit", "only the newest so many items, >= 0")
#define SCHEMA_ID SCHEMA_STRING("id", "id of an item, e.g. ctx-3")

#define SCHEMA_ITEM                                                                               \
    "{\"type\":\"object\",\"properties\":{\"id\":{\"type\":\"string\",\"pattern\":\"^ctx-[0-9]+$" \
    "\"},"                                                                                        \
    "\"type\":{\"type\":\"string\",\"enum\":[" TYPE_NAMES "]},\"content\":{\"type\":\"string\"}," \
    "\"metadata\":{\"type\":[\"object\",\"null\"]},\"timestamp\":{\"type\":\"integer\","          \
    "\"minimum\":0}},"                                                                            \
    "\"required\":[\"id\",\"type\",\"content\",\"metadata\",\"timestamp\"],"                      \
    "\"additionalProperties\":false}"
#define SCHEMA_SUMMARY                                                                             \
    "{\"type\":\"object\",\"properties\":{\"id\":{\"type\":\"string\"},\"type\":{\"type\":"        \
    "\"string\"},"                                                                                 \
    "\"timestamp\":{\"type\":\"integer\"},\"metadata\":{\"type\":[\"object\",\"null\"]},"          \
    "\"characters\":{\"type\":\"integer\"},\"pinned\":{\"type\":\"boolean\"},"                     \
    "\"preview\":{\"type\":\"string\"}},\"required\":[\"id\",\"type\",\"timestamp\",\"metadata\"," \
    "\"characters\",\"pinned\",\"preview\"]}"
#define SCHEMA_CONTEXT_RESULT(members)                                                             \
    "{\"type\":\"object\",\"properties\":{\"ok\":{\"type\":\"boolean\"}," members "," SCHEMA_ERROR \
    "},\"required\":[\"ok\"]}"
#define INTEGER_MEMBER(name) "\"" name "\":{\"type\":\"integer\"}"
#define BOOLEAN_MEMBER(name) "\"" name "\":{\"type\":\"boolean\"}"

static const struct mcp_tool tool_table[OPERATIONS] = {
    [CONTEXT_OPERATION_ADD] =
        {
            .name = "add-context",
            .title = "Add context",
            .description = "Keep a piece of code, text, a file, a REPL turn or an error for later "
                           "prompts. The item "
                           "gets an id (ctx-N) and survives restarts. When the window is full the "
                           "oldest unpinned "
                           "item is dropped and reported. With `id` and `pinned` only, pins or "
                           "unpins an item.",
            .input_schema = SCHEMA_OBJECT(
                "", SCHEMA_STRING("content", "the text to keep, at most 1 MiB"),
                "\"type\":{\"type\":\"string\",\"enum\":[" TYPE_NAMES
                "],\"description\":\"default code\"}",
                "\"metadata\":{\"type\":[\"object\",\"null\"],\"description\":\"free; standard "
                "keys: filename, start_line, end_line, package; type custom needs custom_type\"}",
                SCHEMA_BOOLEAN("pinned", "never drop it, default false"), SCHEMA_ID),
            .output_schema = SCHEMA_CONTEXT_RESULT("\"item\":" SCHEMA_ITEM "," BOOLEAN_MEMBER(
                "pinned") ",\"evicted\":{\"type\":\"array\","
                          "\"items\":" SCHEMA_ITEM "},\"warnings\":" SCHEMA_OBJECTS
                          "," INTEGER_MEMBER("count") "," INTEGER_MEMBER("max_items")),
            .flags = MCP_TOOL_NAMES_ONLY,
        },
    [CONTEXT_OPERATION_LIST] =
        {
            .name = "list-context",
            .title = "List context",
            .description =
                "What is kept, oldest first, with a preview of each item. `content` adds "
                "the full items to the structured result.",
            .input_schema =
                SCHEMA_OBJECT("", SCHEMA_TYPES, SCHEMA_LIMIT,
                              "\"ids\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},"
                              "\"description\":\"only these items\"}",
                              SCHEMA_BOOLEAN("content", "full items, too; default false")),
            .output_schema = SCHEMA_CONTEXT_RESULT(
                "\"summaries\":{\"type\":\"array\",\"items\":" SCHEMA_SUMMARY
                "},\"items\":{\"type\":"
                "\"array\",\"items\":" SCHEMA_ITEM "}," INTEGER_MEMBER("count") "," INTEGER_MEMBER(
                    "total") "," INTEGER_MEMBER("max_items")),
            .flags = MCP_TOOL_NAMES_ONLY | MCP_TOOL_READ_ONLY | MCP_TOOL_IDEMPOTENT,
        },
    [CONTEXT_OPERATION_REMOVE] =
        {
            .name = "remove-context",
            .title = "Remove context",
            .description = "Delete one item, pinned or not. Its id is never used again.",
            .input_schema = SCHEMA_OBJECT("\"id\"", SCHEMA_ID),
            .output_schema =
                SCHEMA_CONTEXT_RESULT("\"removed\":" SCHEMA_ITEM "," INTEGER_MEMBER("count")),
            .flags = MCP_TOOL_NAMES_ONLY | MCP_TOOL_DESTRUCTIVE | MCP_TOOL_IDEMPOTENT,
        },
    [CONTEXT_OPERATION_CLEAR] =
        {
            .name = "clear-context",
            .title = "Clear context",
            .description = "Delete all items, or those of some types. Pinned items stay unless "
                           "`include_pinned` is true.",
            .input_schema =
                SCHEMA_OBJECT("", SCHEMA_TYPES,
                              SCHEMA_BOOLEAN("include_pinned", "pinned items, too; default false")),
            .output_schema =
                SCHEMA_CONTEXT_RESULT(INTEGER_MEMBER("removed") "," INTEGER_MEMBER("kept_pinned")),
            .flags = MCP_TOOL_NAMES_ONLY | MCP_TOOL_DESTRUCTIVE | MCP_TOOL_IDEMPOTENT,
        },
    [CONTEXT_OPERATION_RENDER] =
        {
            .name = "render-context",
            .title = "Render context",
            .description =
                "The items as one Markdown document for a prompt. With `max_chars` whole "
                "items are left out, oldest unpinned first, and the document says so.",
            .input_schema = SCHEMA_OBJECT(
                "", SCHEMA_TYPES, SCHEMA_LIMIT,
                SCHEMA_INTEGER("max_chars", "longest document in characters, >= 200"),
                "\"style\":{\"type\":\"string\",\"enum\":[\"block\",\"inline\"],\"description\":"
                "\"block (default): location on its own line; inline: in the heading\"}"),
            .output_schema = SCHEMA_CONTEXT_RESULT(
                "\"markdown\":{\"type\":\"string\"}," INTEGER_MEMBER("characters") "," INTEGER_MEMBER(
                    "shown") "," INTEGER_MEMBER("omitted") "," BOOLEAN_MEMBER("truncated")),
            .flags = MCP_TOOL_NAMES_ONLY | MCP_TOOL_READ_ONLY | MCP_TOOL_IDEMPOTENT,
        },
};

static void handle_tool(struct mcp_call *call, void *data)
{
    struct binding *binding = data;
    struct context_result result = context_operate(binding->context->store, mcp_call_region(call),
                                                   binding->operation, mcp_call_arguments(call));
    mcp_call_reply(call, value_text(result.text), result.structured, !result.ok);
}

// --- notifications ------------------------------------------------------------------------------

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

// Another process does not say which items it changed: whoever waits for one is told.
static void touch_subscribed(struct span uri, void *data)
{
    struct span prefix = SPAN(CONTEXT_URI_ITEMS "/");
    int64_t number = 0;
    if (span_starts_with(uri, prefix) &&
        context_id_parse((struct span){uri.data + prefix.length, uri.length - prefix.length},
                         &number))
        on_change(number, data);
}

// Other processes do not tell that they change the file; while somebody listens it is looked at.
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

// --- registration -------------------------------------------------------------------------------

static void register_tools(struct tools *tools, struct context_tools *context)
{
    for (int i = 0; i < OPERATIONS; i++) {
        context->bindings[i] = (struct binding){context, (enum context_operation)i};
        struct mcp_tool tool = tool_table[i];
        tool.handler = handle_tool;
        tool.data = &context->bindings[i];
        if (tools_selected(tools, tool.name))
            mcp_server_add_tool(tools->server, &tool);
    }
}

struct context_tools *tools_register_context(struct tools *tools, struct context_store *store,
                                             struct event_base *base)
{
    struct context_tools *context = memory_alloc_zero(sizeof(*context));
    context->server = tools->server;
    context->store = store;
    context->announce = evtimer_new(base, announce, context);
    context->poll = event_new(base, -1, EV_PERSIST, poll_store, context);
    schedule(context->poll, POLL_MS);
    register_tools(tools, context);
    context_resources_register(tools->server, store);
    context_store_on_change(store, on_change, context);
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
