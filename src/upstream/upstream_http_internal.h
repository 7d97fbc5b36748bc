// What the files of the HTTP transport share: a server's connections, and one request over them.
#pragma once

#include <event2/event.h>
#include <sys/queue.h>

#include "upstream/upstream_curl.h"
#include "upstream/upstream_sse.h"
#include "upstream/upstream_transport.h"

struct upstream_http {
    LIST_ENTRY(upstream_http) link;
    const struct curl_api *curl;
    CURLM *multi;
    struct event_base *base;
    const struct upstream_entry *entry;
    struct upstream_listener listener;  // `message` is NULL once stopped
    struct event *timer;                // libcurl's
    struct event *end;                  // frees it
    LIST_HEAD(, http_transfer) transfers;
    char *url;          // that of the entry, or where that redirects to on the same host
    char *session;      // Mcp-Session-Id; NULL: none
    char *version;      // of the protocol; NULL before it is negotiated
    char *proxy;        // "": none
    char *no_proxy;     // hosts that need none; or NULL
    char *authorities;  // a file of certificates; NULL: libcurl's own
};

// --- upstream_http.c: what comes, and what it means ----------------------------------------------
// libcurl has done something: hands over what has come, and ends what is over.
void http_progressed(struct upstream_http *http);

// --- upstream_http_loop.c: libcurl on libevent ---------------------------------------------------
// Connects libcurl with the loop. False: no memory.
bool http_loop_begin(struct upstream_http *http);

// --- upstream_http_transfer.c: one request, and the messages in its answer -----------------------
// The functions that libcurl calls only store; what is stored is handed over after it has returned.

enum transfer_kind {
    TRANSFER_POST,
    TRANSFER_GET,     // the stream of what the server says unasked, or the rest of a broken one
    TRANSFER_DELETE,  // the end of the session
};

enum transfer_form { FORM_OTHER, FORM_JSON, FORM_STREAM };

STAILQ_HEAD(http_messages, http_message);
struct http_message {
    STAILQ_ENTRY(http_message) link;
    struct buffer text;
};

struct http_transfer {
    LIST_ENTRY(http_transfer) link;
    struct upstream_http *http;
    enum transfer_kind kind;
    int64_t request;      // which this is to answer; 0: none
    bool stays_open;      // a stream of notifications: opened again when it ends
    bool goes_first;      // those after it wait for its end
    char *method;         // for the headers of 2026-07-28; may be NULL
    char *name;           // the same
    struct buffer lines;  // more headers; each ends in NUL
    struct buffer body;
    size_t sent;
    CURL *easy;                  // NULL: waits to be opened again
    struct curl_slist *headers;  // of the request
    struct event *timer;         // opens it again, or ends it
    unsigned redirects;
    unsigned attempts;  // to open it again, since something was heard
    // The answer.
    long status;
    enum transfer_form form;
    size_t header_bytes;
    struct buffer session;  // Mcp-Session-Id
    struct buffer content;  // of what is no stream
    struct sse_reader stream;
    struct http_messages messages;  // whole ones, to be handed over
    bool is_over;                   // libcurl is done with it
    CURLcode code;
    char *redirect;       // where it is sent to; or NULL
    const char *problem;  // why we ended it; or NULL
    char curl_text[CURL_ERROR_SIZE];
};

struct http_transfer *http_transfer_new(struct upstream_http *http, enum transfer_kind kind,
                                        event_callback_fn on_timer);
// Sends it, also once more. False: no memory.
bool http_transfer_open(struct http_transfer *transfer);
void http_transfer_close(struct http_transfer *transfer);
void http_transfer_free(struct http_transfer *transfer);
bool http_transfer_succeeded(const struct http_transfer *transfer);  // by its status
void http_transfer_take_content(struct http_transfer *transfer);     // as a message
// The oldest message that was received and not taken yet; NULL: none.
struct http_message *http_transfer_take(struct http_transfer *transfer);
void http_message_free(struct http_message *message);

// --- upstream_http_failure.c: what went wrong ----------------------------------------------------
// Why an ended transfer has no answer, in words that name no credentials.
enum upstream_lack http_failure_describe(const struct http_transfer *transfer, struct buffer *why);
bool http_session_is_lost(const struct http_transfer *transfer);
// Are both addresses of the same scheme, host and port?
bool http_same_origin(const struct curl_api *curl, const char *a, const char *b);
