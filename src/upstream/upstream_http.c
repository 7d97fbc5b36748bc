// Streamable HTTP: each message is a POST, answered by JSON or by a stream of events. Sessions,
// broken streams that are resumed, redirections on the same host, and the stream of what the server
// says unasked.
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/assert.h"
#include "base/clock.h"
#include "base/memory.h"
#include "upstream/upstream_http_internal.h"

enum {
    REDIRECTS_MAX = 5,
    ATTEMPTS_MAX = 8,  // to resume a stream, without a message in between
    RESUME_MS = 1000,  // before that, unless the server names a time
    RESUME_MAX_MS = 60000,
    LINGER_MS = 1000,      // how long an answered stream may stay open
    STOP_GRACE_MS = 1000,  // for the end of the session
};

#define OLDEST_WITHOUT_STREAMS "2024-11-05"
#define STATELESS "2026-07-28"

// --- opening -------------------------------------------------------------------------------------

static void open_transfer(struct http_transfer *transfer)
{
    if (http_transfer_open(transfer))
        return;
    transfer->is_over = true;
    transfer->code = CURLE_OUT_OF_MEMORY;
    event_active(transfer->http->timer, EV_TIMEOUT, 0);
}

static bool is_awaited(const struct upstream_http *http, int64_t request)
{
    return request && http->listener.message && http->listener.awaits(http->listener.data, request);
}

// The time to open it again; or an answered stream that the server leaves open.
static void on_timer(evutil_socket_t fd, short what, void *data)
{
    (void)fd;
    (void)what;
    struct http_transfer *transfer = data;
    if (transfer->easy)
        http_transfer_free(transfer);
    else
        open_transfer(transfer);
}

static void wait(struct http_transfer *transfer, int64_t milliseconds)
{
    struct timeval delay = timeval_from_ms(milliseconds);
    evtimer_add(transfer->timer, &delay);
}

static bool is_stateless(const struct upstream_http *http)
{
    return http->version && strcmp(http->version, STATELESS) == 0;
}

// --- receiving -----------------------------------------------------------------------------------

// A session begins with the answer to initialize.
static void keep_session(struct upstream_http *http, const struct http_transfer *transfer)
{
    if (!http->version && !http->session && transfer->session.length &&
        http_transfer_succeeded(transfer))
        http->session = memory_copy_string(buffer_text(&transfer->session));
}

static struct http_transfer *find_answering(struct upstream_http *http, int64_t request)
{
    struct http_transfer *transfer;
    LIST_FOREACH (transfer, &http->transfers, link)
        if (transfer->request == request)
            return transfer;
    return NULL;
}

// The listener may end this transfer, and all others.
static void hand_over(struct upstream_http *http, struct http_transfer *transfer)
{
    int64_t request = transfer->request;
    struct http_message *message = http_transfer_take(transfer);
    keep_session(http, transfer);
    transfer->attempts = 0;
    http->listener.message(http->listener.data, buffer_span(&message->text));
    http_message_free(message);
    transfer = request ? find_answering(http, request) : NULL;
    if (transfer && !transfer->stays_open && !is_awaited(http, request)) {
        transfer->request = 0;
        wait(transfer, LINGER_MS);
    }
}

static struct http_transfer *next_with_message(struct upstream_http *http)
{
    struct http_transfer *transfer;
    LIST_FOREACH (transfer, &http->transfers, link)
        if (!STAILQ_EMPTY(&transfer->messages))
            return transfer;
    return NULL;
}

static struct http_transfer *next_over(struct upstream_http *http)
{
    struct http_transfer *transfer;
    LIST_FOREACH (transfer, &http->transfers, link)
        if (transfer->is_over)
            return transfer;
    return NULL;
}

// JSON, also that of a refusal: it may be the answer, with an error.
static bool content_is_message(const struct http_transfer *transfer)
{
    bool has_error = transfer->status >= 400 && transfer->status != 401 &&
                     transfer->status != 403 && !http_session_is_lost(transfer);
    return transfer->form == FORM_JSON && transfer->code == CURLE_OK && transfer->content.length &&
           (has_error || http_transfer_succeeded(transfer));
}

static void note_ends(struct upstream_http *http)
{
    const struct curl_api *curl = http->curl;
    int left;
    CURLMsg *note;
    while ((note = curl->multi_info_read(http->multi, &left))) {
        struct http_transfer *transfer = NULL;
        char *redirect = NULL;
        if (curl->easy_getinfo(note->easy_handle, CURLINFO_PRIVATE, &transfer) != CURLE_OK)
            continue;
        transfer->is_over = true;
        transfer->code = note->data.result;
        curl->easy_getinfo(note->easy_handle, CURLINFO_REDIRECT_URL, &redirect);
        transfer->redirect = memory_copy_string(redirect);
        if (content_is_message(transfer))
            http_transfer_take_content(transfer);
    }
}

// --- ending --------------------------------------------------------------------------------------

// Only with the method kept, and only where it was: headers hold credentials.
static bool follow(struct upstream_http *http, struct http_transfer *transfer)
{
    bool is_redirect = transfer->status == 307 || transfer->status == 308;
    if (!is_redirect || !transfer->redirect || ++transfer->redirects > REDIRECTS_MAX ||
        !http_same_origin(http->curl, http->url, transfer->redirect))
        return false;
    memory_free(http->url);
    http->url = memory_copy_string(transfer->redirect);
    open_transfer(transfer);
    return true;
}

static int64_t resume_delay_ms(const struct http_transfer *transfer)
{
    int64_t delay = transfer->stream.retry_ms;
    if (delay < 0)
        delay = RESUME_MS;
    delay <<= transfer->attempts < 6 ? transfer->attempts : 6;
    return delay < RESUME_MAX_MS ? delay : RESUME_MAX_MS;
}

// A stream that broke goes on where it ended, if the server gave its events names.
static bool resume(struct http_transfer *transfer)
{
    bool broke = http_transfer_succeeded(transfer)
                     ? transfer->form == FORM_STREAM
                     : transfer->kind == TRANSFER_GET && transfer->status == 0;
    if (!broke || transfer->problem || transfer->stream.id.length == 0 ||
        is_stateless(transfer->http) || transfer->attempts >= ATTEMPTS_MAX)
        return false;
    transfer->kind = TRANSFER_GET;
    transfer->is_over = false;
    wait(transfer, resume_delay_ms(transfer));
    transfer->attempts++;
    return true;
}

// A stream of notifications is opened again, unless the server does not offer one.
static void listen_again(struct http_transfer *transfer)
{
    bool was_open = http_transfer_succeeded(transfer) && transfer->form == FORM_STREAM;
    if ((!was_open && transfer->status != 0) || transfer->problem ||
        transfer->attempts >= ATTEMPTS_MAX) {
        http_transfer_free(transfer);
        return;
    }
    transfer->is_over = false;
    wait(transfer, resume_delay_ms(transfer));
    transfer->attempts++;
}

static void open_those_waiting(struct upstream_http *http)
{
    struct http_transfer *transfer;
    LIST_FOREACH (transfer, &http->transfers, link)
        if (!transfer->easy && !transfer->is_over && !evtimer_pending(transfer->timer, NULL))
            open_transfer(transfer);
}

static void finish(struct upstream_http *http, struct http_transfer *transfer)
{
    http_transfer_close(transfer);
    evtimer_del(transfer->timer);
    keep_session(http, transfer);
    if (follow(http, transfer))
        return;
    if (transfer->stays_open) {
        listen_again(transfer);
        return;
    }
    if (transfer->goes_first) {
        http_transfer_free(transfer);
        open_those_waiting(http);
        return;
    }
    int64_t request = transfer->request;
    if (is_awaited(http, request) && resume(transfer))
        return;
    CLEANUP_BUFFER struct buffer why;
    buffer_init(&why, BUFFER_DEFAULT_LIMIT);
    enum upstream_lack lack = http_failure_describe(transfer, &why);
    http_transfer_free(transfer);
    if (is_awaited(http, request))
        http->listener.unanswered(http->listener.data, request, lack, buffer_text(&why));
}

void http_progressed(struct upstream_http *http)
{
    struct http_transfer *transfer;
    note_ends(http);
    while (http->listener.message && (transfer = next_with_message(http)))
        hand_over(http, transfer);
    while (http->listener.message && (transfer = next_over(http)))
        finish(http, transfer);
    if (!http->listener.message && next_over(http))
        event_active(http->end, EV_TIMEOUT, 0);  // the session has ended
}

// --- sending -------------------------------------------------------------------------------------

static char *copy_if_stateless(const struct upstream_http *http, const char *text)
{
    return is_stateless(http) ? memory_copy_string(text) : NULL;
}

static bool has_first(const struct upstream_http *http)
{
    const struct http_transfer *transfer;
    LIST_FOREACH (transfer, &http->transfers, link)
        if (transfer->goes_first)
            return true;
    return false;
}

void upstream_http_send(struct upstream_http *http, const struct upstream_outgoing *message)
{
    struct http_transfer *transfer = http_transfer_new(http, TRANSFER_POST, on_timer);
    transfer->request = message->request;
    transfer->stays_open = message->stays_open;
    transfer->goes_first = message->goes_first;
    transfer->method = copy_if_stateless(http, message->method);
    transfer->name = copy_if_stateless(http, message->name);
    buffer_append_span(&transfer->body, message->text);
    for (size_t i = 0; is_stateless(http) && i < message->lines.length; i++)
        buffer_append_byte(&transfer->lines,
                           message->lines.data[i] == '\n' ? '\0' : message->lines.data[i]);
    if (transfer->goes_first || !has_first(http))
        open_transfer(transfer);
}

void upstream_http_listen(struct upstream_http *http)
{
    if (is_stateless(http) || strcmp(http->version, OLDEST_WITHOUT_STREAMS) == 0)
        return;
    struct http_transfer *transfer = http_transfer_new(http, TRANSFER_GET, on_timer);
    transfer->stays_open = true;
    open_transfer(transfer);
}

void upstream_http_forget(struct upstream_http *http, int64_t request)
{
    struct http_transfer *transfer = find_answering(http, request);
    if (transfer)
        http_transfer_free(transfer);
}

void upstream_http_set_version(struct upstream_http *http, const char *version)
{
    memory_free(http->version);
    http->version = memory_copy_string(version);
}

void upstream_http_reset(struct upstream_http *http)
{
    struct http_transfer *transfer, *next;
    for (transfer = LIST_FIRST(&http->transfers); transfer; transfer = next) {
        next = LIST_NEXT(transfer, link);
        if (transfer->stays_open)
            http_transfer_free(transfer);
    }
    memory_free(http->session);
    http->session = NULL;
    upstream_http_set_version(http, NULL);
}

// --- its life ------------------------------------------------------------------------------------

// The first of the variables that is set, or NULL.
static const char *first_variable(const struct upstream_place *place, const char *const names[])
{
    for (size_t i = 0; names[i]; i++) {
        const char *found = upstream_variable(place->environment, names[i]);
        if (found && *found)
            return found;
    }
    return NULL;
}

// As curl does it, from the variables of the client.
static void choose_proxy(struct upstream_http *http, const struct upstream_place *place)
{
    static const char *const secure[] = {"https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY",
                                         NULL};
    static const char *const plain[] = {"http_proxy", "all_proxy", "ALL_PROXY", NULL};
    static const char *const without[] = {"no_proxy", "NO_PROXY", NULL};
    bool is_secure = strncmp(http->url, "https:", 6) == 0;
    const char *proxy = first_variable(place, is_secure ? secure : plain);
    http->proxy = memory_copy_string(proxy ? proxy : "");
    http->no_proxy = memory_copy_string(first_variable(place, without));
}

// Each distribution keeps its certificates elsewhere, and a libcurl that came along knows one place.
static void choose_authorities(struct upstream_http *http, const struct upstream_place *place)
{
    static const char *const named[] = {"CURL_CA_BUNDLE", "SSL_CERT_FILE", NULL};
    static const char *const usual[] = {"/etc/ssl/certs/ca-certificates.crt",
                                        "/etc/pki/tls/certs/ca-bundle.crt",
                                        "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"};
    const char *found = first_variable(place, named);
    for (size_t i = 0; i < COUNT_OF(usual) && !found; i++)
        if (access(usual[i], R_OK) == 0)
            found = usual[i];
    http->authorities = memory_copy_string(found);
}

static void on_end(evutil_socket_t fd, short what, void *data)
{
    (void)fd;
    (void)what;
    upstream_http_free(data);
}

bool upstream_http_start(struct event_base *base, struct upstream_http_list *list,
                         const struct upstream_entry *entry, const struct upstream_place *place,
                         const struct upstream_listener *listener, struct upstream_http **ret,
                         struct error *error)
{
    const struct curl_api *curl = curl_api_load(error);
    if (!curl)
        return false;
    struct upstream_http *http = memory_alloc_zero(sizeof(*http));
    http->curl = curl;
    http->base = base;
    http->entry = entry;
    http->listener = *listener;
    http->url = memory_copy_string(entry->url);
    choose_proxy(http, place);
    choose_authorities(http, place);
    http->end = evtimer_new(base, on_end, http);
    CHECK(http->end);
    LIST_INSERT_HEAD(list, http, link);
    if (!http_loop_begin(http)) {
        upstream_http_free(http);
        return error_set(error, ERROR_SYSTEM, "no memory for a connection");
    }
    *ret = http;
    return true;
}

static void drop_transfers(struct upstream_http *http)
{
    while (!LIST_EMPTY(&http->transfers))
        http_transfer_free(LIST_FIRST(&http->transfers));
}

void upstream_http_stop(struct upstream_http *http)
{
    http->listener.message = NULL;
    drop_transfers(http);
    if (http->session)
        open_transfer(http_transfer_new(http, TRANSFER_DELETE, on_timer));
    struct timeval grace = timeval_from_ms(http->session ? STOP_GRACE_MS : 0);
    evtimer_add(http->end, &grace);
}

void upstream_http_free(struct upstream_http *http)
{
    LIST_REMOVE(http, link);
    drop_transfers(http);
    if (http->multi)
        http->curl->multi_cleanup(http->multi);
    if (http->timer)
        event_free(http->timer);
    event_free(http->end);
    memory_free(http->url);
    memory_free(http->session);
    memory_free(http->version);
    memory_free(http->proxy);
    memory_free(http->no_proxy);
    memory_free(http->authorities);
    memory_free(http);
}
