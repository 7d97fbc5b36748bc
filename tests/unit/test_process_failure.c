// Failures: why a process ended, and the text the caller gets.
#include <criterion/criterion.h>
#include <string.h>

#include "session/process_failure.h"

static struct process_failure classify(struct process_failure_facts facts)
{
    struct process_failure failure;
    facts.heap_mb = 2560;
    if (!facts.runtime_text.data)
        facts.runtime_text = (struct span){"", 0};
    facts.exit.known = true;
    process_failure_classify(&facts, &failure);
    return failure;
}

Test(failure, exits_and_signals)
{
    struct process_failure failure = classify((struct process_failure_facts){.exit.code = 7});
    cr_assert_str_eq(failure.type, "PROCESS-EXIT");
    cr_assert_str_eq(failure.message, "The code ended its process with exit code 7.");
    cr_assert_str_eq(failure.reason, "the process ended (exit code 7)");
    failure = classify((struct process_failure_facts){.exit = {.signaled = true, .code = 9}});
    cr_assert_str_eq(failure.type, "PROCESS-KILLED");
    cr_assert_str_eq(failure.message, "The process was ended by signal 9 (SIGKILL).");
    failure = classify((struct process_failure_facts){.exit.code = 99});
    cr_assert(strstr(failure.reason, "control channel"));
    failure =
        classify((struct process_failure_facts){.exit.code = 99, .exit_notice.received = true});
    cr_assert_not(strstr(failure.reason, "control channel"));
}

Test(failure, what_the_runtime_said)
{
    struct process_failure failure = classify((struct process_failure_facts){
        .exit.code = 1,
        .runtime_text = SPAN("Heap exhausted during garbage collection: 0 bytes available, 16 "
                             "requested.\n")});
    cr_assert_str_eq(failure.type, "HEAP-EXHAUSTED");
    cr_assert_str_eq(
        failure.message,
        "The Lisp heap of 2560 MB was exhausted and the process ended.\nHeap exhausted "
        "during garbage collection: 0 bytes available, 16 requested.");
    failure = classify((struct process_failure_facts){
        .exit.code = 1,
        .runtime_text = SPAN("Thread local storage exhausted.\nfatal error encountered in SBCL pid "
                             "12:\n%PRIMITIVE HALT called; the party is over.\n\n")});
    cr_assert_str_eq(failure.message, "The code ended its process with exit code 1.\nThread local "
                                      "storage exhausted.");
}

Test(failure, an_exhausted_heap_is_the_reason_of_what_follows)
{
    struct process_failure failure = classify((struct process_failure_facts){
        .exit.code = 1,
        .runtime_text = SPAN("Heap exhausted during garbage collection: 0 bytes available.\n"
                             "fatal error encountered in SBCL pid 12:\nGC invariant lost, file "
                             "\"gencgc.c\", line 523\n\n")});
    cr_assert_str_eq(failure.message,
                     "The Lisp heap of 2560 MB was exhausted and the process ended.\nHeap "
                     "exhausted during garbage collection: 0 bytes available.");
    cr_assert(failure.by_runtime);
}

Test(failure, stops)
{
    struct process_failure failure =
        classify((struct process_failure_facts){.exit.code = 98,
                                                .stop = FAILURE_STOP_TIMEOUT,
                                                .killed_by_us = true,
                                                .timeout = 2,
                                                .elapsed_ms = 2412});
    cr_assert_str_eq(
        failure.message,
        "Evaluation exceeded the timeout of 2 seconds. Possibly an infinite loop or an "
        "expensive computation; configure-limits raises the timeout.\nIt could not be "
        "interrupted and was stopped after 2.4 seconds.");
    cr_assert_str_eq(failure.reason, "it could not be interrupted");
    cr_assert_not(failure.by_runtime);
    failure = classify(
        (struct process_failure_facts){.exit.code = 1,
                                       .stop = FAILURE_STOP_TIMEOUT,
                                       .killed_by_us = true,
                                       .timeout = 2,
                                       .elapsed_ms = 2412,
                                       .raise_timeout = "",
                                       .runtime_text = SPAN("GC invariant lost, file 1\n")});
    cr_assert_str_eq(
        failure.message,
        "Evaluation exceeded the timeout of 2 seconds. Possibly an infinite loop or an expensive "
        "computation.\nIt could not be interrupted and was stopped after 2.4 seconds.\nGC "
        "invariant lost, file 1");
    cr_assert(failure.by_runtime);
    char text[32];
    process_failure_format_seconds(1, text, sizeof(text));
    cr_assert_str_eq(text, "1 second");
}
