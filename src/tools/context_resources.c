// context://items, context://rendered, context://items/{id} with completion, the prompt
// with-context.
#include "tools/context_resources.h"

#include <stdio.h>

#include "base/array.h"
#include "base/ascii.h"
#include "base/buffer.h"
#include "context/arguments.h"
#include "context/operation.h"
#include "tools/context_queue.h"
#include "value/text/json.h"

// --- resources -----------------------------------------------------------------------------------

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

static bool read_items(const struct context_attempt *attempt)
{
    struct context_error error;
    value whole;
    if (context_store_value(attempt->store, mcp_call_region(attempt->call), &whole, &error))
        reply_json(attempt->call, whole);
    else if (context_attempt_again(attempt, &error))
        return false;
    else
        reply_store_error(attempt->call, &error);
    return true;
}

static void handle_items(struct mcp_call *call, void *data)
{
    context_queue_run(data, read_items, call, NULL);
}

static bool read_item(const struct context_attempt *attempt)
{
    struct mcp_call *call = attempt->call;
    struct context_error error;
    struct context_item item;
    int64_t number = 0;
    value id = mcp_call_argument(call, "id");
    bool found = context_id_check(&id, &number, &error) &&
                 context_store_get(attempt->store, mcp_call_region(call), number, &item, &error);
    if (found)
        reply_json(call, context_item_value(mcp_call_region(call), &item));
    else if (context_attempt_again(attempt, &error))
        return false;
    else if (error.code == CONTEXT_INVALID_ID || error.code == CONTEXT_NOT_FOUND)
        mcp_call_reply_not_found(call);
    else
        reply_store_error(call, &error);
    return true;
}

static void handle_item(struct mcp_call *call, void *data)
{
    context_queue_run(data, read_item, call, NULL);
}

static bool read_rendered(const struct context_attempt *attempt)
{
    struct region *region = mcp_call_region(attempt->call);
    struct context_result result =
        context_operate(attempt->store, region, CONTEXT_OPERATION_RENDER, map_new(region));
    if (result.ok)
        mcp_call_reply_text(attempt->call, "text/markdown", value_text(result.text));
    else if (context_attempt_again(attempt, &result.error))
        return false;
    else
        reply_store_error(attempt->call, &result.error);
    return true;
}

static void handle_rendered(struct mcp_call *call, void *data)
{
    context_queue_run(data, read_rendered, call, NULL);
}

static const struct mcp_resource resource_table[] = {
    {
        .uri = CONTEXT_URI_ITEMS,
        .name = "context-items",
        .title = "Context items",
        .description = "All context items as JSON, oldest first",
        .mime_type = "application/json",
        .size = -1,
        .handler = handle_items,
    },
    {
        .uri = CONTEXT_URI_RENDERED,
        .name = "context-rendered",
        .title = "Rendered context",
        .description = "All context items as one Markdown document for a prompt",
        .mime_type = "text/markdown",
        .size = -1,
        .handler = handle_rendered,
    },
};

static const struct mcp_resource item_template = {
    .uri = CONTEXT_URI_ITEM,
    .name = "context-item",
    .title = "Context item",
    .description = "One context item as JSON",
    .mime_type = "application/json",
    .size = -1,
    .handler = handle_item,
};

// --- completion ----------------------------------------------------------------------------------

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
static bool complete_id(const struct context_attempt *attempt)
{
    struct mcp_call *call = attempt->call;
    struct numbers numbers = {.region = mcp_call_region(call)};
    struct context_error error;
    if (!context_store_visit(attempt->store, &CONTEXT_FILTER_ALL, collect_number, &numbers, NULL,
                             &error)) {
        if (context_attempt_again(attempt, &error))
            return false;
        reply_store_error(call, &error);
        return true;
    }
    for (size_t i = numbers.count; i > 0; i--) {
        char id[CONTEXT_ID_SIZE];
        context_id_format(numbers.numbers[i - 1], id);
        if (span_starts_with(span_from(id), typed(call)))
            mcp_call_add_completion(call, span_from(id));
    }
    mcp_call_reply_completion(call);
    return true;
}

static void handle_completion(struct mcp_call *call, void *data)
{
    context_queue_run(data, complete_id, call, NULL);
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

// --- prompt --------------------------------------------------------------------------------------

// Prompt arguments are strings: "5" is the number 5; other text stays, for the message to show.
static value number_from_text(struct span text)
{
    enum { MAX_DIGITS = 18 };
    size_t start = text.length > 1 && text.data[0] == '-' ? 1 : 0;
    int64_t number = 0;
    if (text.length == start || text.length - start > MAX_DIGITS)
        return value_nil();
    for (size_t i = start; i < text.length; i++) {
        if (!ascii_is_digit(text.data[i]))
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

static void reply_prompt(struct mcp_call *call, struct span context)
{
    CLEANUP_BUFFER struct buffer message;
    buffer_init(&message, BUFFER_DEFAULT_LIMIT);
    buffer_append_span(&message, context);
    if (message.length > 0)
        buffer_append_text(&message, "\n## Request\n\n");
    value request = mcp_call_argument(call, "request");
    buffer_append_span(&message, value_is_string(request) ? value_text(request) : SPAN(""));
    mcp_call_add_text(call, buffer_span(&message));
    mcp_call_reply_prompt(call);
}

static bool render_prompt(const struct context_attempt *attempt)
{
    struct mcp_call *call = attempt->call;
    struct region *region = mcp_call_region(call);
    value arguments = put_types(call, map_new(region));
    arguments = put_number(call, arguments, "limit");
    arguments = put_number(call, arguments, "max_chars");
    struct context_result result =
        context_operate(attempt->store, region, CONTEXT_OPERATION_RENDER, arguments);
    if (result.ok)
        reply_prompt(call, value_text(result.text));
    else if (context_attempt_again(attempt, &result.error))
        return false;
    else if (result.error.code == CONTEXT_STORE_BUSY ||
             result.error.code == CONTEXT_STORE_UNAVAILABLE)
        reply_store_error(call, &result.error);
    else
        mcp_call_reply_error(call, MCP_INVALID_PARAMS, result.error.message);
    return true;
}

static void handle_prompt(struct mcp_call *call, void *data)
{
    context_queue_run(data, render_prompt, call, NULL);
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

// --- registration --------------------------------------------------------------------------------

static void register_resources(struct mcp_server *server, struct context_queue *queue)
{
    for (size_t i = 0; i < COUNT_OF(resource_table); i++) {
        struct mcp_resource resource = resource_table[i];
        resource.data = queue;
        mcp_server_add_resource(server, &resource);
    }
    struct mcp_resource template = item_template;
    template.data = queue;
    mcp_server_add_template(server, &template);
    mcp_server_add_completer(
        server, &(struct mcp_completer){CONTEXT_URI_ITEM, "id", handle_completion, queue});
}

static void register_prompt(struct mcp_server *server, struct context_queue *queue)
{
    struct mcp_prompt registered = prompt;
    registered.data = queue;
    mcp_server_add_prompt(server, &registered);
    mcp_server_add_completer(server,
                             &(struct mcp_completer){prompt.name, "types", complete_types, queue});
}

void context_resources_register(struct mcp_server *server, struct context_queue *queue)
{
    register_resources(server, queue);
    register_prompt(server, queue);
}
