#include "session/classify.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

// --- what the runtime prints --------------------------------------------------------------------------

// Beginnings of lines that only the runtime writes. Those marked fatal tell why the process ended.
static const struct runtime_line {
    const char *beginning;
    bool fatal;
} runtime_lines[] = {
    {"INFO: Control stack guard page ", false},
    {"INFO: Binding stack guard page ", false},
    {"INFO: Alien stack guard page ", false},
    {"Control stack guard page ", false},
    {"Binding stack guard page ", false},
    {"Alien stack guard page ", false},
    {"Immobile Object Counts", false},
    {"Gen layout fdefn ", false},
    {"Tot  ", false},
    {"CORRUPTION WARNING in SBCL pid ", false},
    {"Memory fault at ", false},
    {"The integrity of this image is possibly compromised.", false},
    {"Continuing with fingers crossed.", false},
    {"Exiting.", false},
    {"Heap exhausted during ", true},
    {"Heap exhausted, game over", true},
    {"Thread local storage exhausted", true},
    {"Control stack exhausted, fault: ", true},
    {"Binding stack exhausted, fault: ", true},
    {"Alien stack exhausted", true},
    {"fatal error encountered in SBCL pid ", false},
    {"Unhandled SIGILL", true},
    {"GC invariant lost", true},
    {"        Gen  Boxed", false},
    {"  Gen  Boxed", false},
    {" Gen  Boxed", false},
    {"Gen  Boxed", false},
    {"           Total bytes allocated ", false},
    {"Total bytes allocated ", false},
    {"        Dynamic-space-size bytes ", false},
    {"Dynamic-space-size bytes ", false},
    {"GC control variables:", false},
    {"   *GC-INHIBIT* = ", false},
    {"   *GC-PENDING* = ", false},
    {"   *STOP-FOR-GC-PENDING* = ", false},
    {"fatal error: ", true},
    {"can't find any room", true},
    {"cannot suspend thread", true},
    {"Error: can't ", true},
};

static const struct runtime_line *runtime_line_find(struct span line)
{
    struct span bare = line;
    while (bare.length > 0 && bare.data[0] == ' ')
        bare = (struct span){bare.data + 1, bare.length - 1};
    for (size_t i = 0; i < sizeof(runtime_lines) / sizeof(runtime_lines[0]); i++) {
        const char *beginning = runtime_lines[i].beginning;
        while (*beginning == ' ')
            beginning++;
        if (span_starts_with(bare, span_from(beginning)))
            return &runtime_lines[i];
    }
    return NULL;
}

// Rows of the table of generations: a small number, then only numbers and white space.
static bool is_statistics_row(struct span line)
{
    size_t digits = 0, columns = 0;
    bool in_number = false;
    for (size_t i = 0; i < line.length; i++) {
        char c = line.data[i];
        bool digit = (c >= '0' && c <= '9') || (in_number && c == '.');
        if (!digit && c != ' ')
            return false;
        if (digit && !in_number)
            columns++;
        in_number = digit;
        digits += digit;
    }
    return columns >= 8 && digits > 0;
}

static struct span line_next(struct span *rest)
{
    const char *newline = memchr(rest->data, '\n', rest->length);
    size_t length = newline ? (size_t)(newline - rest->data) + 1 : rest->length;
    struct span line = {rest->data, length};
    *rest = (struct span){rest->data + length, rest->length - length};
    return line;
}

static struct span line_without_end(struct span line)
{
    while (line.length > 0 &&
           (line.data[line.length - 1] == '\n' || line.data[line.length - 1] == '\r'))
        line.length--;
    return line;
}

void runtime_lines_divide(struct span errors, struct buffer *text, struct buffer *log)
{
    bool continuation = false;
    bool statistics = false;
    while (errors.length > 0) {
        struct span line = line_next(&errors);
        struct span content = line_without_end(line);
        const struct runtime_line *known = runtime_line_find(content);
        if (known && strstr(known->beginning, "Gen "))
            statistics = true;
        // "fatal error encountered … :" is followed by its reason, then an empty line.
        bool belongs = known || (continuation && content.length > 0) ||
                       (statistics && is_statistics_row(content));
        continuation = known && content.length > 0 && content.data[content.length - 1] == ':';
        buffer_append_span(belongs ? log : text, line);
    }
}

// The line that says why the runtime gave up; empty when there is none. A line that is known to tell
// it is better than whatever follows "fatal error encountered in SBCL pid …:".
static struct span fatal_line(struct span errors)
{
    struct span known_reason = {"", 0};
    struct span other_reason = {"", 0};
    bool next_is_reason = false;
    while (errors.length > 0) {
        struct span line = line_without_end(line_next(&errors));
        const struct runtime_line *known = runtime_line_find(line);
        if (known && known->fatal)
            known_reason = line;
        else if (next_is_reason && line.length > 0)
            other_reason = line;
        next_is_reason = known && span_starts_with(line, SPAN("fatal error encountered")) &&
                         line.data[line.length - 1] == ':';
    }
    return known_reason.length > 0 ? known_reason : other_reason;
}

static bool contains(struct span text, const char *part)
{
    return memmem(text.data, text.length, part, strlen(part)) != NULL;
}

// --- texts ----------------------------------------------------------------------------------------------

void failure_format_seconds(int64_t seconds, char *text, size_t size)
{
    snprintf(text, size, "%lld %s", (long long)seconds, seconds == 1 ? "second" : "seconds");
}

void failure_interrupted_message(int64_t elapsed_ms, char *text, size_t size)
{
    snprintf(text, size, "The evaluation was interrupted after %.1f seconds.",
             (double)elapsed_ms / 1000);
}

__attribute__((format(printf, 2, 3))) static void message_add(struct failure *failure,
                                                              const char *format, ...)
{
    size_t length = strlen(failure->message);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(failure->message + length, sizeof(failure->message) - length, format, arguments);
    va_end(arguments);
}

static void reason_of_exit(const struct failure_facts *facts, struct failure *failure)
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

static void classify_stopped(const struct failure_facts *facts, struct failure *failure)
{
    bool timeout = facts->stop == FAILURE_STOP_TIMEOUT;
    failure->type = timeout ? "EVALUATION-TIMEOUT" : "EVALUATION-INTERRUPTED";
    failure->code = timeout ? "timeout" : "interrupted";
    failure->cause = timeout ? "timeout" : "cancelled";
    if (timeout) {
        char seconds[48];
        failure_format_seconds(facts->timeout, seconds, sizeof(seconds));
        message_add(failure,
                    "Evaluation exceeded the timeout of %s. Possibly an infinite loop or an "
                    "expensive computation; configure-limits raises the timeout.",
                    seconds);
    } else {
        failure_interrupted_message(facts->elapsed_ms, failure->message, sizeof(failure->message));
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

static void classify_heap(const struct failure_facts *facts, struct failure *failure)
{
    failure->type = "HEAP-EXHAUSTED";
    failure->code = "heap-exhausted";
    failure->cause = "heap";
    message_add(failure, "The Lisp heap of %u MB was exhausted and the process ended.",
                facts->heap_mb);
    snprintf(failure->reason, sizeof(failure->reason), "the Lisp heap was exhausted");
}

static void classify_signal(const struct failure_facts *facts, struct failure *failure)
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

static void classify_exit(const struct failure_facts *facts, struct failure *failure)
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
    if (facts->exit.code == EXIT_CHANNEL_LOST && !facts->farewell.received) {
        message_add(failure, "\nIts control channel was closed or replaced.");
        snprintf(failure->reason, sizeof(failure->reason),
                 "the process ended (exit code %d), its control channel was closed",
                 facts->exit.code);
    }
}

static void classify_broken(struct failure *failure)
{
    failure->type = "SESSION-UNUSABLE";
    failure->code = "unusable";
    failure->cause = "unusable";
    message_add(failure, "The evaluation left the image unusable (the control protocol was "
                         "broken); its effects were discarded.");
    snprintf(failure->reason, sizeof(failure->reason),
             "the evaluation left the image unusable (the control protocol was broken)");
}

void failure_classify(const struct failure_facts *facts, struct failure *ret_failure)
{
    struct failure failure = {.exit_code = -1};
    if (facts->exit.known && facts->exit.signaled)
        failure.signal = facts->exit.code;
    else if (facts->exit.known)
        failure.exit_code = facts->exit.code;

    struct span fatal = fatal_line(facts->runtime_text);
    if (facts->stop != FAILURE_STOP_NONE)
        classify_stopped(facts, &failure);
    else if (facts->protocol_broken)
        classify_broken(&failure);
    else if (!facts->farewell.received && contains(facts->runtime_text, "Heap exhausted"))
        classify_heap(facts, &failure);
    else if (facts->exit.known && facts->exit.signaled)
        classify_signal(facts, &failure);
    else
        classify_exit(facts, &failure);
    if (fatal.length > 0 && !facts->farewell.received && facts->stop == FAILURE_STOP_NONE) {
        size_t length = fatal.length < 300 ? fatal.length : utf8_cut(fatal.data, 300);
        message_add(&failure, "\n%.*s", (int)length, fatal.data);
    }
    *ret_failure = failure;
}
