#include "cluster/chain.h"

#include <inttypes.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/memory.h"
#include "cluster/boot_clock.h"

enum { AGAIN_MS = 150 };

struct chain {
    struct chain_setup setup;
    char *stream, *subject, *label;
    uint64_t last, count;
    struct jetstream_request *request;
    struct event *again;
    char *body;  // on its way; NULL: idle
    size_t length;
    char *id;
    int64_t sent_ms;
    bool is_broken;
};

static void send_message(struct chain *chain);

static void on_again(evutil_socket_t fd, short what, void *data)
{
    (void)fd;
    (void)what;
    send_message(data);
}

static void try_again(struct chain *chain)
{
    struct timeval time = timeval_from_ms(AGAIN_MS);
    evtimer_add(chain->again, &time);
}

static void stored(struct chain *chain, uint64_t sequence)
{
    memory_free(chain->body);
    memory_free(chain->id);
    chain->body = chain->id = NULL;
    chain->last = sequence;
    chain->setup.on_stored(chain->setup.data, sequence, chain->sent_ms);
}

static void broken(struct chain *chain, const char *why)
{
    chain->is_broken = true;
    chain->setup.on_broken(chain->setup.data, why);
}

// The subject has another last message than was expected: perhaps this one, whose acknowledgement was
// lost.
static void on_last(void *data, const struct jetstream_answer *answer)
{
    struct chain *chain = data;
    chain->request = NULL;
    if (answer->status == JETSTREAM_DONE && span_equal_text(answer->id, chain->id))
        stored(chain, answer->sequence);
    else if (answer->status == JETSTREAM_SILENT || answer->status == JETSTREAM_REFUSED)
        try_again(chain);
    else
        broken(chain, "another node has written there");
}

static void on_published(void *data, const struct jetstream_answer *answer)
{
    struct chain *chain = data;
    chain->request = NULL;
    if (answer->status == JETSTREAM_DONE)
        stored(chain, answer->sequence);
    else if (answer->status == JETSTREAM_CONFLICT)
        chain->request = jetstream_get_last(chain->setup.jetstream, chain->stream, chain->subject,
                                            on_last, chain);
    else
        try_again(chain);
}

static void send_message(struct chain *chain)
{
    const struct jetstream_message message = {.subject = chain->subject,
                                              .body = {chain->body, chain->length},
                                              .expected = (int64_t)chain->last,
                                              .id = chain->id};
    chain->request = jetstream_publish(chain->setup.jetstream, &message, on_published, chain);
}

void chain_store(struct chain *chain, struct span body)
{
    CHECK(chain_is_idle(chain));
    chain->body = memory_copy_text(body.data, body.length);
    chain->length = body.length;
    chain->id = memory_format("%s-%" PRIu64, chain->label, ++chain->count);
    chain->sent_ms = clock_boot_ms();
    send_message(chain);
}

bool chain_is_idle(const struct chain *chain)
{
    return !chain->body && !chain->is_broken;
}

uint64_t chain_last(const struct chain *chain)
{
    return chain->last;
}

struct chain *chain_new(const struct chain_setup *setup)
{
    struct chain *chain = memory_alloc_zero(sizeof(*chain));
    *chain = (struct chain){.setup = *setup,
                            .stream = memory_copy_string(setup->stream),
                            .subject = memory_copy_string(setup->subject),
                            .label = memory_copy_string(setup->label),
                            .last = setup->last};
    chain->again = evtimer_new(setup->base, on_again, chain);
    CHECK(chain->again);
    return chain;
}

void chain_free(struct chain *chain)
{
    if (!chain)
        return;
    jetstream_drop(chain->request);
    event_free(chain->again);
    memory_free(chain->stream);
    memory_free(chain->subject);
    memory_free(chain->label);
    memory_free(chain->body);
    memory_free(chain->id);
    memory_free(chain);
}
