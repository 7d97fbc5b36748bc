#include "process/reaper.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/queue.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/memory.h"

enum { FREE_WAIT_MS = 1000, AGAIN_MS = 20, AGAIN_MAX = 50 };

struct dying {
    LIST_ENTRY(dying) link;
    struct reaper *reaper;
    struct process process;
    struct event *again;
    unsigned tries;
};

struct reaper {
    struct event_base *base;
    LIST_HEAD(, dying) dying;
};

static void dying_free(struct dying *dying)
{
    LIST_REMOVE(dying, link);
    event_free(dying->again);
    process_close(&dying->process);
    memory_free(dying);
}

// A process that ended before its parent is the parent's to reap, and ours when the parent has
// ended, too.
static bool is_reaped(struct process *process)
{
    struct process_exit exit;
    return process_reap(process, &exit) && (exit.known || process_signal(process, 0) == -ESRCH);
}

static void try_again_later(struct dying *dying)
{
    struct timeval delay = timeval_from_ms(AGAIN_MS);
    evtimer_add(dying->again, &delay);
}

static void on_end(evutil_socket_t fd, short what, void *data)
{
    (void)fd;
    (void)what;
    struct dying *dying = data;
    if (is_reaped(&dying->process) || dying->tries++ == AGAIN_MAX)
        dying_free(dying);
    else
        try_again_later(dying);
}

void reaper_kill(struct reaper *reaper, struct process *process)
{
    if (!process_exists(process))
        return;
    process_signal(process, SIGKILL);
    process_unwatch(process);
    struct dying *dying = memory_alloc_zero(sizeof(*dying));
    dying->reaper = reaper;
    dying->process = *process;
    dying->again = evtimer_new(reaper->base, on_end, dying);
    CHECK(dying->again);
    *process = (struct process){0};
    LIST_INSERT_HEAD(&reaper->dying, dying, link);
    if (process_watch(&dying->process, reaper->base, on_end, dying) < 0)
        try_again_later(dying);
}

bool reaper_has(const struct reaper *reaper, pid_t pid)
{
    struct dying *dying;
    LIST_FOREACH (dying, &reaper->dying, link)
        if (dying->process.pid == pid)
            return true;
    return false;
}

struct reaper *reaper_new(struct event_base *base)
{
    struct reaper *reaper = memory_alloc_zero(sizeof(*reaper));
    reaper->base = base;
    LIST_INIT(&reaper->dying);
    return reaper;
}

struct event_base *reaper_base(const struct reaper *reaper)
{
    return reaper->base;
}

void reaper_free(struct reaper *reaper)
{
    if (!reaper)
        return;
    int64_t until_ms = clock_now_ms() + FREE_WAIT_MS;
    struct dying *dying;
    while ((dying = LIST_FIRST(&reaper->dying))) {
        while (!is_reaped(&dying->process) && clock_now_ms() < until_ms)
            poll(NULL, 0, 1);
        dying_free(dying);
    }
    memory_free(reaper);
}
