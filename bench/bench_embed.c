// Cost of a program from nothing to nothing in a host process: create, parse, run, destroy.
//
//   bench_embed           prints lines `VALUE MILLISECONDS`: the first run alone, then means of many
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "cadre.h"

enum { BATCHES = 50, BATCH_SIZE = 1000 };

static int64_t now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static int64_t run_once(void)
{
    static const char source[] = "(+ 1 2)";
    int64_t number = 0;
    cadre_host *host = cadre_host_new();
    cadre_inputs *inputs = cadre_inputs_new();
    cadre_step *step = cadre_eval(host, source, sizeof(source) - 1, inputs);
    if (!step || !cadre_value_integer(cadre_step_return(step), &number)) {
        fprintf(stderr, "bench_embed: the program failed\n");
        exit(EXIT_FAILURE);
    }
    cadre_step_free(step);
    cadre_inputs_free(inputs);
    cadre_host_free(host);
    return number;
}

static void run_batch(int size)
{
    int64_t start = now_ns();
    int64_t number = 0;
    for (int i = 0; i < size; i++)
        number = run_once();
    printf("%" PRId64 " %.6f\n", number, (double)(now_ns() - start) / size / 1e6);
}

int main(void)
{
    run_batch(1);
    for (int i = 0; i < BATCHES; i++)
        run_batch(BATCH_SIZE);
    return 0;
}
