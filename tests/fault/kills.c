// The head is killed from outside at random points of evaluations and snapshots. Every call gets
// one right answer, and nothing but the evaluation under way is ever lost.
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "cases.h"
#include "random.h"

struct shot {
    struct driver *driver;
    struct event *timer;
};

static void on_shot(evutil_socket_t fd, short what, void *data)
{
    (void)fd;
    (void)what;
    struct shot *shot = data;
    pid_t head = driver_head(shot->driver, NULL);
    if (head > 1)
        kill(head, SIGKILL);
}

void run_kills(long count)
{
    struct driver driver;
    struct answer answer;
    struct random random = {42};
    driver_open(&driver, &(struct session_config){0});
    driver_eval(&driver,
                "(defvar *n* 0) (defun work () (dotimes (i 2000) (make-list 20)) (incf *n*))", 30,
                &answer);
    check(answer.ok, "set-up: %s", answer.message);
    driver_settle(&driver);
    struct shot shot = {.driver = &driver};
    shot.timer = evtimer_new(driver.base, on_shot, &shot);
    int64_t expected = 0;
    long lost = 0;
    for (long i = 0; i < count && failed < 10; i++) {
        struct timeval time = {.tv_usec = (suseconds_t)random_below(&random, 6000)};
        event_add(shot.timer, &time);
        driver_eval(&driver, "(work)", 10, &answer);
        char wanted[32];
        snprintf(wanted, sizeof(wanted), "%lld", (long long)expected + 1);
        bool done = answer.ok && strcmp(answer.values, wanted) == 0;
        bool killed =
            !answer.ok && strcmp(answer.type, "PROCESS-KILLED") == 0 && answer.rollback[0];
        check((done || killed) && answer.calls == 1, "kill %ld: %s %s %s, expected %s", i,
              answer.values, answer.type, answer.message, wanted);
        expected += done;
        lost += killed;
        // Let the shot fall, wherever the session is by then.
        driver_run_for(&driver, (int)random_below(&random, 8));
        event_del(shot.timer);
        // A replied evaluation may only be lost when its head died before the snapshot was there.
        driver_eval(&driver, "*n*", 10, &answer);
        char notices[sizeof(answer.notices)];
        memcpy(notices, answer.notices, sizeof(notices));
        // A head that is already dying can still take the request with it.
        if (strcmp(answer.type, "PROCESS-KILLED") == 0)
            driver_eval(&driver, "*n*", 10, &answer);
        long long now = -1;
        sscanf(answer.values, "%lld", &now);
        bool noticed = strstr(notices, "rolled back to snapshot") != NULL;
        check(answer.ok && (now == expected || (noticed && done && now == expected - 1)),
              "after kill %ld: %lld, expected %lld (%s) %s", i, now, (long long)expected, notices,
              answer.message);
        expected = now;
    }
    printf("%ld shots, %ld evaluations lost\n", count, lost);
    event_free(shot.timer);
    driver_close(&driver);
    check_no_children();
}
