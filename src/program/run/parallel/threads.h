// Threads that run tool callbacks for the branches of pmap.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct threads;

struct thread_job {
    void (*function)(struct thread_job *job);
    struct thread_job *next;
};

struct threads *threads_new(size_t max_threads);  // NULL when there is no memory
// Waits for the jobs that are running and ends the threads.
void threads_free(struct threads *threads);
// Queues a job. False when no thread can be started: the caller must run it itself.
bool threads_submit(struct threads *threads, struct thread_job *job);
// A finished job, or NULL when none finishes before the deadline (monotonic clock).
struct thread_job *threads_wait(struct threads *threads, int64_t deadline_ns);
