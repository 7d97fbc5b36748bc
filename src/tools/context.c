// add-context, list-context, remove-context, clear-context, render-context; context:// resources;
// the prompt with-context.
#include <event2/event.h>
#include <stdio.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "context/operation.h"
#include "tools/context_tools.h"
#include "tools/schema.h"
#include "value/json.h"

enum {
    OPERATIONS = CONTEXT_OPERATION_RENDER + 1,
    COALESCE_MS = 50,
    POLL_MS = 500,
    TOUCHED_MAX = 64,  // items named in one round of notifications
};

#define URI_ITEMS "context://items"
#define URI_RENDERED "context://rendered"
#define URI_ITEM "context://items/{id}"

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
#define SCHEMA_TYPES \
    "\"types\":{\"type\":\"array\",\"items\":{\"type\":\"string\",\"enum\":[" TYPE_NAMES "]}," \
    "\"description\":\"only items of these types\"}"
#define SCHEMA_LIMIT SCHEMA_INTEGER("limit", "only the newest so many items, >= 0")
#define SCHEMA_ID SCHEMA_STRING("id", "id of an item, e.g. ctx-3")

#define SCHEMA_ITEM                                                                              \
    "{\"type\":\"object\",\"properties\":{\"id\":{\"type\":\"string\",\"pattern\":\"^ctx-[0-9]+$\"}," \
    "\"type\":{\"type\":\"string\",\"enum\":[" TYPE_NAMES "]},\"content\":{\"type\":\"string\"},"     \
    "\"metadata\":{\"type\":[\"object\",\"null\"]},\"timestamp\":{\"type\":\"integer\",\"minimum\":0}}," \
    "\"required\":[\"id\",\"type\",\"content\",\"metadata\",\"timestamp\"],\"additionalProperties\":false}"
#define SCHEMA_SUMMARY                                                                           \
    "{\"type\":\"object\",\"properties\":{\"id\":{\"type\":\"string\"},\"type\":{\"type\":\"string\"}," \
    "\"timestamp\":{\"type\":\"integer\"},\"metadata\":{\"type\":[\"object\",\"null\"]},"               \
    "\"characters\":{\"type\":\"integer\"},\"pinned\":{\"type\":\"boolean\"},"                          \
    "\"preview\":{\"type\":\"string\"}},\"required\":[\"id\",\"type\",\"timestamp\",\"metadata\","      \
    "\"characters\",\"pinned\",\"preview\"]}"
#define SCHEMA_CONTEXT_RESULT(members)                                                          \
    "{\"type\":\"object\",\"properties\":{\"ok\":{\"type\":\"boolean\"}," members "," SCHEMA_ERROR \
    "},\"required\":[\"ok\"]}"
#define INTEGER_MEMBER(name) "\"" name "\":{\"type\":\"integer\"}"
#define BOOLEAN_MEMBER(name) "\"" name "\":{\"type\":\"boolean\"}"

static const struct mcp_tool tool_table[OPERATIONS] = {
    [CONTEXT_OPERATION_ADD] =
        {
            .name = "add-context",
            .title = "Add context",
            .description =
                "Keep a piece of code, text, a file, a REPL turn or an error for later prompts. The item "
                "gets an id (ctx-N) and survives restarts. When the window is full the oldest unpinned "
                "item is dropped and reported. With `id` and `pinned` only, pins or unpins an item.",
            .input_schema = SCHEMA_OBJECT(
                SCHEMA_STRING("content", "the text to keep, at most 1 MiB") ","
                "\"type\":{\"type\":\"string\",\"enum\":[" TYPE_NAMES "],\"description\":\"default code\"},"
                "\"metadata\":{\"type\":[\"object\",\"null\"],\"description\":\"free; standard keys: "
                "filename, start_line, end_line, package; type custom needs custom_type\"},"
                SCHEMA_BOOLEAN("pinned", "never drop it, default false") "," SCHEMA_ID, ""),
            .output_schema = SCHEMA_CONTEXT_RESULT(
                "\"item\":" SCHEMA_ITEM "," BOOLEAN_MEMBER("pinned") ",\"evicted\":{\"type\":\"array\","
                "\"items\":" SCHEMA_ITEM "},\"warnings\":" SCHEMA_OBJECTS "," INTEGER_MEMBER("count") ","
                INTEGER_MEMBER("max_items")),
            .flags = MCP_TOOL_NAMES_ONLY,
        },
    [CONTEXT_OPERATION_LIST] =
        {
            .name = "list-context",
            .title = "List context",
            .description = "What is kept, oldest first, with a preview of each item. `content` adds "
                           "the full items to the structured result.",
            .input_schema = SCHEMA_OBJECT(
                SCHEMA_TYPES "," SCHEMA_LIMIT ",\"ids\":{\"type\":\"array\",\"items\":{\"type\":"
                "\"string\"},\"description\":\"only these items\"},"
                SCHEMA_BOOLEAN("content", "full items, too; default false"), ""),
            .output_schema = SCHEMA_CONTEXT_RESULT(
                "\"summaries\":{\"type\":\"array\",\"items\":" SCHEMA_SUMMARY "},\"items\":{\"type\":"
                "\"array\",\"items\":" SCHEMA_ITEM "}," INTEGER_MEMBER("count") ","
                INTEGER_MEMBER("total") "," INTEGER_MEMBER("max_items")),
            .flags = MCP_TOOL_NAMES_ONLY | MCP_TOOL_READ_ONLY | MCP_TOOL_IDEMPOTENT,
        },
    [CONTEXT_OPERATION_REMOVE] =
        {
            .name = "remove-context",
            .title = "Remove context",
            .description = "Delete one item, pinned or not. Its id is never used again.",
            .input_schema = SCHEMA_OBJECT(SCHEMA_ID, "\"id\""),
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
            .input_schema = SCHEMA_OBJECT(
                SCHEMA_TYPES "," SCHEMA_BOOLEAN("include_pinned", "pinned items, too; default false"),
                ""),
            .output_schema =
                SCHEMA_CONTEXT_RESULT(INTEGER_MEMBER("removed") "," INTEGER_MEMBER("kept_pinned")),
            .flags = MCP_TOOL_NAMES_ONLY | MCP_TOOL_DESTRUCTIVE | MCP_TOOL_IDEMPOTENT,
        },
    [CONTEXT_OPERATION_RENDER] =
        {
            .name = "render-context",
            .title = "Render context",
            .description = "The items as one Markdown document for a prompt. With `max_chars` whole "
                           "items are left out, oldest unpinned first, and the document says so.",
            .input_schema = SCHEMA_OBJECT(
                SCHEMA_TYPES "," SCHEMA_LIMIT ","
                SCHEMA_INTEGER("max_chars", "longest document in characters, >= 200") ","
                "\"style\":{\"type\":\"string\",\"enum\":[\"block\",\"inline\"],\"description\":"
                "\"block (default): location on its own line; inline: in the heading\"}", ""),
            .output_schema = SCHEMA_CONTEXT_RESULT(
                "\"markdown\":{\"type\":\"string\"}," INTEGER_MEMBER("characters") ","
                INTEGER_MEMBER("shown") "," INTEGER_MEMBER("omitted") "," BOOLEAN_MEMBER("truncated")),
            .flags = MCP_TOOL_NAMES_ONLY | MCP_TOOL_READ_ONLY | MCP_TOOL_IDEMPOTENT,
        },
};

static void handle_tool(struct mcp_call *call, void *data)
{
    struct binding *binding = data;
    struct context_result result =
        context_operate(binding->context->store, mcp_call_region(call), binding->operation,
                        mcp_call_arguments(call));
    mcp_call_reply(call, value_text(result.text), result.structured, !result.ok);
}

// --- resources ----------------------------------------------------------------------------------

static void reply_json(struct mcp_call *call, value v)
{
    CLEANUP_BUFFER struct buffer json;
    buffer_init(&json, BUFFER_DEFAULT_LIMIT);
    json_write(&json, v, 0, NULL);
    mcp_call_reply_text(call, "application/json", buffer_span(&json));
}

static void reply_store_error(struct mcp_call *call, const struct context_error *error)
{
    char message[CONTEXT_MESSAGE_SIZE + 64];
    snprintf(message, sizeof(message), "%s: %s", context_code_name(error->code), error->message);
    mcp_call_reply_error(call, MCP_INTERNAL_ERROR, message);
}

static void read_items(struct mcp_call *call, void *data)
{
    struct context_tools *context = data;
    struct context_error error;
    value whole;
    if (context_store_value(context->store, mcp_call_region(call), &whole, &error))
        reply_json(call, whole);
    else
        reply_store_error(call, &error);
}

static void read_item(struct mcp_call *call, void *data)
{
    struct context_tools *context = data;
    struct context_error error;
    struct context_item item;
    int64_t number = 0;
    value id = mcp_call_argument(call, "id");
    bool found = context_id_check(&id, &number, &error) &&
                 context_store_get(context->store, mcp_call_region(call), number, &item, &error);
    if (found)
        reply_json(call, context_item_value(mcp_call_region(call), &item));
    else if (error.code == CONTEXT_INVALID_ID || error.code == CONTEXT_NOT_FOUND)
        mcp_call_reply_not_found(call);
    else
        reply_store_error(call, &error);
}

static void read_rendered(struct mcp_call *call, void *data)
{
    struct context_tools *context = data;
    struct region *region = mcp_call_region(call);
    struct context_result result =
        context_operate(context->store, region, CONTEXT_OPERATION_RENDER, map_new(region));
    if (result.ok)
        mcp_call_reply_text(call, "text/markdown", value_text(result.text));
    else
        reply_store_error(call, &result.error);
}

static const struct mcp_resource resource_table[] = {
    {
        .uri = URI_ITEMS,
        .name = "context-items",
        .title = "Context items",
        .description = "All context items as JSON, oldest first",
        .mime_type = "application/json",
        .size = -1,
        .handler = read_items,
    },
    {
        .uri = URI_RENDERED,
        .name = "context-rendered",
        .title = "Rendered context",
        .description = "All context items as one Markdown document for a prompt",
        .mime_type = "text/markdown",
        .size = -1,
        .handler = read_rendered,
    },
};

static const struct mcp_resource item_template = {
    .uri = URI_ITEM,
    .name = "context-item",
    .title = "Context item",
    .description = "One context item as JSON",
    .mime_type = "application/json",
    .size = -1,
    .handler = read_item,
};

// --- completion ---------------------------------------------------------------------------------

struct numbers {
    struct region *region;
    int64_t *numbers;
    size_t count;
};

static void collect_number(const struct context_item *item, void *data)
{
    struct numbers *numbers = data;
    size_t size = sizeof(*numbers->numbers);
    numbers->numbers = region_resize(numbers->region, numbers->numbers, numbers->count * size,
                                     (numbers->count + 1) * size);
    numbers->numbers[numbers->count++] = item->number;
}

static struct span typed(const struct mcp_call *call)
{
    value given = mcp_call_argument(call, "value");
    return value_is_string(given) ? value_text(given) : SPAN("");
}

// Ids that begin with what was typed, newest first.
static void complete_id(struct mcp_call *call, void *data)
{
    struct context_tools *context = data;
    struct numbers numbers = {.region = mcp_call_region(call)};
    struct context_error error;
    if (!context_store_visit(context->store, &CONTEXT_FILTER_ALL, collect_number, &numbers, NULL,
                             &error)) {
        reply_store_error(call, &error);
        return;
    }
    for (size_t i = numbers.count; i > 0; i--) {
        char id[CONTEXT_ID_SIZE];
        context_id_format(numbers.numbers[i - 1], id);
        if (span_starts_with(span_from(id), typed(call)))
            mcp_call_add_completion(call, span_from(id));
    }
    mcp_call_reply_completion(call);
}

// The part after the last comma becomes a type; what stands before it stays.
static void complete_types(struct mcp_call *call, void *data)
{
    (void)data;
    struct span text = typed(call);
    size_t start = text.length;
    while (start > 0 && text.data[start - 1] != ',')
        start--;
    struct span last = {text.data + start, text.length - start};
    for (int i = 0; i < CONTEXT_TYPE_COUNT; i++) {
        struct span name = span_from(context_type_name((enum context_type)i));
        if (!span_starts_with(name, last))
            continue;
        CLEANUP_BUFFER struct buffer whole;
        buffer_init(&whole, MCP_MESSAGE_LIMIT);
        buffer_append(&whole, text.data, start);
        buffer_append_span(&whole, name);
        mcp_call_add_completion(call, buffer_span(&whole));
    }
    mcp_call_reply_completion(call);
}

// --- prompt -------------------------------------------------------------------------------------

// Prompt arguments are strings: "5" is the number 5; other text stays, for the message to show.
static value number_from_text(struct span text)
{
    enum { MAX_DIGITS = 18 };
    size_t start = text.length > 1 && text.data[0] == '-' ? 1 : 0;
    int64_t number = 0;
    if (text.length == start || text.length - start > MAX_DIGITS)
        return value_nil();
    for (size_t i = start; i < text.length; i++) {
        if (text.data[i] < '0' || text.data[i] > '9')
            return value_nil();
        number = number * 10 + (text.data[i] - '0');
    }
    return value_integer(start ? -number : number);
}

static value put_number(struct mcp_call *call, value arguments, const char *name)
{
    value given = mcp_call_argument(call, name);
    if (!value_is_string(given) || value_text(given).length == 0)
        return arguments;
    value number = number_from_text(value_text(given));
    return map_put_text(mcp_call_region(call), arguments, name,
                        value_is_nil(number) ? value_retain(given) : number);
}

static value put_types(struct mcp_call *call, value arguments)
{
    struct region *region = mcp_call_region(call);
    value given = mcp_call_argument(call, "types");
    struct span rest = value_is_string(given) ? value_text(given) : SPAN("");
    value types = vector_new(region, 0);
    while (rest.length > 0) {
        const char *comma = memchr(rest.data, ',', rest.length);
        size_t length = comma ? (size_t)(comma - rest.data) : rest.length;
        struct span name = {rest.data, length};
        while (name.length > 0 && name.data[0] == ' ')
            name = (struct span){name.data + 1, name.length - 1};
        while (name.length > 0 && name.data[name.length - 1] == ' ')
            name.length--;
        types = vector_push(region, types, value_string(region, name));
        size_t taken = comma ? length + 1 : length;
        rest = (struct span){rest.data + taken, rest.length - taken};
    }
    return map_put_text(region, arguments, "types", types);
}

static void handle_prompt(struct mcp_call *call, void *data)
{
    struct context_tools *context = data;
    struct region *region = mcp_call_region(call);
    value arguments = put_types(call, map_new(region));
    arguments = put_number(call, arguments, "limit");
    arguments = put_number(call, arguments, "max_chars");
    struct context_result result =
        context_operate(context->store, region, CONTEXT_OPERATION_RENDER, arguments);
    if (!result.ok) {
        bool unavailable = result.error.code == CONTEXT_STORE_BUSY ||
                           result.error.code == CONTEXT_STORE_UNAVAILABLE;
        if (unavailable)
            reply_store_error(call, &result.error);
        else
            mcp_call_reply_error(call, MCP_INVALID_PARAMS, result.error.message);
        return;
    }
    CLEANUP_BUFFER struct buffer message;
    buffer_init(&message, BUFFER_DEFAULT_LIMIT);
    buffer_append_span(&message, value_text(result.text));
    if (message.length > 0)
        buffer_append_text(&message, "\n## Request\n\n");
    value request = mcp_call_argument(call, "request");
    buffer_append_span(&message, value_is_string(request) ? value_text(request) : SPAN(""));
    mcp_call_add_text(call, buffer_span(&message));
    mcp_call_reply_prompt(call);
}

static const struct mcp_prompt prompt = {
    .name = "with-context",
    .title = "Ask with context",
    .description = "A request, preceded by the context items",
    .arguments =
        {
            {"request", "what to do", true},
            {"types", "only items of these types, separated by commas", false},
            {"limit", "only the newest so many items", false},
            {"max_chars", "longest context in characters, at least 200", false},
        },
    .handler = handle_prompt,
};

// --- notifications ------------------------------------------------------------------------------

static void schedule(struct event *event, int milliseconds)
{
    struct timeval delay = {milliseconds / 1000, milliseconds % 1000 * 1000};
    event_add(event, &delay);
}

static void announce(evutil_socket_t descriptor, short events, void *data)
{
    (void)descriptor;
    (void)events;
    struct context_tools *context = data;
    mcp_notify_resource_updated(context->server, URI_ITEMS);
    mcp_notify_resource_updated(context->server, URI_RENDERED);
    for (size_t i = 0; i < context->touched_count; i++) {
        char id[CONTEXT_ID_SIZE];
        char uri[CONTEXT_ID_SIZE + sizeof(URI_ITEMS) + 1];
        context_id_format(context->touched[i], id);
        snprintf(uri, sizeof(uri), "%s/%s", URI_ITEMS, id);
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
    struct span prefix = SPAN(URI_ITEMS "/");
    int64_t number = 0;
    if (span_starts_with(uri, prefix) &&
        context_id_parse((struct span){uri.data + prefix.length, uri.length - prefix.length}, &number))
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

static void register_resources(struct mcp_server *server, struct context_tools *context)
{
    for (size_t i = 0; i < sizeof(resource_table) / sizeof(resource_table[0]); i++) {
        struct mcp_resource resource = resource_table[i];
        resource.data = context;
        mcp_server_add_resource(server, &resource);
    }
    struct mcp_resource template = item_template;
    template.data = context;
    mcp_server_add_template(server, &template);
    mcp_server_add_completer(server, &(struct mcp_completer){URI_ITEM, "id", complete_id, context});
}

static void register_prompt(struct mcp_server *server, struct context_tools *context)
{
    struct mcp_prompt registered = prompt;
    registered.data = context;
    mcp_server_add_prompt(server, &registered);
    mcp_server_add_completer(
        server, &(struct mcp_completer){prompt.name, "types", complete_types, context});
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
    register_resources(tools->server, context);
    register_prompt(tools->server, context);
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
