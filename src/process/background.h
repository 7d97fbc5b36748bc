// Work that may wait for a disk, off the event loop: one thread runs it in the order it came, and the
// loop is told when it has ended.
//
// What runs there must not use what belongs to the loop: values, regions, events. It gets all it
// needs through `data`, which the loop leaves alone until `done` is called. The thread is started
// with the first work.
#pragma once

#include <event2/event.h>

enum {
    BACKGROUND_MAX = 1024,       // pieces of work that wait or run
    BACKGROUND_FREE_WAIT_S = 2,  // for what is left at the end
};

struct background;

typedef void background_fn(void *data);

struct background *background_new(struct event_base *base);
// Waits until all work has run, and calls `done` for it. Work that takes longer than
// BACKGROUND_FREE_WAIT_S is abandoned: it goes on until the process ends, `done` is not called.
// Not from the loop.
void background_free(struct background *background);

// `run` is called in the thread, `done` afterwards from the loop, in the same order. 0 or negative
// errno, and then neither is called: -EAGAIN when there are BACKGROUND_MAX pieces of work, -ECANCELED
// from within background_free().
int background_submit(struct background *background, background_fn *run, background_fn *done,
                      void *data);
