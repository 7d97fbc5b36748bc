// Why a process ended, and the message for the caller (docs/reference/evaluator.md 3.7, 3.8): from
// the wait status, the agent's exit notice, what the Lisp runtime printed last, and what the
// supervisor itself did.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"
#include "process/process.h"

// The agent's announcement that the code is ending its process on purpose.
struct exit_notice {
    bool received;
    int exit_code;
};

enum failure_stop { FAILURE_STOP_NONE, FAILURE_STOP_TIMEOUT, FAILURE_STOP_INTERRUPT };

struct process_failure_facts {
    struct process_exit exit;
    struct exit_notice exit_notice;
    struct span runtime_text;   // the last bytes of standard error
    enum failure_stop stop;     // asked to stop before it ended
    bool killed_by_us;          // hard stop or SIGKILL was sent
    bool channel_lost;          // it was ended because its channel was shut down
    bool protocol_broken;       // killed because it sent garbage
    unsigned processes_max;     // killed because it had started more than so many; 0 = not so
    int64_t timeout;            // seconds
    const char *raise_timeout;  // as in struct session_advice
    int64_t elapsed_ms;
    unsigned heap_mb;
};

enum { FAILURE_MESSAGE_SIZE = 768, FAILURE_REASON_SIZE = 160 };

struct process_failure {
    const char *type;   // "PROCESS-EXIT"
    const char *code;   // "process-exit"
    const char *cause;  // of the rollback: "exit"
    char message[FAILURE_MESSAGE_SIZE];
    char reason[FAILURE_REASON_SIZE];  // after "Reason: ", without the full stop
    int exit_code;                     // -1 = none
    int signal;                        // 0 = none
    bool by_runtime;                   // SBCL's runtime gave up, and said so
};

void process_failure_classify(const struct process_failure_facts *facts,
                              struct process_failure *ret_failure);
// "1 second", "30 seconds"
void process_failure_format_seconds(int64_t seconds, char *text, size_t size);
// The message of an evaluation that was interrupted on request.
void process_failure_interrupted_message(int64_t elapsed_ms, char *text, size_t size);
