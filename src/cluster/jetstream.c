#include "cluster/jetstream.h"

#include <errno.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/queue.h>

#include "base/assert.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "base/memory.h"
#include "value/text/json.h"

enum {
    TICK_MS = 50,
    ANSWER_MAX = 4 << 20,  // bytes of an answer as values
    WRONG_LAST_SEQUENCE = 10071,
    MESSAGE_NOT_FOUND = 10037,
    STREAM_NOT_FOUND = 10059,
    STREAM_NAME_IN_USE = 10058,
};

struct jetstream_request {
    TAILQ_ENTRY(jetstream_request) link;
    struct jetstream *jetstream;
    enum { REQUEST_PUBLISH, REQUEST_GET, REQUEST_API, REQUEST_PLAIN } kind;
    uint64_t id;
    int64_t deadline_ms;
    bool is_unsent;
    jetstream_fn *done;
    void *data;
};

struct jetstream {
    struct bus *bus;
    struct bus_subscription *answers;
    char inbox[64];
    uint64_t last_id;
    struct event *tick;
    TAILQ_HEAD(request_list, jetstream_request) requests;
};

// --- requests ------------------------------------------------------------------------------------

static void finish(struct jetstream_request *request, const struct jetstream_answer *answer)
{
    jetstream_fn *done = request->done;
    void *data = request->data;
    jetstream_drop(request);
    done(data, answer);
}

void jetstream_drop(struct jetstream_request *request)
{
    if (!request)
        return;
    TAILQ_REMOVE(&request->jetstream->requests, request, link);
    memory_free(request);
}

static void set_tick(struct jetstream *jetstream)
{
    struct timeval soon = timeval_from_ms(TICK_MS);
    event_add(jetstream->tick, &soon);
}

// The silent ones are collected first: what is called may add and drop others.
static void on_tick(evutil_socket_t fd, short what, void *data)
{
    (void)fd;
    (void)what;
    struct jetstream *jetstream = data;
    int64_t now = clock_now_ms();
    for (;;) {
        struct jetstream_request *request;
        TAILQ_FOREACH (request, &jetstream->requests, link)
            if (request->is_unsent || now >= request->deadline_ms)
                break;
        if (!request)
            break;
        finish(request, &(struct jetstream_answer){.status = JETSTREAM_SILENT});
    }
    if (!TAILQ_EMPTY(&jetstream->requests))
        set_tick(jetstream);
}

static struct jetstream_request *ask(struct jetstream *jetstream, int kind,
                                     struct bus_message *message, jetstream_fn *done, void *data)
{
    struct jetstream_request *request = memory_alloc_zero(sizeof(*request));
    *request = (struct jetstream_request){.jetstream = jetstream,
                                          .kind = kind,
                                          .id = ++jetstream->last_id,
                                          .deadline_ms = clock_now_ms() + JETSTREAM_WAIT_MS,
                                          .done = done,
                                          .data = data};
    TAILQ_INSERT_TAIL(&jetstream->requests, request, link);
    CLEANUP_FREE char *reply = memory_format("%s.%" PRIu64, jetstream->inbox, request->id);
    message->reply = reply;
    request->is_unsent = bus_publish(jetstream->bus, message) < 0;
    if (!evtimer_pending(jetstream->tick, NULL))
        set_tick(jetstream);
    return request;
}

static struct jetstream_request *ask_api(struct jetstream *jetstream, int kind, const char *call,
                                         const char *stream, struct span body, jetstream_fn *done,
                                         void *data)
{
    CLEANUP_FREE char *subject = memory_format("$JS.API.STREAM.%s.%s", call, stream);
    struct bus_message message = {.subject = subject, .body = body};
    return ask(jetstream, kind, &message, done, data);
}

struct jetstream_request *jetstream_publish(struct jetstream *jetstream,
                                            const struct jetstream_message *stored,
                                            jetstream_fn *done, void *data)
{
    char expected[24];
    struct bus_message message = {.subject = stored->subject, .body = stored->body};
    size_t count = 0;
    if (stored->expected != JETSTREAM_ANY) {
        snprintf(expected, sizeof(expected), "%" PRId64, stored->expected);
        message.headers[count++] =
            (struct bus_header){"Nats-Expected-Last-Subject-Sequence", expected};
    }
    if (stored->id)
        message.headers[count++] = (struct bus_header){"Nats-Msg-Id", stored->id};
    return ask(jetstream, REQUEST_PUBLISH, &message, done, data);
}

struct jetstream_request *jetstream_get_last(struct jetstream *jetstream, const char *stream,
                                             const char *subject, jetstream_fn *done, void *data)
{
    CLEANUP_FREE char *body = memory_format("{\"last_by_subj\":\"%s\"}", subject);
    return ask_api(jetstream, REQUEST_GET, "MSG.GET", stream, span_from(body), done, data);
}

struct jetstream_request *jetstream_get_next(struct jetstream *jetstream, const char *stream,
                                             const char *subject, uint64_t from, jetstream_fn *done,
                                             void *data)
{
    CLEANUP_FREE char *body =
        memory_format("{\"seq\":%" PRIu64 ",\"next_by_subj\":\"%s\"}", from, subject);
    return ask_api(jetstream, REQUEST_GET, "MSG.GET", stream, span_from(body), done, data);
}

struct jetstream_request *jetstream_purge(struct jetstream *jetstream, const char *stream,
                                          const char *subject, uint64_t before, jetstream_fn *done,
                                          void *data)
{
    CLEANUP_FREE char *body =
        memory_format("{\"filter\":\"%s\",\"seq\":%" PRIu64 "}", subject, before);
    return ask_api(jetstream, REQUEST_API, "PURGE", stream, span_from(body), done, data);
}

struct jetstream_request *jetstream_provide(struct jetstream *jetstream, const char *stream,
                                            struct span configuration, jetstream_fn *done,
                                            void *data)
{
    struct jetstream_request *request =
        ask_api(jetstream, REQUEST_API, "CREATE", stream, configuration, done, data);
    request->deadline_ms += (int64_t)4 * JETSTREAM_WAIT_MS;  // the servers elect a leader first
    return request;
}

struct jetstream_request *jetstream_ask(struct jetstream *jetstream, const char *subject,
                                        struct span body, int64_t wait_ms, jetstream_fn *done,
                                        void *data)
{
    struct bus_message message = {.subject = subject, .body = body};
    struct jetstream_request *request = ask(jetstream, REQUEST_PLAIN, &message, done, data);
    request->deadline_ms = clock_now_ms() + wait_ms;
    return request;
}

// --- answers -------------------------------------------------------------------------------------

static enum jetstream_status status_of(value error)
{
    switch (map_get_integer(error, "err_code", 0)) {
    case WRONG_LAST_SEQUENCE: return JETSTREAM_CONFLICT;
    case MESSAGE_NOT_FOUND:
    case STREAM_NOT_FOUND: return JETSTREAM_NONE;
    case STREAM_NAME_IN_USE: return JETSTREAM_DONE;
    default: return JETSTREAM_REFUSED;
    }
}

// Bytes come as base64.
static struct span decode(struct region *region, struct span text)
{
    size_t length = 0;
    char *bytes = region_alloc(region, text.length + 1);
    if (sodium_base642bin((unsigned char *)bytes, text.length + 1, text.data, text.length, NULL,
                          &length, NULL, sodium_base64_VARIANT_ORIGINAL) != 0)
        length = 0;
    return (struct span){bytes, length};
}

static struct span find_id(struct span headers)
{
    static const char name[] = "Nats-Msg-Id: ";
    const char *found = memmem(headers.data, headers.length, name, sizeof(name) - 1);
    if (!found)
        return SPAN("");
    const char *start = found + sizeof(name) - 1, *limit = headers.data + headers.length;
    const char *end = memchr(start, '\r', (size_t)(limit - start));
    return (struct span){start, (size_t)((end ? end : limit) - start)};
}

static void read_answer(struct region *region, const struct jetstream_request *request, value map,
                        struct jetstream_answer *answer)
{
    value error = map_get(map, "error");
    answer->content = map;
    if (value_is_map(error)) {
        struct span text = map_get_string(error, "description");
        char *copy = region_alloc(region, text.length + 1);
        memcpy(copy, text.data, text.length);
        copy[text.length] = '\0';
        answer->text = copy;
        answer->status = status_of(error);
        return;
    }
    answer->status = JETSTREAM_DONE;
    answer->sequence = (uint64_t)map_get_integer(map, "seq", 0);
    value message = map_get(map, "message");
    if (request->kind != REQUEST_GET || !value_is_map(message))
        return;
    answer->sequence = (uint64_t)map_get_integer(message, "seq", 0);
    answer->body = decode(region, map_get_string(message, "data"));
    answer->id = find_id(decode(region, map_get_string(message, "hdrs")));
}

static void answer_request(struct jetstream_request *request, const struct bus_delivery *delivery)
{
    struct error error;
    value map = value_nil();
    struct jetstream_answer answer = {.status = JETSTREAM_REFUSED,
                                      .text = "not an answer of JetStream",
                                      .body = SPAN(""),
                                      .id = SPAN(""),
                                      .content = value_nil()};
    struct region *region = region_new(ANSWER_MAX);
    if (delivery->no_responders) {
        // Of a publish: the stream is not there, or its servers have no leader just now.
        answer.status = request->kind == REQUEST_PLAIN ? JETSTREAM_NONE : JETSTREAM_SILENT;
    } else if (request->kind == REQUEST_PLAIN) {
        answer.status = JETSTREAM_DONE;
        answer.body = delivery->body;
    } else if (json_read(region, delivery->body, NULL, &map, &error) && value_is_map(map)) {
        read_answer(region, request, map, &answer);
    }
    finish(request, &answer);
    region_free(region);
}

static void on_answer(void *data, const struct bus_delivery *delivery)
{
    struct jetstream *jetstream = data;
    const char *last = strrchr(delivery->subject, '.');
    uint64_t id = last ? strtoull(last + 1, NULL, 10) : 0;
    struct jetstream_request *request;
    TAILQ_FOREACH (request, &jetstream->requests, link)
        if (request->id == id)
            break;
    if (request)
        answer_request(request, delivery);
}

// --- life ----------------------------------------------------------------------------------------

struct jetstream *jetstream_new(struct event_base *base, struct bus *bus)
{
    struct jetstream *jetstream = memory_alloc_zero(sizeof(*jetstream));
    unsigned char random[12];
    char text[2 * sizeof(random) + 1];
    jetstream->bus = bus;
    TAILQ_INIT(&jetstream->requests);
    randombytes_buf(random, sizeof(random));
    sodium_bin2hex(text, sizeof(text), random, sizeof(random));
    snprintf(jetstream->inbox, sizeof(jetstream->inbox), "_INBOX.cadre.%s", text);
    jetstream->tick = evtimer_new(base, on_tick, jetstream);
    CHECK(jetstream->tick);
    CLEANUP_FREE char *subject = memory_format("%s.*", jetstream->inbox);
    jetstream->answers = bus_subscribe(bus, subject, NULL, on_answer, jetstream);
    return jetstream;
}

void jetstream_free(struct jetstream *jetstream)
{
    if (!jetstream)
        return;
    bus_unsubscribe(jetstream->answers);
    while (!TAILQ_EMPTY(&jetstream->requests))
        jetstream_drop(TAILQ_FIRST(&jetstream->requests));
    event_free(jetstream->tick);
    memory_free(jetstream);
}

struct bus *jetstream_bus(const struct jetstream *jetstream)
{
    return jetstream->bus;
}
