#include "mcp/http/http_carry.h"

#include <sodium.h>
#include <strings.h>

#include "base/memory.h"
#include "mcp/http/http.h"

// --- the side of the connection ------------------------------------------------------------------

const char *carried_holder(const struct http_reply *reply)
{
    return reply->client->name;
}

const char *carried_field(const struct http_reply *reply, const char *name)
{
    return http_request_field(reply->request, name, NULL);
}

// Those that are about the connection, and the token, which was checked.
static bool is_left_out(const char *name)
{
    static const char *const names[] = {"Connection", "Content-Length", "Transfer-Encoding",
                                        "Expect",     "Keep-Alive",     "Upgrade",
                                        "TE",         "Trailer",        "Authorization"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcasecmp(name, names[i]) == 0)
            return true;
    return false;
}

void carried_write_request(struct http_reply *reply, struct buffer *out)
{
    const struct http_request *request = reply->request;
    const char *method = request->method == HTTP_GET      ? "GET"
                         : request->method == HTTP_DELETE ? "DELETE"
                                                          : "POST";
    buffer_append_format(out, "%s %s HTTP/1.1\r\n", method, request->path);
    for (size_t i = 0; i < request->field_count; i++)
        if (!is_left_out(request->fields[i].name))
            buffer_append_format(out, "%s: %s\r\n", request->fields[i].name,
                                 request->fields[i].text);
    if (request->body.length > 0)
        buffer_append_format(out, "Content-Length: %zu\r\n", request->body.length);
    buffer_append_text(out, "\r\n");
    buffer_append_span(out, buffer_span(&request->body));
}

static void on_gone(struct http_reply *reply)
{
    reply->on_carried_gone(reply->owner);
}

void carried_watch(struct http_reply *reply, void (*on_carried_gone)(void *data), void *data)
{
    reply->on_gone = on_gone;
    reply->on_carried_gone = on_carried_gone;
    reply->owner = data;
}

void carried_send(struct http_reply *reply, int status, struct span headers,
                  const char *content_type, struct span body)
{
    reply->on_gone = NULL;
    buffer_append_span(&reply->headers, headers);
    http_reply_send(reply, status, content_type, &body, 1);
}

void carried_begin(struct http_reply *reply, struct span headers)
{
    buffer_append_span(&reply->headers, headers);
    http_reply_stream(reply);
}

void carried_event(struct http_reply *reply, struct span event)
{
    http_reply_write(reply, event);
}

void carried_end(struct http_reply *reply)
{
    reply->on_gone = NULL;
    http_reply_end(reply);
}

void carried_refuse(struct http_reply *reply, int status, const char *message)
{
    reply->on_gone = NULL;
    if (reply->streaming) {
        http_reply_end(reply);
        return;
    }
    http_reply_refuse(reply, &(struct refusal){status, message, "Retry-After", "1"});
}

// --- the side of the server ----------------------------------------------------------------------

struct mcp_http *mcp_http_start_carried(struct mcp_server *server,
                                        const struct mcp_http_carry_options *options,
                                        mcp_end_fn *on_end, void *data)
{
    struct mcp_http *http = http_start_detached(server, on_end, data);
    crypto_generichash(http->session_key, sizeof(http->session_key),
                       (const unsigned char *)options->key.data, options->key.length, NULL, 0);
    http->session_label = memory_copy_string(options->label);
    return http;
}

static struct http_request *read_request(struct span text)
{
    struct http_parser parser;
    struct http_request *request = NULL;
    enum http_progress progress = HTTP_MORE;
    http_parser_init(&parser, MCP_MESSAGE_LIMIT);
    while (text.length > 0 && (progress == HTTP_MORE || progress == HTTP_HEAD_IN)) {
        size_t used;
        progress = http_parser_feed(&parser, text, &used);
        text = (struct span){text.data + used, text.length - used};
    }
    if (progress == HTTP_WHOLE && text.length == 0)
        request = http_parser_take(&parser);
    http_parser_release(&parser);
    return request;
}

bool mcp_http_carry(struct mcp_http *http, struct span text, struct mcp_http_carrier *carrier)
{
    struct http_request *request = read_request(text);
    if (!request)
        return false;
    struct http_reply *reply = http_reply_open_carried(http, request, carrier);
    carrier->reply = reply;
    http_handle_request(http, reply);
    return true;
}

void mcp_http_carrier_lost(struct mcp_http_carrier *carrier)
{
    struct http_reply *reply = carrier->reply;
    if (!reply)
        return;
    carrier->reply = NULL;
    http_reply_lose_connection(reply);
}
