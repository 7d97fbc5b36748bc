// A chain: the messages that one writer stores under one subject, each of which expects the one before
// it. Whoever else has written there breaks the chain, and nothing more of this writer is stored.
//
// One message is on its way at a time. One that is not acknowledged is sent again, with the same id, so
// that it is stored once; whether it is must be known before anything follows from it.
#pragma once

#include "cluster/jetstream.h"

struct chain;

struct chain_setup {
    struct event_base *base;
    struct jetstream *jetstream;
    const char *stream, *subject;
    uint64_t last;      // sequence of the subject's last message, 0: there is none
    const char *label;  // of the writer, never used again: ids begin with it
    // The message is stored. `sent_ms` is when it was sent first (clock_boot_ms()).
    void (*on_stored)(void *data, uint64_t sequence, int64_t sent_ms);
    // Somebody else has written: this chain has ended, and may be freed.
    void (*on_broken)(void *data, const char *why);
    void *data;
};

struct chain *chain_new(const struct chain_setup *setup);
void chain_free(struct chain *chain);  // what is on its way may be stored or not
bool chain_is_idle(const struct chain *chain);
void chain_store(struct chain *chain, struct span body);  // copies it; the chain is idle
uint64_t chain_last(const struct chain *chain);           // sequence of the last one stored
