// Threads that run tool callbacks for the branches of pmap.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pool;

struct pool_job {
    void (*function)(struct pool_job *job);
    struct pool_job *next;
};

struct pool *pool_new(size_t max_threads);  // NULL when there is no memory
// Waits for the jobs that are running and ends the threads.
void pool_free(struct pool *pool);
// Queues a job. False when no thread can be had: the caller must do it itself.
bool pool_submit(struct pool *pool, struct pool_job *job);
// A finished job, or NULL when none finishes before the deadline (monotonic clock).
struct pool_job *pool_wait(struct pool *pool, int64_t deadline_ns);
