#include "program/run/parallel/threads.h"

#include <pthread.h>
#include <signal.h>
#include <time.h>

#include "base/memory.h"

struct threads {
    pthread_mutex_t lock;
    pthread_cond_t has_work;
    pthread_cond_t has_finished;
    struct thread_job *waiting, **waiting_end;
    struct thread_job *finished, **finished_end;
    size_t idle;
    size_t count;
    size_t max_threads;
    bool closing;
    pthread_t handles[];
};

struct threads *threads_new(size_t max_threads)
{
    struct threads *threads = memory_try_alloc(sizeof(*threads) + max_threads * sizeof(pthread_t));
    if (!threads)
        return NULL;
    *threads = (struct threads){.max_threads = max_threads};
    threads->waiting_end = &threads->waiting;
    threads->finished_end = &threads->finished;
    pthread_mutex_init(&threads->lock, NULL);
    pthread_cond_init(&threads->has_work, NULL);
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&threads->has_finished, &attributes);
    pthread_condattr_destroy(&attributes);
    return threads;
}

static struct thread_job *pop_waiting(struct threads *threads)
{
    struct thread_job *job = threads->waiting;
    if (job) {
        threads->waiting = job->next;
        if (!threads->waiting)
            threads->waiting_end = &threads->waiting;
    }
    return job;
}

static void *work(void *data)
{
    struct threads *threads = data;
    pthread_mutex_lock(&threads->lock);
    for (;;) {
        struct thread_job *job;
        threads->idle++;
        while (!(job = pop_waiting(threads)) && !threads->closing)
            pthread_cond_wait(&threads->has_work, &threads->lock);
        threads->idle--;
        if (!job || threads->closing)
            break;
        pthread_mutex_unlock(&threads->lock);
        job->function(job);
        pthread_mutex_lock(&threads->lock);
        job->next = NULL;
        *threads->finished_end = job;
        threads->finished_end = &job->next;
        pthread_cond_signal(&threads->has_finished);
    }
    pthread_mutex_unlock(&threads->lock);
    return NULL;
}

// Signals belong to the host's own threads.
static bool add_thread(struct threads *threads)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int status = pthread_create(&threads->handles[threads->count], NULL, work, threads);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    threads->count += status == 0;
    return status == 0;
}

bool threads_submit(struct threads *threads, struct thread_job *job)
{
    pthread_mutex_lock(&threads->lock);
    bool ok = true;
    if (!threads->idle && threads->count < threads->max_threads)
        ok = add_thread(threads) || threads->count > 0;
    if (ok) {
        job->next = NULL;
        *threads->waiting_end = job;
        threads->waiting_end = &job->next;
        pthread_cond_signal(&threads->has_work);
    }
    pthread_mutex_unlock(&threads->lock);
    return ok;
}

struct thread_job *threads_wait(struct threads *threads, int64_t deadline_ns)
{
    struct timespec until = {.tv_sec = deadline_ns / 1000000000,
                             .tv_nsec = deadline_ns % 1000000000};
    pthread_mutex_lock(&threads->lock);
    int status = 0;
    while (!threads->finished && status == 0)
        status = pthread_cond_timedwait(&threads->has_finished, &threads->lock, &until);
    struct thread_job *job = threads->finished;
    if (job) {
        threads->finished = job->next;
        if (!threads->finished)
            threads->finished_end = &threads->finished;
    }
    pthread_mutex_unlock(&threads->lock);
    return job;
}

void threads_free(struct threads *threads)
{
    if (!threads)
        return;
    pthread_mutex_lock(&threads->lock);
    threads->closing = true;
    pthread_cond_broadcast(&threads->has_work);
    pthread_mutex_unlock(&threads->lock);
    for (size_t i = 0; i < threads->count; i++)
        pthread_join(threads->handles[i], NULL);
    pthread_cond_destroy(&threads->has_work);
    pthread_cond_destroy(&threads->has_finished);
    pthread_mutex_destroy(&threads->lock);
    memory_free(threads);
}
