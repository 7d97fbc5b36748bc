// Sessions without a server, one call at a time, for the tests of this folder.
#pragma once

#include <event2/event.h>
#include <stdbool.h>
#include <stdint.h>

#include "session/session.h"

struct answer {
    bool ok;
    bool ran;
    bool frozen;
    char code[32];  // of the error, "" = none
    char type[96];  // of the error
    char message[1024];
    char values[1024];  // separated by " ; "
    char output[4096];
    char errors[4096];
    char notices[1024];  // separated by newlines
    char rollback[256];  // reason, "" = none
    char lost_threads[256];
    char lost[512];     // evaluations before this one, "evaluations 1 (f), 2 (g)"; "" = none
    bool restarted;     // nothing was left
    char frames[2048];  // calls, separated by newlines
    int64_t frame_count;
    int64_t evaluation;
    int64_t snapshot;
    int64_t error_id;
    uint64_t omitted;
    double milliseconds;
    double run_milliseconds;  // processor time of the evaluation, by the agent
    unsigned calls;           // how often the reply function was called
};

struct driver {
    struct event_base *base;
    struct session_manager *manager;
};

void driver_open(struct driver *driver, const struct session_config *config);
void driver_close(struct driver *driver);

// Calls with the request's reply replaced, runs the loop until the answer.
void driver_call(struct driver *driver, struct session_request *request, struct answer *answer);
void driver_eval(struct driver *driver, const char *code, int64_t timeout, struct answer *answer);
void driver_rollback(struct driver *driver, int64_t to, struct answer *answer);
uint64_t driver_start(struct driver *driver, const char *session, const char *code, int64_t timeout,
                      struct answer *answer);
// Any request; the reply is the driver's.
uint64_t driver_start_request(struct driver *driver, struct session_request *request,
                              struct answer *answer);
void driver_wait(struct driver *driver, const struct answer *answer);
void driver_run_for(struct driver *driver, int milliseconds);  // the loop, without a request
pid_t driver_head(struct driver *driver, const char *session);
// Waits until the snapshot after the last evaluation is made.
void driver_settle(struct driver *driver);

int count_descriptors(void);
int count_children(void);      // all descendants of this process
void check_no_children(void);  // none is left once what was killed has had time to go
long resident_kb(void);

// The one line at the end: "N passed, N failed".
extern unsigned passed, failed;
void check(bool condition, const char *format, ...) __attribute__((format(printf, 2, 3)));
