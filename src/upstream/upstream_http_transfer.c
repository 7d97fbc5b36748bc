// One HTTP request to a server, and the messages in its answer. libcurl's callbacks bound what they keep.
#include <strings.h>
#include <sys/socket.h>

#include "base/ascii.h"
#include "base/assert.h"
#include "base/memory.h"
#include "config.h"
#include "upstream/upstream_http_internal.h"

enum {
    CONNECT_MS = 10000,
    SHORT_MS = 30000,         // for what has no answer
    HEADERS_MAX = 256 << 10,  // bytes of an answer's headers
    REFUSAL_MAX = 64 << 10,   // bytes of an answer that is none
    SESSION_ID_MAX = 1024,
    UNASKED_RATE = 1 << 20,  // bytes per second of a stream of notifications
};

// --- what libcurl calls --------------------------------------------------------------------------

static size_t on_body(char *into, size_t size, size_t count, void *data)
{
    struct http_transfer *transfer = data;
    size_t left = transfer->body.length - transfer->sent, room = size * count;
    size_t length = left < room ? left : room;
    memcpy(into, buffer_span(&transfer->body).data + transfer->sent, length);
    transfer->sent += length;
    return length;
}

static size_t refuse(struct http_transfer *transfer, const char *problem)
{
    transfer->problem = problem;
    return 0;  // ends the transfer
}

static void keep_message(void *data, struct span text)
{
    struct http_transfer *transfer = data;
    struct http_message *message = memory_alloc_zero(sizeof(*message));
    buffer_init(&message->text, UPSTREAM_MESSAGE_MAX);
    buffer_append_span(&message->text, text);
    STAILQ_INSERT_TAIL(&transfer->messages, message, link);
}

static size_t on_content(char *bytes, size_t size, size_t count, void *data)
{
    struct http_transfer *transfer = data;
    struct span text = {bytes, size * count};
    if (http_transfer_succeeded(transfer) && transfer->form == FORM_STREAM) {
        if (!sse_read(&transfer->stream, text, keep_message, transfer))
            return refuse(transfer, "it sent a message of more than 64 MiB");
        return text.length;
    }
    if (!http_transfer_succeeded(transfer) && transfer->content.length + text.length > REFUSAL_MAX)
        return 0;
    buffer_append_span(&transfer->content, text);
    return transfer->content.failed ? refuse(transfer, "it sent a message of more than 64 MiB")
                                    : text.length;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static bool is_line_end(char c)
{
    return c == '\r' || c == '\n';
}

static enum transfer_form form_of(struct span type)
{
    static const struct {
        struct span name;
        enum transfer_form form;
    } forms[] = {{SPAN("application/json"), FORM_JSON}, {SPAN("text/event-stream"), FORM_STREAM}};
    for (size_t i = 0; i < 2; i++) {
        struct span name = forms[i].name;
        if (type.length >= name.length && strncasecmp(type.data, name.data, name.length) == 0 &&
            (type.length == name.length || type.data[name.length] == ';' ||
             is_blank(type.data[name.length])))
            return forms[i].form;
    }
    return FORM_OTHER;
}

static bool is_session_id(struct span text)
{
    for (size_t i = 0; i < text.length; i++)
        if (text.data[i] <= ' ' || text.data[i] > '~')
            return false;
    return text.length > 0 && text.length <= SESSION_ID_MAX;
}

static bool is_header(struct span name, const char *wanted)
{
    return name.length == strlen(wanted) && strncasecmp(name.data, wanted, name.length) == 0;
}

static struct span trim(struct span text)
{
    while (text.length &&
           (is_blank(text.data[text.length - 1]) || is_line_end(text.data[text.length - 1])))
        text.length--;
    while (text.length && is_blank(*text.data))
        text = (struct span){text.data + 1, text.length - 1};
    return text;
}

// "HTTP/1.1 200 OK": an answer begins; those with 100 to 199 come before the real one.
static void begin_answer(struct http_transfer *transfer, struct span line)
{
    const char *blank = memchr(line.data, ' ', line.length);
    size_t at = blank ? (size_t)(blank - line.data) + 1 : line.length;
    transfer->status = 0;
    for (size_t end = at + 3; at < end && at < line.length && ascii_is_digit(line.data[at]); at++)
        transfer->status = 10 * transfer->status + (line.data[at] - '0');
    transfer->form = FORM_OTHER;
    buffer_clear(&transfer->session);
}

static size_t on_header(char *bytes, size_t size, size_t count, void *data)
{
    struct http_transfer *transfer = data;
    struct span line = {bytes, size * count};
    transfer->header_bytes += line.length;
    if (transfer->header_bytes > HEADERS_MAX)
        return refuse(transfer, "its headers are larger than 256 KiB");
    const char *colon = memchr(line.data, ':', line.length);
    if (span_starts_with(line, SPAN("HTTP/"))) {
        begin_answer(transfer, line);
    } else if (colon) {
        struct span name = {line.data, (size_t)(colon - line.data)};
        struct span text = trim((struct span){colon + 1, line.length - name.length - 1});
        if (is_header(name, "Content-Type"))
            transfer->form = form_of(text);
        else if (is_header(name, "Content-Encoding") && !is_header(text, "identity"))
            return refuse(transfer, "it sent compressed data, which it was not asked for");
        else if (is_header(name, "Mcp-Session-Id") && is_session_id(text)) {
            buffer_clear(&transfer->session);
            buffer_append_span(&transfer->session, text);
        }
    }
    return line.length;
}

// Processes that are started while it is open must not have it.
static curl_socket_t on_socket_wanted(void *data, curlsocktype purpose,
                                      struct curl_sockaddr *address)
{
    (void)data;
    (void)purpose;
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

// --- headers -------------------------------------------------------------------------------------

static void add_header(struct http_transfer *transfer, const char *name, const char *text)
{
    if (!text)
        return;
    const struct curl_api *curl = transfer->http->curl;
    CLEANUP_FREE char *line = memory_format("%s: %s", name, text);
    struct curl_slist *longer = curl->slist_append(transfer->headers, line);
    CHECK(longer);
    transfer->headers = longer;
}

static void add_line(struct http_transfer *transfer, const char *line)
{
    struct curl_slist *longer = transfer->http->curl->slist_append(transfer->headers, line);
    CHECK(longer);
    transfer->headers = longer;
}

static void add_headers(struct http_transfer *transfer)
{
    const struct upstream_http *http = transfer->http;
    for (size_t i = 0; http->entry->headers && http->entry->headers[i]; i++)
        add_line(transfer, http->entry->headers[i]);
    if (transfer->kind == TRANSFER_GET) {
        add_line(transfer, "Accept: text/event-stream");
        if (transfer->stream.id.length)
            add_header(transfer, "Last-Event-ID", buffer_text(&transfer->stream.id));
    } else {
        add_line(transfer, "Accept: application/json, text/event-stream");
    }
    if (transfer->kind == TRANSFER_POST) {
        add_line(transfer, "Content-Type: application/json");
        add_line(transfer, "Expect:");  // no waiting for 100 Continue
    }
    add_header(transfer, "Mcp-Session-Id", http->session);
    add_header(transfer, "MCP-Protocol-Version", http->version);
    add_header(transfer, "Mcp-Method", transfer->method);
    add_header(transfer, "Mcp-Name", transfer->name);
    for (size_t at = 0; at < transfer->lines.length;) {
        const char *line = transfer->lines.data + at;
        add_line(transfer, line);
        at += strlen(line) + 1;
    }
}

// --- options -------------------------------------------------------------------------------------

#define SET(option, what) (failed |= curl->easy_setopt(easy, option, what) != CURLE_OK)

static bool set_callbacks(struct http_transfer *transfer, CURL *easy)
{
    const struct curl_api *curl = transfer->http->curl;
    bool failed = false;
    SET(CURLOPT_PRIVATE, transfer);
    SET(CURLOPT_HEADERFUNCTION, on_header);
    SET(CURLOPT_HEADERDATA, transfer);
    SET(CURLOPT_WRITEFUNCTION, on_content);
    SET(CURLOPT_WRITEDATA, transfer);
    SET(CURLOPT_OPENSOCKETFUNCTION, on_socket_wanted);
    SET(CURLOPT_ERRORBUFFER, transfer->curl_text);
    SET(CURLOPT_HTTPHEADER, transfer->headers);
    return !failed;
}

// Redirections are looked at by us: libcurl would follow them to any host.
static bool set_connection(struct http_transfer *transfer, CURL *easy)
{
    const struct upstream_http *http = transfer->http;
    const struct curl_api *curl = http->curl;
    bool failed = false;
    SET(CURLOPT_URL, http->url);
    SET(CURLOPT_PROTOCOLS_STR, "http,https");
    SET(CURLOPT_FOLLOWLOCATION, 0L);
    SET(CURLOPT_NOSIGNAL, 1L);
    SET(CURLOPT_TCP_KEEPALIVE, 1L);
    SET(CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
    SET(CURLOPT_USERAGENT, "cadre/" CADRE_VERSION);
    SET(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    SET(CURLOPT_PROXY, http->proxy);
    SET(CURLOPT_NOPROXY, http->no_proxy);
    if (http->authorities)
        SET(CURLOPT_CAINFO, http->authorities);
    SET(CURLOPT_MAX_RECV_SPEED_LARGE,
        (curl_off_t)(transfer->stays_open ? UNASKED_RATE : UPSTREAM_RATE));
    if (!transfer->stays_open)
        SET(CURLOPT_TIMEOUT_MS, transfer->request ? (long)UPSTREAM_TIMEOUT_MAX_MS : (long)SHORT_MS);
    return !failed;
}

// The body is read by a function that cannot go back: libcurl, which repeats requests over
// connections that broke, must not send a call twice.
static bool set_method(struct http_transfer *transfer, CURL *easy)
{
    const struct curl_api *curl = transfer->http->curl;
    bool failed = false;
    if (transfer->kind == TRANSFER_POST) {
        SET(CURLOPT_POST, 1L);
        SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)transfer->body.length);
        SET(CURLOPT_READFUNCTION, on_body);
        SET(CURLOPT_READDATA, transfer);
    } else if (transfer->kind == TRANSFER_DELETE) {
        SET(CURLOPT_CUSTOMREQUEST, "DELETE");
    } else {
        SET(CURLOPT_HTTPGET, 1L);
    }
    return !failed;
}

#undef SET

// --- transfers -----------------------------------------------------------------------------------

struct http_transfer *http_transfer_new(struct upstream_http *http, enum transfer_kind kind,
                                        event_callback_fn on_timer)
{
    struct http_transfer *transfer = memory_alloc_zero(sizeof(*transfer));
    transfer->http = http;
    transfer->kind = kind;
    buffer_init(&transfer->body, UPSTREAM_MESSAGE_MAX);
    buffer_init(&transfer->lines, HEADERS_MAX);
    buffer_init(&transfer->content, UPSTREAM_MESSAGE_MAX);
    buffer_init(&transfer->session, SESSION_ID_MAX);
    sse_init(&transfer->stream, UPSTREAM_MESSAGE_MAX);
    STAILQ_INIT(&transfer->messages);
    transfer->timer = evtimer_new(http->base, on_timer, transfer);
    CHECK(transfer->timer);
    LIST_INSERT_HEAD(&http->transfers, transfer, link);
    return transfer;
}

static void clear_answer(struct http_transfer *transfer)
{
    transfer->sent = 0;
    transfer->status = 0;
    transfer->form = FORM_OTHER;
    transfer->header_bytes = 0;
    buffer_clear(&transfer->session);
    buffer_clear(&transfer->content);
    sse_restart(&transfer->stream);
    transfer->is_over = false;
    transfer->code = CURLE_OK;
    transfer->problem = NULL;
    transfer->curl_text[0] = '\0';
    memory_free(transfer->redirect);
    transfer->redirect = NULL;
}

bool http_transfer_open(struct http_transfer *transfer)
{
    struct upstream_http *http = transfer->http;
    clear_answer(transfer);
    CURL *easy = http->curl->easy_init();
    if (!easy)
        return false;
    add_headers(transfer);
    if (!set_callbacks(transfer, easy) || !set_connection(transfer, easy) ||
        !set_method(transfer, easy) ||
        http->curl->multi_add_handle(http->multi, easy) != CURLM_OK) {
        http->curl->easy_cleanup(easy);
        return false;
    }
    transfer->easy = easy;
    return true;
}

void http_transfer_close(struct http_transfer *transfer)
{
    const struct upstream_http *http = transfer->http;
    if (transfer->easy) {
        http->curl->multi_remove_handle(http->multi, transfer->easy);
        http->curl->easy_cleanup(transfer->easy);
    }
    transfer->easy = NULL;
    http->curl->slist_free_all(transfer->headers);
    transfer->headers = NULL;
}

void http_transfer_free(struct http_transfer *transfer)
{
    http_transfer_close(transfer);
    LIST_REMOVE(transfer, link);
    event_free(transfer->timer);
    struct http_message *message;
    while ((message = http_transfer_take(transfer)))
        http_message_free(message);
    buffer_release(&transfer->body);
    buffer_release(&transfer->lines);
    buffer_release(&transfer->content);
    buffer_release(&transfer->session);
    sse_release(&transfer->stream);
    memory_free(transfer->redirect);
    memory_free(transfer->method);
    memory_free(transfer->name);
    memory_free(transfer);
}

bool http_transfer_succeeded(const struct http_transfer *transfer)
{
    return transfer->status >= 200 && transfer->status < 300;
}

// The content of a refusal stays, too: it may say what is wrong.
void http_transfer_take_content(struct http_transfer *transfer)
{
    keep_message(transfer, buffer_span(&transfer->content));
    if (http_transfer_succeeded(transfer))
        buffer_clear(&transfer->content);
}

struct http_message *http_transfer_take(struct http_transfer *transfer)
{
    struct http_message *message = STAILQ_FIRST(&transfer->messages);
    if (message)
        STAILQ_REMOVE_HEAD(&transfer->messages, link);
    return message;
}

void http_message_free(struct http_message *message)
{
    buffer_release(&message->text);
    memory_free(message);
}
