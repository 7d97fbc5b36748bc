#include "session/process_failure.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "session/sbcl_output.h"

static bool contains(struct span text, const char *part)
{
    return memmem(text.data, text.length, part, strlen(part)) != NULL;
}

// --- texts ---------------------------------------------------------------------------------------

void process_failure_format_seconds(int64_t seconds, char *text, size_t size)
{
    snprintf(text, size, "%lld %s", (long long)seconds, seconds == 1 ? "second" : "seconds");
}

void process_failure_interrupted_message(int64_t elapsed_ms, char *text, size_t size)
{
    snprintf(text, size, "The evaluation was interrupted after %.1f seconds.",
             (double)elapsed_ms / 1000);
}

__attribute__((format(printf, 2, 3))) static void message_add(struct process_failure *failure,
                                                              const char *format, ...)
{
    size_t length = strlen(failure->message);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(failure->message + length, sizeof(failure->message) - length, format, arguments);
    va_end(arguments);
}

static void reason_of_exit(const struct process_failure_facts *facts,
                           struct process_failure *failure)
{
    if (!facts->exit.known)
        snprintf(failure->reason, sizeof(failure->reason), "the process ended");
    else if (facts->exit.signaled)
        snprintf(failure->reason, sizeof(failure->reason), "the process ended (signal %d)",
                 facts->exit.code);
    else
        snprintf(failure->reason, sizeof(failure->reason), "the process ended (exit code %d)",
                 facts->exit.code);
}

static void classify_stopped(const struct process_failure_facts *facts,
                             struct process_failure *failure)
{
    bool timeout = facts->stop == FAILURE_STOP_TIMEOUT;
    failure->type = timeout ? "EVALUATION-TIMEOUT" : "EVALUATION-INTERRUPTED";
    failure->code = timeout ? "timeout" : "interrupted";
    failure->cause = timeout ? "timeout" : "cancelled";
    if (timeout) {
        char seconds[48];
        const char *raise = facts->raise_timeout ? facts->raise_timeout : "configure-limits";
        process_failure_format_seconds(facts->timeout, seconds, sizeof(seconds));
        message_add(failure,
                    "Evaluation exceeded the timeout of %s. Possibly an infinite loop or an "
                    "expensive computation%s%s%s.",
                    seconds, *raise ? "; " : "", raise, *raise ? " raises the timeout" : "");
    } else {
        process_failure_interrupted_message(facts->elapsed_ms, failure->message,
                                            sizeof(failure->message));
    }
    double elapsed = (double)facts->elapsed_ms / 1000;
    if (facts->killed_by_us) {
        message_add(failure, "\nIt could not be interrupted and was stopped after %.1f seconds.",
                    elapsed);
        snprintf(failure->reason, sizeof(failure->reason), "it could not be interrupted");
    } else {
        reason_of_exit(facts, failure);
        message_add(failure, "\nIts process ended while it was being stopped, after %.1f seconds.",
                    elapsed);
    }
}

static void classify_heap(const struct process_failure_facts *facts,
                          struct process_failure *failure)
{
    failure->type = "HEAP-EXHAUSTED";
    failure->code = "heap-exhausted";
    failure->cause = "heap";
    message_add(failure, "The Lisp heap of %u MB was exhausted and the process ended.",
                facts->heap_mb);
    snprintf(failure->reason, sizeof(failure->reason), "the Lisp heap was exhausted");
}

static void classify_signal(const struct process_failure_facts *facts,
                            struct process_failure *failure)
{
    const char *name = sigabbrev_np(facts->exit.code);
    failure->type = "PROCESS-KILLED";
    failure->code = "process-killed";
    failure->cause = "signal";
    message_add(failure, "The process was ended by signal %d (SIG%s).", facts->exit.code,
                name ? name : "?");
    reason_of_exit(facts, failure);
}

enum { EXIT_CHANNEL_LOST = 99 };

static void classify_exit(const struct process_failure_facts *facts,
                          struct process_failure *failure)
{
    failure->type = "PROCESS-EXIT";
    failure->code = "process-exit";
    failure->cause = "exit";
    reason_of_exit(facts, failure);
    if (!facts->exit.known) {
        message_add(failure, "The code ended its process.");
        return;
    }
    message_add(failure, "The code ended its process with exit code %d.", facts->exit.code);
    if (facts->exit.code == EXIT_CHANNEL_LOST && !facts->exit_notice.received) {
        message_add(failure, "\nIts control channel was closed or replaced.");
        snprintf(failure->reason, sizeof(failure->reason),
                 "the process ended (exit code %d), its control channel was closed",
                 facts->exit.code);
    }
}

static void classify_broken(struct process_failure *failure)
{
    failure->type = "SESSION-UNUSABLE";
    failure->code = "unusable";
    failure->cause = "unusable";
    message_add(failure, "The evaluation left the image unusable (the control protocol was "
                         "broken); its effects were discarded.");
    snprintf(failure->reason, sizeof(failure->reason),
             "the evaluation left the image unusable (the control protocol was broken)");
}

static void classify_crowd(const struct process_failure_facts *facts,
                           struct process_failure *failure)
{
    failure->type = "PROCESS-LIMIT-EXCEEDED";
    failure->code = "process-limit";
    failure->cause = "processes";
    message_add(failure,
                "The evaluation had started more processes than may run at once (%u per session). "
                "It was ended, and they were killed.",
                facts->processes_max);
    snprintf(failure->reason, sizeof(failure->reason), "it had started too many processes");
}

static void classify_channel_lost(struct process_failure *failure)
{
    failure->type = "SESSION-UNUSABLE";
    failure->code = "unusable";
    failure->cause = "unusable";
    message_add(failure, "The evaluation shut down the control channel of its process; its effects "
                         "were discarded.");
    snprintf(failure->reason, sizeof(failure->reason),
             "the evaluation shut down the control channel of its process");
}

void process_failure_classify(const struct process_failure_facts *facts,
                              struct process_failure *ret_failure)
{
    struct process_failure failure = {.exit_code = -1};
    if (facts->exit.known && facts->exit.signaled)
        failure.signal = facts->exit.code;
    else if (facts->exit.known)
        failure.exit_code = facts->exit.code;

    struct span fatal = sbcl_output_reason(facts->runtime_text);
    if (facts->processes_max > 0)
        classify_crowd(facts, &failure);
    else if (facts->stop != FAILURE_STOP_NONE)
        classify_stopped(facts, &failure);
    else if (facts->channel_lost && !facts->exit_notice.received)
        classify_channel_lost(&failure);
    else if (facts->protocol_broken)
        classify_broken(&failure);
    else if (!facts->exit_notice.received && contains(facts->runtime_text, "Heap exhausted"))
        classify_heap(facts, &failure);
    else if (facts->exit.known && facts->exit.signaled)
        classify_signal(facts, &failure);
    else
        classify_exit(facts, &failure);
    // Asked to stop, it may still have been the runtime that ended it.
    bool stopped = facts->stop != FAILURE_STOP_NONE &&
                   (facts->exit.signaled || facts->exit.code != RUNTIME_EXIT_CODE);
    failure.by_runtime = fatal.length > 0 && !facts->exit_notice.received && !stopped;
    if (failure.by_runtime) {
        size_t length = fatal.length < 300 ? fatal.length : utf8_cut(fatal.data, 300);
        message_add(&failure, "\n%.*s", (int)length, fatal.data);
    }
    *ret_failure = failure;
}
