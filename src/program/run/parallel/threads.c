#include "program/run/parallel/threads.h"

#include <pthread.h>
#include <signal.h>
#include <time.h>

#include "base/memory.h"

struct pool {
    pthread_mutex_t lock;
    pthread_cond_t has_work;
    pthread_cond_t has_finished;
    struct pool_job *waiting, **waiting_end;
    struct pool_job *finished, **finished_end;
    size_t idle;
    size_t count;
    size_t max_threads;
    bool closing;
    pthread_t threads[];
};

struct pool *pool_new(size_t max_threads)
{
    struct pool *pool = memory_try_alloc(sizeof(*pool) + max_threads * sizeof(pthread_t));
    if (!pool)
        return NULL;
    *pool = (struct pool){.max_threads = max_threads};
    pool->waiting_end = &pool->waiting;
    pool->finished_end = &pool->finished;
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->has_work, NULL);
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&pool->has_finished, &attributes);
    pthread_condattr_destroy(&attributes);
    return pool;
}

static struct pool_job *take_waiting(struct pool *pool)
{
    struct pool_job *job = pool->waiting;
    if (job) {
        pool->waiting = job->next;
        if (!pool->waiting)
            pool->waiting_end = &pool->waiting;
    }
    return job;
}

static void *work(void *data)
{
    struct pool *pool = data;
    pthread_mutex_lock(&pool->lock);
    for (;;) {
        struct pool_job *job;
        pool->idle++;
        while (!(job = take_waiting(pool)) && !pool->closing)
            pthread_cond_wait(&pool->has_work, &pool->lock);
        pool->idle--;
        if (!job || pool->closing)
            break;
        pthread_mutex_unlock(&pool->lock);
        job->function(job);
        pthread_mutex_lock(&pool->lock);
        job->next = NULL;
        *pool->finished_end = job;
        pool->finished_end = &job->next;
        pthread_cond_signal(&pool->has_finished);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

// Signals belong to the host's own threads.
static bool add_thread(struct pool *pool)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int status = pthread_create(&pool->threads[pool->count], NULL, work, pool);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pool->count += status == 0;
    return status == 0;
}

bool pool_submit(struct pool *pool, struct pool_job *job)
{
    pthread_mutex_lock(&pool->lock);
    bool ok = true;
    if (!pool->idle && pool->count < pool->max_threads)
        ok = add_thread(pool) || pool->count > 0;
    if (ok) {
        job->next = NULL;
        *pool->waiting_end = job;
        pool->waiting_end = &job->next;
        pthread_cond_signal(&pool->has_work);
    }
    pthread_mutex_unlock(&pool->lock);
    return ok;
}

struct pool_job *pool_wait(struct pool *pool, int64_t deadline_ns)
{
    struct timespec until = {.tv_sec = deadline_ns / 1000000000,
                             .tv_nsec = deadline_ns % 1000000000};
    pthread_mutex_lock(&pool->lock);
    int status = 0;
    while (!pool->finished && status == 0)
        status = pthread_cond_timedwait(&pool->has_finished, &pool->lock, &until);
    struct pool_job *job = pool->finished;
    if (job) {
        pool->finished = job->next;
        if (!pool->finished)
            pool->finished_end = &pool->finished;
    }
    pthread_mutex_unlock(&pool->lock);
    return job;
}

void pool_free(struct pool *pool)
{
    if (!pool)
        return;
    pthread_mutex_lock(&pool->lock);
    pool->closing = true;
    pthread_cond_broadcast(&pool->has_work);
    pthread_mutex_unlock(&pool->lock);
    for (size_t i = 0; i < pool->count; i++)
        pthread_join(pool->threads[i], NULL);
    pthread_cond_destroy(&pool->has_work);
    pthread_cond_destroy(&pool->has_finished);
    pthread_mutex_destroy(&pool->lock);
    memory_free(pool);
}
