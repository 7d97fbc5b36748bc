// The pool of program workers against workers that do not keep to the protocol. This program is the
// worker, too: the pool starts it with the argument "program-worker".
#include <criterion/criterion.h>
#include <endian.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "process/reaper.h"
#include "program_host/program_pool.h"

// --- the worker ----------------------------------------------------------------------------------

static size_t put_message(char *bytes, uint32_t type, const char *payload)
{
    uint32_t header[2] = {htole32(type), htole32((uint32_t)strlen(payload))};
    memcpy(bytes, header, sizeof(header));
    memcpy(bytes + sizeof(header), payload, strlen(payload));
    return sizeof(header) + strlen(payload);
}

// Breaks the protocol as soon as it has a program, and in the same piece sends what a worker would
// send that has just started and has run a program.
static void run_hostile_worker(void)
{
    enum { UNKNOWN_MESSAGE = 99 };
    char bytes[1024];
    size_t length = put_message(bytes, PROGRAM_READY, "{}");
    if (write(PROGRAM_WORKER_FD, bytes, length) < 0 ||
        read(PROGRAM_WORKER_FD, bytes, sizeof(bytes)) <= 0)
        _exit(1);
    length = put_message(bytes, UNKNOWN_MESSAGE, "");
    length += put_message(bytes + length, PROGRAM_READY, "{}");
    length += put_message(bytes + length, PROGRAM_STEP, "{\"step\":\"forged\"}");
    if (write(PROGRAM_WORKER_FD, bytes, length) < 0)
        _exit(1);
    for (;;)
        pause();
}

// Starts this program again with a sanitizer that gives freed memory out again at once, as malloc
// may.
static void reuse_memory(char **argv)
{
    static const char option[] = "quarantine_size_mb=0:thread_local_quarantine_size_kb=0";
    const char *options = getenv("ASAN_OPTIONS");
    if (options && strstr(options, option))
        return;
    CLEANUP_FREE char *with = memory_format("%s:%s", options ? options : "", option);
    setenv("ASAN_OPTIONS", with, 1);
    execv("/proc/self/exe", argv);
    _exit(1);
}

__attribute__((constructor)) static void start(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "program-worker") == 0)
        run_hostile_worker();
    reuse_memory(argv);
}

// --- the server ----------------------------------------------------------------------------------

enum { RUNS = PROGRAM_WORKERS_MAX + 4 };

struct outcome {
    struct event_base *base;
    unsigned failed, answered;
};

static void on_done(void *data, struct span answer, const char *failure)
{
    struct outcome *outcome = data;
    if (answer.data)
        outcome->answered++;
    else
        outcome->failed += strcmp(failure, "the worker broke its protocol") == 0;
    if (outcome->failed + outcome->answered == RUNS)
        event_base_loopbreak(outcome->base);
}

// A worker that takes the place of another one, perhaps at the same address, must not be taken for
// the sender of what the other one sent.
Test(program_pool, the_rest_of_a_killed_workers_input_is_dropped, .timeout = 60)
{
    struct outcome outcome = {.base = event_base_new()};
    struct reaper *reaper = reaper_new(outcome.base);
    struct program_pool *pool = program_pool_new(reaper, "/proc/self/exe");
    struct program_request request = {
        .record = SPAN("{}"), .timeout_ms = 30000, .done = on_done, .data = &outcome};
    for (int i = 0; i < RUNS; i++)
        cr_assert_neq(program_submit(pool, &request), 0);
    event_base_dispatch(outcome.base);
    cr_expect_eq(outcome.answered, 0, "%u forged answers", outcome.answered);
    cr_expect_eq(outcome.failed, RUNS);
    program_pool_free(pool);
    reaper_free(reaper);
    event_base_free(outcome.base);
}
