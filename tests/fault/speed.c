// Latencies as the caller of the C interface sees them; medians of many.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"

enum { ROUNDS = 300 };

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void report(const char *name, double *times, size_t count)
{
    qsort(times, count, sizeof(*times), compare);
    printf("%-34s median %.3f ms  p99 %.3f ms\n", name, times[count / 2], times[count * 99 / 100]);
}

static void time_code(struct driver *driver, const char *name, const char *format)
{
    static double times[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        char code[256];
        struct answer answer;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        snprintf(code, sizeof(code), format, i, i);
#pragma GCC diagnostic pop
        driver_settle(driver);
        driver_eval(driver, code, 10, &answer);
        times[i] = answer.milliseconds;
    }
    report(name, times, ROUNDS);
}

static void time_deaths(struct driver *driver)
{
    enum { DEATHS = 50 };
    static double times[DEATHS];
    for (int i = 0; i < DEATHS; i++) {
        struct answer answer;
        driver_settle(driver);
        driver_eval(driver, "(exit :abort t)", 10, &answer);
        driver_settle(driver);
        kill(driver_head(driver, NULL), SIGKILL);
        driver_run_for(driver, 1);
        driver_eval(driver, "1", 10, &answer);
        times[i] = answer.milliseconds;
        check(answer.ok || strcmp(answer.type, "PROCESS-KILLED") == 0, "after a death: %s",
              answer.message);
    }
    report("death of the head to next answer", times, DEATHS);
}

void run_speed(void)
{
    struct driver driver;
    struct answer answer;
    driver_open(&driver, &(struct session_config){0});
    driver_eval(&driver, "1", 10, &answer);
    printf("%-34s %.3f ms\n", "first evaluation, process included", answer.milliseconds);
    time_code(&driver, "(+ 1 2)", "(+ 1 2)");
    time_code(&driver, "small defun", "(defun f%d (x) (* x %d))");
    time_code(&driver, "(/ 1 0), frozen", "(/ 1 0)");
    time_deaths(&driver);
    driver_close(&driver);
    check(true, "timed");
}
