// The protocol seen from the client's side, in all versions: 2024-11-05 to 2025-11-25 begin with
// initialize; a server that does not know that method is spoken to as 2026-07-28 has it, with the
// metadata in every request.
#include <inttypes.h>
#include <stdio.h>

#include "base/array.h"
#include "base/ascii.h"
#include "base/memory.h"
#include "config.h"
#include "mcp/jsonrpc.h"
#include "upstream/upstream_internal.h"
#include "value/text/json.h"

enum { PAGES_MAX = 256, METHOD_NOT_FOUND = -32601 };

#define NEWEST_WITH_INITIALIZE "2025-11-25"
#define STATELESS "2026-07-28"
#define META "io.modelcontextprotocol/"

// --- requests ------------------------------------------------------------------------------------

static void put_client(struct buffer *out, const char *member)
{
    json_name(out, member);
    buffer_append_text(out, "{\"name\":\"cadre\",\"version\":\"" CADRE_VERSION "\"}");
}

static void put_meta(const struct upstream_server *server, struct buffer *params)
{
    if (!server->is_stateless)
        return;
    json_name(params, "_meta");
    buffer_append_text(params, "{\"" META "protocolVersion\":\"" STATELESS "\",\"" META
                               "clientCapabilities\":{}");
    put_client(params, META "clientInfo");
    buffer_append_byte(params, '}');
}

// Has the id ++server->next_id, which is to be noted before: sending may fail at once.
static void send_request(struct upstream_server *server, const struct buffer *params,
                         struct upstream_outgoing about)
{
    CLEANUP_BUFFER struct buffer message;
    buffer_init(&message, UPSTREAM_MESSAGE_MAX);
    about.request = ++server->next_id;
    char id_text[24];
    snprintf(id_text, sizeof(id_text), "%" PRId64, about.request);
    jsonrpc_write_call(&message, id_text, about.method, params);
    upstream_send(server, &message, &about);
}

void upstream_greet(struct upstream_server *server)
{
    CLEANUP_BUFFER struct buffer params;
    buffer_init(&params, UPSTREAM_MESSAGE_MAX);
    json_put_text(&params, "protocolVersion", NEWEST_WITH_INITIALIZE);
    json_put_raw(&params, "capabilities", SPAN("{\"roots\":{}}"));
    put_client(&params, "clientInfo");
    server->own_id = server->next_id + 1;
    send_request(server, &params, (struct upstream_outgoing){.method = "initialize"});
}

void upstream_list_tools(struct upstream_server *server, struct span cursor)
{
    CLEANUP_BUFFER struct buffer params;
    buffer_init(&params, UPSTREAM_MESSAGE_MAX);
    if (cursor.length)
        json_put_span(&params, "cursor", cursor);
    put_meta(server, &params);
    if (cursor.length == 0) {
        server->pages = 0;
        upstream_catalog_release(&server->listing);
        upstream_catalog_init(&server->listing);
    }
    if (server->state != UPSTREAM_READY)
        server->state = UPSTREAM_LISTING;
    server->own_id = server->next_id + 1;
    send_request(server, &params, (struct upstream_outgoing){.method = "tools/list"});
}

void upstream_send_call(struct upstream_server *server, struct upstream_task *task)
{
    CLEANUP_BUFFER struct buffer params;
    buffer_init(&params, UPSTREAM_MESSAGE_MAX);
    json_put_text(&params, "name", task->tool);
    json_put_raw(&params, "arguments", buffer_span(&task->arguments));
    put_meta(server, &params);
    task->id = server->next_id + 1;
    CLEANUP_BUFFER struct buffer lines;
    buffer_init(&lines, UPSTREAM_TEXT_MAX);
    const struct upstream_tool *tool =
        upstream_catalog_find(&server->catalog, span_from(task->tool));
    if (tool && server->http && server->is_stateless)
        upstream_parameters_write(&lines, tool, buffer_span(&task->arguments));
    send_request(server, &params,
                 (struct upstream_outgoing){
                     .method = "tools/call", .name = task->tool, .lines = buffer_span(&lines)});
}

void upstream_listen(struct upstream_server *server)
{
    if (!server->is_stateless) {
        if (server->http)
            upstream_http_listen(server->http);
        return;
    }
    CLEANUP_BUFFER struct buffer params;
    buffer_init(&params, UPSTREAM_MESSAGE_MAX);
    json_put_raw(&params, "notifications", SPAN("{\"toolsListChanged\":true}"));
    put_meta(server, &params);
    server->listening = server->next_id + 1;
    send_request(server, &params,
                 (struct upstream_outgoing){.method = "subscriptions/listen", .stays_open = true});
}

static void notify(struct upstream_server *server, const struct buffer *params,
                   struct upstream_outgoing about)
{
    CLEANUP_BUFFER struct buffer message;
    buffer_init(&message, UPSTREAM_MESSAGE_MAX);
    jsonrpc_write_call(&message, NULL, about.method, params);
    upstream_send(server, &message, &about);
}

// Over HTTP the end of its connection is what tells a server of 2026-07-28.
void upstream_send_cancel(struct upstream_server *server, int64_t id)
{
    if (server->http)
        upstream_http_forget(server->http, id);
    if (server->state != UPSTREAM_READY || (server->http && server->is_stateless))
        return;
    CLEANUP_BUFFER struct buffer params;
    buffer_init(&params, UPSTREAM_MESSAGE_MAX);
    char id_text[24];
    snprintf(id_text, sizeof(id_text), "%" PRId64, id);
    json_put_text(&params, "requestId", id_text);
    put_meta(server, &params);
    notify(server, &params, (struct upstream_outgoing){.method = "notifications/cancelled"});
}

// --- answers -------------------------------------------------------------------------------------

static void keep_version(struct upstream_server *server, struct span version)
{
    memory_free(server->version);
    server->version = memory_copy_text(version.data, version.length);
    if (server->http)
        upstream_http_set_version(server->http, server->version);
}

// What refuses initialize, for whatever reason it gives, may be a server of 2026-07-28.
static void try_stateless(struct upstream_server *server)
{
    server->is_stateless = true;
    keep_version(server, SPAN(STATELESS));
    upstream_list_tools(server, SPAN(""));
}

static void on_greeted(struct upstream_server *server, value result, value failure)
{
    static const char *const known[] = {"2024-11-05", "2025-03-26", "2025-06-18",
                                        NEWEST_WITH_INITIALIZE};
    if (value_is_map(failure)) {
        try_stateless(server);
        return;
    }
    struct span version =
        value_is_map(result) ? map_get_string(result, "protocolVersion") : (struct span){0};
    bool is_known = false;
    for (size_t i = 0; i < COUNT_OF(known); i++)
        is_known = is_known || span_equal_text(version, known[i]);
    if (!is_known) {
        upstream_down(server, "it speaks no known version of the protocol");
        return;
    }
    keep_version(server, version);
    CLEANUP_BUFFER struct buffer nothing;
    buffer_init(&nothing, UPSTREAM_MESSAGE_MAX);
    notify(server, &nothing,
           (struct upstream_outgoing){.method = "notifications/initialized", .goes_first = true});
    if (server->state == UPSTREAM_GREETING)
        upstream_list_tools(server, SPAN(""));
}

static void refuse_list(struct upstream_server *server, value failure)
{
    CLEANUP_BUFFER struct buffer why;
    buffer_init(&why, UPSTREAM_TEXT_MAX);
    buffer_append_text(&why, server->is_stateless ? "it knows neither initialize nor 2026-07-28"
                                                  : "it does not list its tools");
    if (value_is_map(failure)) {
        buffer_append_text(&why, ": ");
        buffer_append_span(&why, map_get_string(failure, "message"));
    }
    upstream_entry_redact(server->entry, &why);
    upstream_down(server, buffer_text(&why));
}

static void on_listed(struct upstream_server *server, value result, value failure)
{
    // A server without tools need not know the method.
    bool has_none =
        value_is_map(failure) && map_get_integer(failure, "code", 0) == METHOD_NOT_FOUND;
    if (!value_is_map(result) && !has_none) {
        refuse_list(server, failure);
        return;
    }
    if (value_is_map(result))
        upstream_catalog_add(&server->listing, map_get(result, "tools"));
    struct span cursor = {0};
    if (!has_none)
        cursor = map_get_string(result, "nextCursor");
    if (cursor.length && ++server->pages < PAGES_MAX) {
        upstream_list_tools(server, cursor);
        return;
    }
    upstream_set_catalog(server);
    if (server->is_stale && server->state == UPSTREAM_READY) {
        server->is_stale = false;
        upstream_list_tools(server, SPAN(""));
    }
}

static void on_called(struct upstream_task *task, value result, value failure)
{
    struct upstream_server *server = task->server;
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, server->entry->max_result);
    bool ok = false;
    if (value_is_map(failure)) {
        buffer_append_span(&text, map_get_string(failure, "message"));
    } else {
        ok = upstream_result_write(&text, result, server->entry->with_data);
    }
    if (!ok)
        upstream_entry_redact(server->entry, &text);
    if (text.failed) {
        ok = false;
        buffer_clear(&text);
        buffer_append_format(&text, "its result is larger than %zu bytes (max_result)",
                             server->entry->max_result);
    }
    upstream_task_finish(task, ok ? UPSTREAM_OK : UPSTREAM_ERROR, buffer_span(&text));
    upstream_task_send_waiting(server);
}

bool upstream_awaits(void *data, int64_t request)
{
    struct upstream_server *server = data;
    return request == server->own_id || upstream_task_find(server, request);
}

// initialize or tools/list has no answer.
static void on_own_unanswered(struct upstream_server *server, enum upstream_lack lack,
                              const char *why)
{
    server->own_id = 0;
    if (server->state == UPSTREAM_READY) {
        server->is_doubtful = server->is_stale = true;
    } else if (server->state == UPSTREAM_LISTING && lack == LACK_SESSION) {
        upstream_down(server, "it ends its sessions at once");
    } else {
        CLEANUP_BUFFER struct buffer text;
        buffer_init(&text, BUFFER_DEFAULT_LIMIT);
        buffer_append_text(&text, why);
        upstream_entry_redact(server->entry, &text);
        upstream_down(server, buffer_text(&text));
    }
}

void upstream_on_unanswered(void *data, int64_t request, enum upstream_lack lack, const char *why)
{
    struct upstream_server *server = data;
    if (request == server->own_id) {
        on_own_unanswered(server, lack, why);
        return;
    }
    struct upstream_task *task = upstream_task_find(server, request);
    if (!task)
        return;
    if (lack == LACK_SESSION && upstream_task_repeat(task)) {
        upstream_greet_again(server);
        return;
    }
    server->is_doubtful = server->is_doubtful || lack == LACK_CONNECTION;
    upstream_task_fail(task, lack == LACK_CONNECTION ? UPSTREAM_CONNECTION : UPSTREAM_ERROR, why);
    upstream_task_send_waiting(server);
}

// Our ids are strings of digits. 0: this is none.
static int64_t read_id(value id)
{
    int64_t number = 0;
    struct span text = value_is_string(id) ? value_text(id) : (struct span){0};
    if (text.length > 18)
        return 0;
    for (size_t i = 0; i < text.length; i++) {
        if (!ascii_is_digit(text.data[i]))
            return 0;
        number = 10 * number + (text.data[i] - '0');
    }
    return number;
}

static void on_response(struct upstream_server *server, const struct message *message)
{
    value result = map_get(message->whole, "result"), failure = map_get(message->whole, "error");
    int64_t id = message->has_id ? read_id(message->id) : 0;
    if (id && id == server->own_id) {
        server->own_id = 0;
        if (server->state == UPSTREAM_GREETING)
            on_greeted(server, result, failure);
        else
            on_listed(server, result, failure);
        return;
    }
    struct upstream_task *task = id ? upstream_task_find(server, id) : NULL;
    if (task)
        on_called(task, result, failure);
}

// --- what the server asks ------------------------------------------------------------------------

static void put_root(struct buffer *out, const char *root)
{
    buffer_append_text(out, "{\"roots\":[");
    if (root) {
        CLEANUP_BUFFER struct buffer uri;
        buffer_init(&uri, UPSTREAM_TEXT_MAX);
        buffer_append_text(&uri, "file://");
        for (; *root; root++) {
            bool plain = *root > ' ' && *root < 127 && *root != '%' && *root != '#' && *root != '?';
            buffer_append_format(&uri, plain ? "%c" : "%%%02X", (unsigned char)*root);
        }
        buffer_append_text(out, "{\"uri\":");
        json_write_bytes(out, buffer_span(&uri));
        buffer_append_byte(out, '}');
    }
    buffer_append_text(out, "]}");
}

static void on_request(struct upstream_server *server, const struct message *message)
{
    CLEANUP_BUFFER struct buffer answer, result, id;
    buffer_init(&answer, UPSTREAM_MESSAGE_MAX);
    buffer_init(&result, UPSTREAM_MESSAGE_MAX);
    buffer_init(&id, UPSTREAM_TEXT_MAX);
    json_write(&id, message->id, 0, NULL);
    if (span_equal_text(message->method, "ping"))
        buffer_append_text(&result, "{}");
    else if (span_equal_text(message->method, "roots/list"))
        put_root(&result, server->all->is_workspace ? server->all->root : NULL);
    if (result.length) {
        buffer_append_text(&answer, "{\"jsonrpc\":\"2.0\"");
        json_put_raw(&answer, "id", buffer_span(&id));
        json_put_raw(&answer, "result", buffer_span(&result));
        buffer_append_byte(&answer, '}');
    } else {
        jsonrpc_write_error(&answer, MESSAGE_ID_GIVEN, buffer_span(&id), METHOD_NOT_FOUND,
                            SPAN("Cadre does not pass this on to its client"), SPAN(""));
    }
    if (!id.failed)
        upstream_send(server, &answer, &(struct upstream_outgoing){0});
}

static void on_notification(struct upstream_server *server, const struct message *message)
{
    if (!span_equal_text(message->method, "notifications/tools/list_changed"))
        return;
    if (server->state == UPSTREAM_READY && !server->own_id)
        upstream_list_tools(server, SPAN(""));
    else
        server->is_stale = true;
}

void upstream_on_message(struct upstream_server *server, struct span text)
{
    struct region *region = region_new(SIZE_MAX);
    value whole;
    struct error error;
    // What is no message is passed over: some servers print to standard output.
    if (jsonrpc_read(region, text, &whole, &error)) {
        struct message message = message_classify(whole);
        switch (message.kind) {
        case MESSAGE_RESPONSE: on_response(server, &message); break;
        case MESSAGE_REQUEST: on_request(server, &message); break;
        case MESSAGE_NOTIFICATION: on_notification(server, &message); break;
        case MESSAGE_INVALID: break;
        }
    }
    region_free(region);
}
