#include "process/background.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/eventfd.h>
#include <sys/queue.h>
#include <time.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/memory.h"

struct work {
    STAILQ_ENTRY(work) link;
    background_fn *run;
    background_fn *done;
    void *data;
};

STAILQ_HEAD(work_list, work);

struct background {
    int notice;  // an eventfd: work has ended
    struct event *notice_event;
    pthread_t thread;
    bool has_thread;
    size_t count;  // submitted, not yet done
    pthread_mutex_t lock;
    pthread_cond_t changed;
    // Under the lock:
    struct work_list waiting;
    struct work_list ended;
    bool is_ending;  // set by the loop, which may read it without the lock
};

// --- in the thread -------------------------------------------------------------------------------

// With the lock held. NULL: the end.
static struct work *wait_for_work(struct background *background)
{
    while (STAILQ_EMPTY(&background->waiting) && !background->is_ending)
        pthread_cond_wait(&background->changed, &background->lock);
    struct work *work = STAILQ_FIRST(&background->waiting);
    if (work)
        STAILQ_REMOVE_HEAD(&background->waiting, link);
    return work;
}

static void *run_thread(void *data)
{
    struct background *background = data;
    pthread_mutex_lock(&background->lock);
    for (struct work *work; (work = wait_for_work(background));) {
        pthread_mutex_unlock(&background->lock);
        work->run(work->data);
        pthread_mutex_lock(&background->lock);
        STAILQ_INSERT_TAIL(&background->ended, work, link);
        int failed = eventfd_write(background->notice, 1);
        CHECK(failed == 0);
    }
    pthread_mutex_unlock(&background->lock);
    return NULL;
}

// --- in the loop ---------------------------------------------------------------------------------

static void finish_ended(struct background *background)
{
    struct work_list ended = STAILQ_HEAD_INITIALIZER(ended);
    pthread_mutex_lock(&background->lock);
    STAILQ_CONCAT(&ended, &background->ended);
    pthread_mutex_unlock(&background->lock);
    for (struct work *work; (work = STAILQ_FIRST(&ended));) {
        STAILQ_REMOVE_HEAD(&ended, link);
        background->count--;
        work->done(work->data);
        memory_free(work);
    }
}

static void on_notice(evutil_socket_t descriptor, short events, void *data)
{
    (void)events;
    eventfd_t count;
    eventfd_read(descriptor, &count);
    finish_ended(data);
}

// Signals are the loop's: the thread inherits a mask that blocks all of them.
static int start_thread(struct background *background)
{
    if (background->has_thread)
        return 0;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&background->thread, NULL, run_thread, background);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    background->has_thread = failed == 0;
    return -failed;
}

struct background *background_new(struct event_base *base)
{
    struct background *background = memory_alloc_zero(sizeof(*background));
    STAILQ_INIT(&background->waiting);
    STAILQ_INIT(&background->ended);
    pthread_mutex_init(&background->lock, NULL);
    pthread_cond_init(&background->changed, NULL);
    background->notice = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    CHECK(background->notice >= 0);
    background->notice_event =
        event_new(base, background->notice, EV_READ | EV_PERSIST, on_notice, background);
    CHECK(background->notice_event);
    int failed = event_add(background->notice_event, NULL);
    CHECK(failed == 0);
    return background;
}

int background_submit(struct background *background, background_fn *run, background_fn *done,
                      void *data)
{
    if (background->is_ending)
        return -ECANCELED;
    if (background->count == BACKGROUND_MAX)
        return -EAGAIN;
    int failed = start_thread(background);
    if (failed < 0)
        return failed;
    struct work *work = memory_alloc_zero(sizeof(*work));
    *work = (struct work){.run = run, .done = done, .data = data};
    background->count++;
    pthread_mutex_lock(&background->lock);
    STAILQ_INSERT_TAIL(&background->waiting, work, link);
    pthread_cond_signal(&background->changed);
    pthread_mutex_unlock(&background->lock);
    return 0;
}

// False: it still runs.
static bool end_thread(struct background *background)
{
    pthread_mutex_lock(&background->lock);
    background->is_ending = true;
    pthread_cond_signal(&background->changed);
    pthread_mutex_unlock(&background->lock);
    if (!background->has_thread)
        return true;
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += BACKGROUND_FREE_WAIT_S;
    return pthread_clockjoin_np(background->thread, NULL, CLOCK_MONOTONIC, &until) == 0;
}

void background_free(struct background *background)
{
    if (!background)
        return;
    event_free(background->notice_event);
    if (!end_thread(background)) {
        log_warning("work on a file has not ended within %d s and is abandoned",
                    BACKGROUND_FREE_WAIT_S);
        return;  // the thread still uses the rest
    }
    finish_ended(background);
    close(background->notice);
    pthread_cond_destroy(&background->changed);
    pthread_mutex_destroy(&background->lock);
    memory_free(background);
}
