// What a server offers beside the protocol: a stream of events (GET /events), and the files of a page.
#include "base/array.h"
#include "base/memory.h"
#include "mcp/http/http.h"

// --- the stream of events ------------------------------------------------------------------------

struct mcp_feed_reader {
    TAILQ_ENTRY(mcp_feed_reader) link;
    struct http_client *client;
    struct http_reply *reply;
    bool is_opening;
};

static void close_reader(struct mcp_feed_reader *reader)
{
    struct mcp_http *http = reader->client->http;
    const struct mcp_feed *feed = &reader->client->server->feed;
    struct http_reply *reply = reader->reply;
    feed->close(feed->data, reader);
    TAILQ_REMOVE(&http->feed_readers, reader, link);
    reader->client->holder->reader_count--;
    memory_free(reader);
    reply->on_gone = NULL;
    http_reply_end(reply);
}

static void on_gone(struct http_reply *reply)
{
    close_reader(reply->owner);
}

void http_feed_open(struct http_reply *reply)
{
    struct http_client *client = reply->client;
    const struct mcp_feed *feed = &client->server->feed;
    struct refusal refusal;
    if (!feed->open) {
        refusal = (struct refusal){.status = 404, .message = "Not found: there are no events here"};
        http_reply_refuse(reply, &refusal);
        return;
    }
    if (client->holder->reader_count == HTTP_FEED_READERS) {
        refusal = (struct refusal){503, "Too many readers of events", "Retry-After", "5"};
        http_reply_refuse(reply, &refusal);
        return;
    }
    const char *last = http_request_field(reply->request, "Last-Event-ID", NULL);
    struct mcp_feed_reader *reader = memory_alloc_zero(sizeof(*reader));
    *reader = (struct mcp_feed_reader){.client = client, .reply = reply};
    TAILQ_INSERT_TAIL(&client->http->feed_readers, reader, link);
    client->holder->reader_count++;
    reply->owner = reader;
    reply->on_gone = on_gone;
    http_reply_stream(reply);
    feed->open(feed->data, reader, last);
}

void mcp_feed_send(struct mcp_feed_reader *reader, const char *id, struct span event)
{
    http_reply_event(reader->reply, id, 0, event);
}

void http_feed_close_all(struct mcp_http *http)
{
    while (!TAILQ_EMPTY(&http->feed_readers))
        close_reader(TAILQ_FIRST(&http->feed_readers));
}

void mcp_server_set_feed(struct mcp_server *server, const struct mcp_feed *feed)
{
    server->feed = *feed;
}

// --- the page ------------------------------------------------------------------------------------

// Nothing but the page's own files is loaded or run, and nobody shows it in a frame. What is in it
// holds no secret: the token comes from the fragment of its address, which is not sent.
static const struct {
    const char *name, *text;
} page_headers[] = {
    {"Content-Security-Policy",
     "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
     "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
    {"X-Content-Type-Options", "nosniff"},
    {"X-Frame-Options", "DENY"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Cache-Control", "no-cache"},
};

const struct mcp_http_page *http_page_find(const struct mcp_http *http, const char *path)
{
    for (const struct mcp_http_page *page = http->pages; page && page->path; page++)
        if (strcmp(page->path, path) == 0)
            return page;
    return NULL;
}

void http_page_send(struct http_reply *reply, const struct mcp_http_page *page)
{
    for (size_t i = 0; i < COUNT_OF(page_headers); i++)
        http_reply_add_header(reply, page_headers[i].name, page_headers[i].text);
    struct span text = span_from(page->text);
    http_reply_send(reply, 200, page->content_type, &text, 1);
}
