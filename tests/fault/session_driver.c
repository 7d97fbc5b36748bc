// Drives real sessions through the C interface:
//   session_driver eval CODE...     each in turn, with its answer
//   session_driver matrix           the failure matrix
//   session_driver kill COUNT       the head killed at random points
//   session_driver soak COUNT SEED  random operations against a model
//   session_driver threads COUNT    snapshots and rollbacks beside threads that cons and intern
//   session_driver limits           queues, cancellation, eviction, floods, copies, adoption
//   session_driver locks COUNT KIND rollbacks beside threads that hold locks of SBCL and libc
//   session_driver agent            functions of the agent redefined by user code
//   session_driver offspring        what user code starts and abandons; the guardian
//   session_driver hostile          what user code does to descriptors, processes and snapshots
//   session_driver speed            latencies
// CADRE_CORE names the core; without it the one of the build. Ends with "N passed, N failed".
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"

static void print_answer(const struct answer *answer)
{
    if (answer->notices[0])
        printf("[Notice]\n%s\n", answer->notices);
    if (answer->output[0])
        printf("[stdout]\n%s\n", answer->output);
    if (answer->errors[0])
        printf("[stderr]\n%s\n", answer->errors);
    if (answer->ok)
        printf("=> %s\n", answer->values);
    else
        printf("[ERROR] %s (%s%s)\n%s\n%s", answer->type, answer->code,
               answer->frozen ? ", frozen" : "", answer->message, answer->frames);
    if (answer->rollback[0])
        printf("[Rollback] %s; snapshot %lld; lost threads: %s\n", answer->rollback,
               (long long)answer->snapshot, answer->lost_threads);
    printf("-- %.3f ms\n", answer->milliseconds);
}

static void evaluate_all(char **codes, int count)
{
    struct driver driver;
    driver_open(&driver, &(struct session_config){0});
    for (int i = 0; i < count; i++) {
        struct answer answer;
        driver_eval(&driver, codes[i], 10, &answer);
        print_answer(&answer);
        driver_settle(&driver);
        driver_run_for(&driver, 50);  // as a client that thinks
    }
    driver_close(&driver);
}

int main(int argc, char **argv)
{
    const char *command = argc > 1 ? argv[1] : "";
    long count = argc > 2 ? atol(argv[2]) : 0;
    if (strcmp(command, "eval") == 0) {
        evaluate_all(argv + 2, argc - 2);
        return 0;
    }
    if (strcmp(command, "matrix") == 0)
        run_matrix(argc > 2 ? argv[2] : NULL);
    else if (strcmp(command, "kill") == 0)
        run_kills(count);
    else if (strcmp(command, "soak") == 0)
        run_soak(count, argc > 3 ? strtoul(argv[3], NULL, 10) : 1);
    else if (strcmp(command, "threads") == 0)
        run_threads(count);
    else if (strcmp(command, "limits") == 0)
        run_limits();
    else if (strcmp(command, "locks") == 0)
        run_locks(count, argc > 3 ? argv[3] : NULL);
    else if (strcmp(command, "agent") == 0)
        run_agent();
    else if (strcmp(command, "offspring") == 0)
        run_offspring();
    else if (strcmp(command, "hostile") == 0)
        run_hostile(argc > 2 ? argv[2] : NULL);
    else if (strcmp(command, "speed") == 0)
        run_speed();
    else {
        fprintf(stderr,
                "usage: session_driver "
                "eval|matrix|kill|soak|threads|limits|locks|agent|offspring|hostile|speed …\n");
        return 2;
    }
    printf("%u passed, %u failed\n", passed, failed);
    return failed ? 1 : 0;
}
