#include "cluster/lease.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/memory.h"
#include "cluster/boot_clock.h"

enum { TICK_MS = 100 };

struct lease {
    struct lease_setup setup;
    char *workspace, *node, *subject;
    enum { STATE_READING, STATE_CLAIMING, STATE_HELD, STATE_RELEASING, STATE_OVER } state;
    struct jetstream_request *reading;
    struct chain *chain;
    struct owner_record record;
    int64_t began_ms;
    int64_t granted_ms;  // from when on the lease is counted
    int64_t refreshed_ms;
    struct event *tick;
};

static void end_claim(struct lease *lease, enum lease_result result)
{
    lease->state = result == LEASE_HELD ? STATE_HELD : STATE_OVER;
    if (result != LEASE_HELD)
        evtimer_del(lease->tick);
    lease->setup.on_claimed(lease->setup.data, result);
}

static void lose(struct lease *lease, const char *why)
{
    bool is_releasing = lease->state == STATE_RELEASING;
    lease->state = STATE_OVER;
    evtimer_del(lease->tick);
    if (is_releasing)
        lease->setup.on_released(lease->setup.data);
    else
        lease->setup.on_lost(lease->setup.data, why);
}

static bool is_over_time(const struct lease *lease)
{
    return clock_boot_ms() - lease->granted_ms >= LEASE_MS;
}

// --- the record ----------------------------------------------------------------------------------

static void store_record(struct lease *lease)
{
    lease->record.count++;
    lease->refreshed_ms = clock_boot_ms();
    CLEANUP_FREE char *text = owner_record_write(&lease->record);
    chain_store(lease->chain, span_from(text));
}

static void on_stored(void *data, uint64_t sequence, int64_t sent_ms)
{
    (void)sequence;
    struct lease *lease = data;
    owners_note(lease->setup.owners, lease->workspace, &lease->record);
    lease->granted_ms = sent_ms;
    if (lease->state == STATE_RELEASING) {
        if (*lease->record.node)  // a refresh that was on its way
            lease_release(lease);
        else
            lose(lease, "");
    } else if (is_over_time(lease)) {
        if (lease->state == STATE_CLAIMING)
            end_claim(lease, LEASE_UNREACHABLE);
        else
            lose(lease, "no refresh was acknowledged in time");
    } else if (lease->state == STATE_CLAIMING) {
        end_claim(lease, LEASE_HELD);
    }
}

static void on_broken(void *data, const char *why)
{
    struct lease *lease = data;
    if (lease->state == STATE_CLAIMING)
        end_claim(lease, LEASE_TAKEN);
    else
        lose(lease, why);
}

// --- the claim -----------------------------------------------------------------------------------

static void claim(struct lease *lease, uint64_t revision)
{
    char label[2 * CLUSTER_NAME_MAX + 40];
    snprintf(label, sizeof(label), "%s.%s.%" PRIu64, lease->workspace, lease->node,
             lease->record.epoch + 1);
    const struct chain_setup setup = {.base = lease->setup.base,
                                      .jetstream = lease->setup.jetstream,
                                      .stream = OWNERS_STREAM,
                                      .subject = lease->subject,
                                      .last = revision,
                                      .label = label,
                                      .on_stored = on_stored,
                                      .on_broken = on_broken,
                                      .data = lease};
    lease->chain = chain_new(&setup);
    lease->state = STATE_CLAIMING;
    lease->record.epoch++;
    lease->record.instance = lease->setup.instance;
    lease->record.count = 0;
    snprintf(lease->record.node, sizeof(lease->record.node), "%s", lease->node);
    store_record(lease);
}

static void on_read(void *data, const struct jetstream_answer *answer)
{
    struct lease *lease = data;
    lease->reading = NULL;
    if (answer->status == JETSTREAM_NONE) {
        claim(lease, 0);
        return;
    }
    if (answer->status != JETSTREAM_DONE || !owner_record_read(answer->body, &lease->record)) {
        end_claim(lease, LEASE_UNREACHABLE);
        return;
    }
    owners_note(lease->setup.owners, lease->workspace, &lease->record);
    const struct owner *owner = owners_find(lease->setup.owners, lease->workspace);
    bool was_here = lease->record.instance == lease->setup.instance &&
                    strcmp(lease->record.node, lease->node) == 0;
    if (was_here || (owner && owner_is_free(owner)))
        claim(lease, answer->sequence);
    else
        end_claim(lease, LEASE_TAKEN);
}

// --- while it is held ----------------------------------------------------------------------------

static void on_tick(evutil_socket_t fd, short what, void *data)
{
    (void)fd;
    (void)what;
    struct lease *lease = data;
    int64_t now = clock_boot_ms();
    bool claims = lease->state == STATE_READING || lease->state == STATE_CLAIMING;
    if (claims && now - lease->began_ms >= LEASE_MS)
        end_claim(lease, LEASE_UNREACHABLE);
    else if (!claims && is_over_time(lease))
        lose(lease, "no refresh was acknowledged in time");
    else if (lease->state == STATE_HELD && now - lease->refreshed_ms >= LEASE_REFRESH_MS &&
             chain_is_idle(lease->chain))
        store_record(lease);
}

bool lease_is_held(const struct lease *lease)
{
    return lease->state == STATE_HELD && !is_over_time(lease);
}

uint64_t lease_epoch(const struct lease *lease)
{
    return lease->record.epoch;
}

void lease_describe(struct lease *lease, uint64_t journal, uint64_t images)
{
    lease->record.journal = journal;
    lease->record.images = images;
}

void lease_release(struct lease *lease)
{
    if (lease->state != STATE_HELD && lease->state != STATE_RELEASING)
        return;
    lease->state = STATE_RELEASING;
    if (!chain_is_idle(lease->chain))
        return;  // on_stored() comes back here
    lease->record.node[0] = '\0';
    store_record(lease);
}

struct lease *lease_new(const struct lease_setup *setup)
{
    struct lease *lease = memory_alloc_zero(sizeof(*lease));
    *lease = (struct lease){.setup = *setup,
                            .workspace = memory_copy_string(setup->workspace),
                            .node = memory_copy_string(setup->node),
                            .subject = memory_format(OWNERS_SUBJECT "%s", setup->workspace),
                            .began_ms = clock_boot_ms()};
    struct timeval time = timeval_from_ms(TICK_MS);
    lease->tick = event_new(setup->base, -1, EV_PERSIST, on_tick, lease);
    CHECK(lease->tick);
    event_add(lease->tick, &time);
    lease->reading =
        jetstream_get_last(setup->jetstream, OWNERS_STREAM, lease->subject, on_read, lease);
    return lease;
}

void lease_free(struct lease *lease)
{
    if (!lease)
        return;
    jetstream_drop(lease->reading);
    chain_free(lease->chain);
    event_free(lease->tick);
    memory_free(lease->workspace);
    memory_free(lease->node);
    memory_free(lease->subject);
    memory_free(lease);
}
