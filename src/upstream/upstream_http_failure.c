// Why a transfer that is over brought no answer: what the user can do about it comes first.
#include <string.h>
#include <strings.h>

#include "upstream/upstream_http_internal.h"

enum { EXCERPT_MAX = 200 };

// What the server wrote, on one line.
static void put_excerpt(struct buffer *why, const struct http_transfer *transfer)
{
    struct span text = buffer_span(&transfer->content);
    size_t start = why->length;
    for (size_t i = 0; i < text.length && why->length - start < EXCERPT_MAX; i++) {
        bool is_blank = (unsigned char)text.data[i] <= ' ' || text.data[i] == 127;
        if (!is_blank)
            buffer_append_byte(why, text.data[i]);
        else if (why->length > start && why->data[why->length - 1] != ' ')
            buffer_append_byte(why, ' ');
    }
}

static void put_status(struct buffer *why, const struct http_transfer *transfer, const char *what)
{
    buffer_append_format(why, "%s (HTTP status %ld)", what, transfer->status);
    if (transfer->content.length && transfer->form != FORM_STREAM) {
        buffer_append_text(why, ": ");
        put_excerpt(why, transfer);
    }
}

// --- addresses -----------------------------------------------------------------------------------

enum { ORIGIN_PARTS = 3 };

// Scheme, host and port; the texts are libcurl's. False: this is no address.
static bool split(const struct curl_api *curl, const char *address, char *parts[ORIGIN_PARTS])
{
    static const CURLUPart names[ORIGIN_PARTS] = {CURLUPART_SCHEME, CURLUPART_HOST, CURLUPART_PORT};
    CURLU *url = curl->url();
    bool ok = url && curl->url_set(url, CURLUPART_URL, address, 0) == CURLUE_OK;
    for (size_t i = 0; i < ORIGIN_PARTS; i++)
        ok = ok && curl->url_get(url, names[i], &parts[i], CURLU_DEFAULT_PORT) == CURLUE_OK;
    if (url)
        curl->url_cleanup(url);
    return ok;
}

static void free_parts(const struct curl_api *curl, char *parts[ORIGIN_PARTS])
{
    for (size_t i = 0; i < ORIGIN_PARTS; i++)
        if (parts[i])
            curl->free(parts[i]);
}

bool http_same_origin(const struct curl_api *curl, const char *a, const char *b)
{
    char *left[ORIGIN_PARTS] = {0}, *right[ORIGIN_PARTS] = {0};
    bool same = split(curl, a, left) && split(curl, b, right);
    for (size_t i = 0; i < ORIGIN_PARTS && same; i++)
        same = strcasecmp(left[i], right[i]) == 0;
    free_parts(curl, left);
    free_parts(curl, right);
    return same;
}

static void put_redirect(struct buffer *why, const struct http_transfer *transfer)
{
    const struct curl_api *curl = transfer->http->curl;
    char *parts[ORIGIN_PARTS] = {0};
    if (transfer->redirect && split(curl, transfer->redirect, parts))
        buffer_append_format(why,
                             "it redirects to %s://%s:%s (HTTP status %ld), which is not followed; "
                             "give its entry the address that is meant",
                             parts[0], parts[1], parts[2], transfer->status);
    else
        put_status(why, transfer, "it redirects to nowhere");
    free_parts(curl, parts);
}

// --- kinds of failures ---------------------------------------------------------------------------

static bool has_authorization(const struct upstream_entry *entry)
{
    for (size_t i = 0; entry->headers && entry->headers[i]; i++)
        if (strncasecmp(entry->headers[i], "Authorization:", 14) == 0)
            return true;
    return false;
}

static void put_access(struct buffer *why, const struct http_transfer *transfer)
{
    if (has_authorization(transfer->http->entry))
        put_status(why, transfer, "it refuses the credentials in `headers` of its entry");
    else
        put_status(why, transfer,
                   "it wants a login; Cadre does not do OAuth: give its entry a token, "
                   "\"headers\": {\"Authorization\": \"Bearer ${TOKEN}\"}");
}

// The servers of the SDKs that have forgotten a session answer 400, not 404, and say so.
bool http_session_is_lost(const struct http_transfer *transfer)
{
    if (!transfer->http->session)
        return false;
    struct span text = buffer_span(&transfer->content);
    return transfer->status == 404 ||
           (transfer->status == 400 && memmem(text.data, text.length, "ession", 6));
}

static void put_broken(struct buffer *why, const struct http_transfer *transfer)
{
    const char *text = transfer->curl_text;
    if (transfer->code == CURLE_SEND_FAIL_REWIND)
        text = "it was closed before an answer came";
    else if (!*text)
        text = transfer->http->curl->easy_strerror(transfer->code);
    buffer_append_format(why, "the connection failed: %s", text);
}

static void put_useless(struct buffer *why, const struct http_transfer *transfer)
{
    if (transfer->form == FORM_STREAM)
        buffer_append_text(why, "its event stream ended without an answer");
    else if (transfer->form == FORM_JSON)
        buffer_append_text(why, "what it sent is no answer to the request");
    else
        put_status(why, transfer, "its answer is neither JSON nor an event stream");
}

enum upstream_lack http_failure_describe(const struct http_transfer *transfer, struct buffer *why)
{
    long status = transfer->status;
    bool is_new = !transfer->http->version;
    if (transfer->problem) {
        buffer_append_text(why, transfer->problem);
    } else if (http_session_is_lost(transfer)) {
        buffer_append_text(why, "it has ended the session");
        return LACK_SESSION;
    } else if (status == 401 || status == 403) {
        put_access(why, transfer);
    } else if (status >= 300 && status < 400) {
        put_redirect(why, transfer);
    } else if ((status == 404 || status == 405) && is_new) {
        put_status(why, transfer,
                   "there is no Streamable HTTP at its url; should that be the address of an SSE "
                   "server (protocol 2024-11-05), this transport is not supported");
    } else if (status >= 400) {
        put_status(why, transfer, "it refused the request");
    } else if (transfer->code != CURLE_OK) {
        put_broken(why, transfer);
        return LACK_CONNECTION;
    } else {
        put_useless(why, transfer);
    }
    return LACK_ANSWER;
}
