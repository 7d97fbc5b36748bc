// Cost of a tool call from a program over the worker's pipe: a program calls a hosted tool that answers
// at once. The floor is one byte to and fro over a socket pair between two processes.
//
//   bench_pool CADRE      prints two numbers: microseconds per tool call, microseconds of the floor
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "process/reaper.h"
#include "program_host/program_pool.h"

enum { CALLS = 20000 };

struct run {
    struct event_base *base;
    int64_t started_ns;
    int64_t ended_ns;
};

static void on_tool(void *data, struct program_call *call, struct span name, struct span arguments)
{
    (void)data;
    (void)name;
    (void)arguments;
    program_call_reply(call, true, SPAN("1"));
}

static void on_done(void *data, struct span answer, const char *failure)
{
    struct run *run = data;
    run->ended_ns = clock_now_ns();
    if (failure || answer.length == 0) {
        fprintf(stderr, "bench_pool: %s\n", failure ? failure : "no answer");
        exit(EXIT_FAILURE);
    }
    event_base_loopbreak(run->base);
}

static double run_once(struct program_pool *pool, struct run *run, const char *source)
{
    char record[512];
    int length = snprintf(record, sizeof(record),
                          "{\"program\":\"%s\",\"tools\":{\"t\":{\"remote\":true}},"
                          "\"options\":{\"timeout\":60000,\"max_memory\":1000000000}}",
                          source);
    struct program_request request = {.record = {record, (size_t)length},
                                      .timeout_ms = 60000,
                                      .done = on_done,
                                      .tool = on_tool,
                                      .data = run};
    run->started_ns = clock_now_ns();
    CHECK(program_submit(pool, &request) != 0);
    event_base_dispatch(run->base);
    return (double)(run->ended_ns - run->started_ns) / 1000;
}

static double measure_floor(void)
{
    int pair[2];
    char byte = 0;
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    pid_t child = fork();
    if (child == 0) {
        close(pair[0]);
        while (read(pair[1], &byte, 1) == 1)
            if (write(pair[1], &byte, 1) != 1)
                break;
        _exit(0);
    }
    close(pair[1]);
    int64_t start = clock_now_ns();
    for (int i = 0; i < CALLS; i++)
        CHECK(write(pair[0], &byte, 1) == 1 && read(pair[0], &byte, 1) == 1);
    double each = (double)(clock_now_ns() - start) / 1000 / CALLS;
    close(pair[0]);
    waitpid(child, NULL, 0);
    return each;
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: bench_pool CADRE\n");
        return 2;
    }
    struct run run = {.base = event_base_new()};
    struct reaper *reaper = reaper_new(run.base);
    struct program_pool *pool = program_pool_new(reaper, argv[1]);
    run_once(pool, &run, "1");  // the worker starts
    double many =
        run_once(pool, &run, "(loop [i 0] (if (< i 20000) (do (tool/t) (recur (inc i))) i))");
    printf("%.2f %.2f\n", many / CALLS, measure_floor());
    program_pool_free(pool);
    reaper_free(reaper);
    event_base_free(run.base);
    return 0;
}
