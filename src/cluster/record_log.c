#include "cluster/record_log.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/assert.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "base/memory.h"

enum { CLAIMS_MAX = 20, LINE_MAX = 32 << 20, AGAIN_MS = 150 };

struct record_log {
    struct record_log_setup setup;
    char *workspace, *node, *subject;
    struct chain *chain;
    struct jetstream_request *request;
    struct event *again;  // what could not be asked
    unsigned claims;
    bool is_ready;
    uint64_t next, claim;  // of the messages that are read
    struct buffer line;    // read so far
    struct buffer pending;
    uint64_t appended, sent, stored;
    size_t sent_bytes;
    int64_t sent_ns;
    double latency_ms;
};

static void begin_claim(struct record_log *log);
static void read_next(struct record_log *log);
static void try_again(struct record_log *log);

static void fail(struct record_log *log, const char *why)
{
    log->setup.on_broken(log->setup.data, why);
}

// --- what is there -------------------------------------------------------------------------------

static void read_line(struct record_log *log, struct span text)
{
    bool is_claim = span_starts_with(text, SPAN("{\"claim\":"));
    if (text.length > 0 && !is_claim)
        log->setup.on_record(log->setup.data, text, log->next);
}

// A message of one owner ends within a line; that of the next begins with a line end.
static void read_body(struct record_log *log, struct span body)
{
    if (span_starts_with(body, SPAN("\n{\"claim\":")))
        buffer_clear(&log->line);
    while (body.length > 0) {
        const char *end = memchr(body.data, '\n', body.length);
        size_t length = end ? (size_t)(end - body.data) : body.length;
        buffer_append(&log->line, body.data, length);
        if (!end)
            return;
        if (!log->line.failed)
            read_line(log, buffer_span(&log->line));
        buffer_clear(&log->line);
        body = (struct span){end + 1, body.length - length - 1};
    }
}

static void on_message(void *data, const struct jetstream_answer *answer)
{
    struct record_log *log = data;
    log->request = NULL;
    if (answer->status != JETSTREAM_DONE || answer->sequence < log->next) {
        try_again(log);
        return;
    }
    log->next = answer->sequence;
    if (answer->sequence < log->claim)
        read_body(log, answer->body);
    if (answer->sequence >= log->claim) {
        buffer_release(&log->line);
        log->is_ready = true;
        log->setup.on_ready(log->setup.data);
        return;
    }
    log->next++;
    read_next(log);
}

static void read_next(struct record_log *log)
{
    log->request = jetstream_get_next(log->setup.jetstream, JOURNAL_STREAM, log->subject, log->next,
                                      on_message, log);
}

// --- what is added -------------------------------------------------------------------------------

// As much as one message takes; the rest goes with the next one.
static void send_pending(struct record_log *log)
{
    if (log->pending.length == 0 || !chain_is_idle(log->chain))
        return;
    struct span body = buffer_span(&log->pending);
    bool is_all = body.length <= BUS_PIECE_MAX;
    if (!is_all)
        body.length = BUS_PIECE_MAX;
    log->sent_bytes = body.length;
    log->sent = is_all ? log->appended : log->stored;
    log->sent_ns = clock_now_ns();
    chain_store(log->chain, body);
}

static void on_stored(void *data, uint64_t sequence, int64_t sent_ms)
{
    (void)sent_ms;
    struct record_log *log = data;
    if (!log->is_ready) {
        log->claim = sequence;
        log->next = 1;
        read_next(log);
        return;
    }
    log->latency_ms = (double)(clock_now_ns() - log->sent_ns) / 1e6;
    log->stored = log->sent;
    buffer_consume(&log->pending, log->sent_bytes);
    send_pending(log);
    log->setup.on_stored(log->setup.data);
}

uint64_t record_log_append(struct record_log *log, struct span record)
{
    buffer_append_span(&log->pending, record);
    buffer_append_byte(&log->pending, '\n');
    uint64_t place = ++log->appended;
    if (log->pending.failed)
        fail(log, "too much waits for its journal");
    else
        send_pending(log);
    return place;
}

uint64_t record_log_appended(const struct record_log *log)
{
    return log->appended;
}

uint64_t record_log_stored(const struct record_log *log)
{
    return log->stored;
}

uint64_t record_log_sequence(const struct record_log *log)
{
    return log->chain ? chain_last(log->chain) : 0;
}

double record_log_latency_ms(const struct record_log *log)
{
    return log->latency_ms;
}

// --- the claim -----------------------------------------------------------------------------------

// Before the claim is stored, what an older owner has still sent may come between.
static void on_broken(void *data, const char *why)
{
    struct record_log *log = data;
    if (log->is_ready || log->claim > 0 || ++log->claims > CLAIMS_MAX)
        fail(log, why);
    else
        begin_claim(log);
}

static void on_last(void *data, const struct jetstream_answer *answer)
{
    struct record_log *log = data;
    char label[192];
    log->request = NULL;
    if (answer->status != JETSTREAM_DONE && answer->status != JETSTREAM_NONE) {
        try_again(log);
        return;
    }
    snprintf(label, sizeof(label), "%s.%s.%" PRIu64 ".%u", log->workspace, log->node,
             log->setup.epoch, log->claims);
    const struct chain_setup setup = {.base = log->setup.base,
                                      .jetstream = log->setup.jetstream,
                                      .stream = JOURNAL_STREAM,
                                      .subject = log->subject,
                                      .last = answer->sequence,
                                      .label = label,
                                      .on_stored = on_stored,
                                      .on_broken = on_broken,
                                      .data = log};
    chain_free(log->chain);
    log->chain = chain_new(&setup);
    CLEANUP_FREE char *claim = memory_format(
        "\n{\"claim\":{\"node\":\"%s\",\"epoch\":%" PRIu64 "}}\n", log->node, log->setup.epoch);
    chain_store(log->chain, span_from(claim));
}

// The stream may have no leader for some seconds. How long it is worth to wait is for the lease to say.
static void on_again(evutil_socket_t fd, short what, void *data)
{
    (void)fd;
    (void)what;
    struct record_log *log = data;
    if (log->claim > 0)
        read_next(log);
    else
        begin_claim(log);
}

static void try_again(struct record_log *log)
{
    struct timeval time = timeval_from_ms(AGAIN_MS);
    evtimer_add(log->again, &time);
}

static void begin_claim(struct record_log *log)
{
    log->request =
        jetstream_get_last(log->setup.jetstream, JOURNAL_STREAM, log->subject, on_last, log);
}

struct record_log *record_log_new(const struct record_log_setup *setup)
{
    struct record_log *log = memory_alloc_zero(sizeof(*log));
    *log = (struct record_log){.setup = *setup,
                               .workspace = memory_copy_string(setup->workspace),
                               .node = memory_copy_string(setup->node),
                               .subject = memory_format(JOURNAL_SUBJECT "%s", setup->workspace)};
    log->again = evtimer_new(setup->base, on_again, log);
    CHECK(log->again);
    buffer_init(&log->line, LINE_MAX);
    buffer_init(&log->pending, RECORD_LOG_PENDING_MAX);
    begin_claim(log);
    return log;
}

void record_log_free(struct record_log *log)
{
    if (!log)
        return;
    jetstream_drop(log->request);
    event_free(log->again);
    chain_free(log->chain);
    buffer_release(&log->line);
    buffer_release(&log->pending);
    memory_free(log->workspace);
    memory_free(log->node);
    memory_free(log->subject);
    memory_free(log);
}
