// What user code does to the descriptors and processes of its session. In every case the server goes
// on, the other session answers, the state from before is there, what was lost is said, and nothing
// of one evaluation is in the answer of another.
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "cases.h"
#include "session/session_internal.h"

#define ALIEN(name, types) \
    "(sb-alien:alien-funcall (sb-alien:extern-alien \"" name "\" (function sb-alien:int " types "))"
#define FCNTL(fd, command, value) \
    ALIEN("fcntl", "sb-alien:int sb-alien:int sb-alien:int") " " #fd " " #command " " #value ")"
#define SHUTDOWN(fd, how) ALIEN("shutdown", "sb-alien:int sb-alien:int") " " #fd " " #how ")"
#define START(program, arguments) \
    "(sb-ext:run-program \"" program "\" '(" arguments ") :search t :wait nil :output t)"
#define SHELL(command) START("/bin/sh", "\"-c\" \"" command "\"")

#define FORK ALIEN("fork", "") ")"
#define READ_CHANNEL                                                               \
    "(sb-alien:with-alien ((b (array char 65536))) (loop (sb-alien:alien-funcall " \
    "(sb-alien:extern-alien \"recv\" (function sb-alien:long sb-alien:int (* t) "  \
    "sb-alien:unsigned-long sb-alien:int)) 240 (sb-alien:addr b) 65536 0)))"

static void expect(struct driver *driver, const char *name, const char *code, const char *values)
{
    struct answer answer;
    driver_eval(driver, code, 30, &answer);
    check(answer.ok && strcmp(answer.values, values) == 0, "%s: %s gives %s %s %s, expected %s",
          name, code, answer.values, answer.type, answer.message, values);
}

static void expect_other(struct driver *driver, const char *name)
{
    struct answer answer;
    driver_start(driver, "other", "*other*", 30, &answer);
    driver_wait(driver, &answer);
    check(answer.ok && strcmp(answer.values, ":UNTOUCHED") == 0, "%s: the other session: %s %s",
          name, answer.values, answer.message);
    check(!answer.notices[0], "%s: the other session: %s", name, answer.notices);
}

static void reset(struct driver *driver, struct answer *answer)
{
    struct session_request request = {.kind = SESSION_RESET, .timeout = -1};
    driver_call(driver, &request, answer);
}

static double processor_seconds(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

// --- descriptors ---------------------------------------------------------------------------------

struct attack {
    const char *name;
    const char *code;
    int64_t timeout;
};

static const struct attack attacks[] = {
    {"shutdown for reading", SHUTDOWN(240, 0), 10},
    {"shutdown for writing", SHUTDOWN(240, 1), 10},
    {"shutdown", SHUTDOWN(240, 2), 10},
    {"shutdown of the others",
     "(loop for fd from 0 to 255 do (unless (= fd 240) " SHUTDOWN(fd, 2) "))", 10},
    {"shutdown and exit", "(progn " SHUTDOWN(240, 2) " (sb-ext:exit :abort t))", 10},
    {"non-blocking channel", FCNTL(240, 4, 2048), 10},
    {"non-blocking descriptors", "(loop for fd from 0 to 255 do " FCNTL(fd, 4, 2048) ")", 10},
    {"receive timeout",
     "(sb-alien:with-alien ((time (array sb-alien:long 2))) (setf (sb-alien:deref time 0) 0 "
     "(sb-alien:deref time 1) 1000) " ALIEN(
         "setsockopt",
         "sb-alien:int sb-alien:int sb-alien:int (* t) sb-alien:int") " 240 1 20 (sb-alien:addr "
                                                                      "time) 16))",
     10},
    {"small buffer",
     "(sb-alien:with-alien ((size sb-alien:int 1)) " ALIEN(
         "setsockopt",
         "sb-alien:int sb-alien:int sb-alien:int (* t) sb-alien:int") " 240 1 7 (sb-alien:addr "
                                                                      "size) 4))",
     10},
    {"a filter that drops every request",
     "(sb-alien:with-alien ((code (array (sb-alien:unsigned 8) 8)) (program (array "
     "sb-alien:unsigned-long 2))) (loop for i below 8 do (setf (sb-alien:deref code i) (if (= i 0) "
     "6 0))) (setf (sb-alien:deref program 0) 1 (sb-alien:deref program 1) (sb-sys:sap-int "
     "(sb-alien:alien-sap code))) " ALIEN(
         "setsockopt",
         "sb-alien:int sb-alien:int sb-alien:int (* t) sb-alien:int") " 240 1 26 (sb-alien:addr "
                                                                      "program) 16))",
     10},
    {"a child that reads the channel", "(when (zerop " FORK ") " READ_CHANNEL ")", 10},
    {"a grandchild that reads the channel",
     "(let ((child " FORK ")) (when (zerop child) (if (zerop " FORK ") " READ_CHANNEL
     " " ALIEN("_exit", "sb-alien:int") " 0))))",
     10},
    {"a thread that reads the channel",
     "(progn (sb-thread:make-thread (lambda () " READ_CHANNEL ")) t)", 10},
    {"all closed", "(loop for fd from 3 to 255 do " ALIEN("close", "sb-alien:int") " fd))", 10},
    {"all replaced",
     "(loop for fd from 3 to 255 do " ALIEN("dup2", "sb-alien:int sb-alien:int") " 0 fd))", 10},
    {"standard descriptors replaced",
     "(loop for fd in '(0 1 2 242 243 244) do " ALIEN("dup2",
                                                      "sb-alien:int sb-alien:int") " 240 fd))",
     10},
    {"all in use",
     "(progn (defvar *many* nil) (setf *many* (loop for fd = " ALIEN(
         "dup", "sb-alien:int") " 0) while (>= fd 0) collect fd)) t)",
     10},
    {"all in use, and an error",
     "(progn (setf *x* :lost) (loop for fd = " ALIEN(
         "dup", "sb-alien:int") " 0) while (>= fd 0)) (error \"e\"))",
     10},
};

// A thread that goes on reading takes the offers of channels for snapshots, and then another request:
// what came after the last snapshot is lost.
static bool is_loss_said(const struct attack *attack, const struct answer *answer)
{
    return strcmp(attack->name, "a thread that reads the channel") == 0 &&
           strstr(answer->notices, "took a request, which is repeated; rolled back to snapshot ") &&
           strstr(answer->notices, "; lost: evaluations ");
}

// What the session did to its descriptors may cost the evaluation that did it, which is said; the
// state from before it, and what comes after it, are as ever.
static void attack_descriptors(struct driver *driver, const struct attack *attack)
{
    struct answer answer;
    driver_eval(driver, "(defparameter *x* :before)", 30, &answer);
    driver_settle(driver);
    driver_eval(driver, attack->code, attack->timeout, &answer);
    check(answer.calls == 1, "%s: no answer", attack->name);
    check(!answer.restarted && !answer.lost[0], "%s: lost %s", attack->name, answer.lost);
    expect_other(driver, attack->name);
    // A request that somebody has stolen is repeated.
    driver_eval(driver, "(setf *x* (list *x* 1))", 30, &answer);
    check(answer.ok, "%s: then %s %s", attack->name, answer.type, answer.message);
    check(!strstr(answer.notices, "restarted"), "%s: %s", attack->name, answer.notices);
    if (strcmp(attack->name, "all in use, and an error") != 0)
        check(strcmp(answer.values, "(:BEFORE 1)") == 0, "%s: then %s", attack->name,
              answer.values);
    driver_eval(driver, "(length *x*)", 30, &answer);
    check((answer.ok && strcmp(answer.values, "2") == 0) || is_loss_said(attack, &answer),
          "%s: (length *x*) gives %s %s %s", attack->name, answer.values, answer.message,
          answer.notices);
    double before = processor_seconds();
    driver_run_for(driver, 300);
    check(processor_seconds() - before < 0.15, "%s: the idle server is busy", attack->name);
    reset(driver, &answer);
    check(answer.ok, "%s: reset: %s", attack->name, answer.message);
    expect(driver, attack->name, "(boundp '*x*)", "NIL");
}

// An alias of standard output works after a rollback as before it.
static void output_alias(struct driver *driver)
{
    static const char name[] = "alias of standard output";
    struct answer answer;
    expect(driver, name,
           "(progn (defvar *alias* (sb-sys:make-fd-stream (sb-posix:dup 1) :output t)) t)", "T");
    driver_settle(driver);
    driver_eval(driver, "(sb-ext:exit :abort t)", 10, &answer);
    driver_eval(driver, "(progn (format *alias* \"still here\") (finish-output *alias*))", 10,
                &answer);
    check(answer.ok && strcmp(answer.output, "still here") == 0, "%s: %s %s", name, answer.output,
          answer.message);
}

// Flags that a program left on the pipe do not cut the output of the next one.
static void nonblocking_output(struct driver *driver)
{
    enum { PRINTED = 1988895, VALUES = 1, MAX_OUTPUT = 20000 };
    struct answer answer;
    expect(driver, "non-blocking output", FCNTL(1, 4, 2049), "0");
    driver_eval(driver,
                "(sb-ext:process-exit-code (sb-ext:run-program \"/bin/sh\" '(\"-c\" \"seq 1 "
                "300000\") :output t))",
                60, &answer);
    check(answer.ok && strcmp(answer.values, "0") == 0 &&
              answer.omitted == PRINTED + VALUES - MAX_OUTPUT,
          "non-blocking output: exit code %s, %llu omitted", answer.values,
          (unsigned long long)answer.omitted);
}

// --- processes and their output ------------------------------------------------------------------

static void expect_no_output(struct driver *driver, const char *name)
{
    struct answer answer;
    driver_eval(driver, "*x*", 20, &answer);
    check(answer.ok && !answer.output[0] && !answer.errors[0],
          "%s: %s, and output of another call: %.20s%.20s", name, answer.values, answer.output,
          answer.errors);
}

static void call_copy(struct driver *driver, enum session_request_kind kind, const char *op,
                      const char *name, const char *code, struct answer *answer)
{
    struct region *region = region_new(1 << 20);
    value params = map_put_text(region, map_new(region), name, value_string_text(region, code));
    params = map_put_text(region, params, "frame", value_integer(0));
    struct session_request request = {.kind = kind, .op = op, .params = params, .timeout = 1};
    driver_call(driver, &request, answer);
    region_free(region);
}

#define YES START("yes", "")

static void output_of_killed(struct driver *driver)
{
    struct answer answer;
    expect(driver, "output", "(defparameter *x* 1)", "*X*");
    driver_eval(driver, "(progn " YES " (loop))", 1, &answer);
    check(strcmp(answer.code, "timeout") == 0, "timeout: %s", answer.code);
    expect_no_output(driver, "timeout");
    driver_eval(driver, "(progn " YES " (sb-sys:without-interrupts (loop)))", 1, &answer);
    check(strcmp(answer.code, "timeout") == 0, "hard timeout: %s", answer.code);
    expect_no_output(driver, "hard timeout");
    driver_eval(driver, "(progn " YES " (sleep 0.1) (sb-ext:exit :abort t))", 10, &answer);
    check(answer.rollback[0], "rollback: %s", answer.message);
    expect_no_output(driver, "rollback");
    static struct answer cancelled;
    uint64_t ticket = driver_start(driver, NULL, "(progn " YES " (loop))", 0, &cancelled);
    driver_run_for(driver, 200);
    session_cancel(driver->manager, ticket);
    expect_no_output(driver, "cancelled");
    call_copy(driver, SESSION_COPY, "macroexpand", "form", "(macrolet ((m () " YES " (loop))) (m))",
              &answer);
    driver_eval(driver, "(defmacro endless () " YES " (loop))", 10, &answer);
    call_copy(driver, SESSION_COPY, "macroexpand", "form", "(endless)", &answer);
    check(strcmp(answer.code, "timeout") == 0, "macroexpand: %s %s", answer.code, answer.message);
    expect_no_output(driver, "macroexpand");
    driver_eval(driver, "(error \"frozen\")", 10, &answer);
    call_copy(driver, SESSION_DEBUG, "eval-in-frame", "code", "(progn " YES " (loop))", &answer);
    check(strcmp(answer.code, "timeout") == 0, "eval-in-frame: %s %s", answer.code, answer.message);
    expect_no_output(driver, "eval-in-frame");
}

// A child that was allowed to live and writes without end waits while nobody asks.
static void surviving_flood(struct driver *driver)
{
    struct answer answer;
    driver_eval(driver, "(progn " YES " 1)", 20, &answer);
    driver_run_for(driver, 200);
    double before = processor_seconds();
    driver_run_for(driver, 500);
    check(processor_seconds() - before < 0.15, "a flood keeps the idle server busy");
    driver_eval(driver, "(sb-ext:exit :abort t)", 20, &answer);
    check(answer.rollback[0], "flood: %s", answer.message);
    driver_eval(driver, "(sleep 0.1)", 20, &answer);
    check(answer.ok && strncmp(answer.output, "y\n", 2) == 0, "the flood has ended: %.20s %s",
          answer.output, answer.message);
    reset(driver, &answer);
    driver_run_for(driver, 50);
    driver_eval(driver, "1", 20, &answer);
    check(!answer.output[0], "after reset: %.20s", answer.output);
}

// Everything that a lost evaluation has started is gone before the session goes on.
static void many_children(struct driver *driver)
{
    struct answer answer;
    expect(driver, "many children", "(defparameter *x* 7)", "*X*");
    driver_settle(driver);
    int before = count_children();
    driver_eval(driver,
                "(progn " SHELL("b() { [ $1 -gt 0 ] && { b $(($1 - 1)) & b $(($1 - 1)) & }; "
                                "exec sleep 1000; }; b 7") " (sleep 1) (sb-ext:exit :abort t))",
                20, &answer);
    check(answer.rollback[0] && !answer.lost[0] && !answer.restarted, "many children: %s, lost %s",
          answer.message, answer.lost);
    expect(driver, "many children", "*x*", "7");
    driver_settle(driver);
    driver_run_for(driver, 100);
    check(count_children() <= before + 2, "many children: %d processes, before %d",
          count_children(), before);
}

// More processes than a session may have end with the evaluation that started them.
static void too_many_children(struct driver *driver)
{
    struct answer answer;
    expect(driver, "too many children", "(defparameter *x* 8)", "*X*");
    driver_settle(driver);
    int before = count_children();
    driver_eval(driver,
                "(progn (setf *x* 9) " SHELL("i=0; while [ $i -lt 400 ]; do sleep 1000 & "
                                             "i=$((i + 1)); done; wait") " (sleep 100))",
                100, &answer);
    check(strcmp(answer.code, "process-limit") == 0 && answer.rollback[0] && !answer.lost[0],
          "too many children: %s %s, lost %s", answer.code, answer.message, answer.lost);
    expect(driver, "too many children", "*x*", "8");
    driver_run_for(driver, 200);
    check(count_children() <= before + 2, "too many children: %d processes, before %d",
          count_children(), before);
    expect_other(driver, "too many children");
}

// Processes that double faster than they can be found; 512 of them, and the limit is 300.
static void flood(struct driver *driver, const char *name, const char *code)
{
    struct answer answer;
    expect(driver, name, "(defparameter *x* 9)", "*X*");
    driver_settle(driver);
    int before = count_children();
    driver_eval(driver, code, 60, &answer);
    check(strcmp(answer.code, "process-limit") == 0 && answer.rollback[0] && !answer.lost[0],
          "%s: %s %s, lost %s", name, answer.code, answer.message, answer.lost);
    expect(driver, name, "*x*", "9");
    driver_run_for(driver, 200);
    check(count_children() <= before + 2, "%s: %d processes, before %d", name, count_children(),
          before);
    expect_other(driver, name);
}

static void floods(struct driver *driver)
{
    flood(driver, "forks of Lisp",
          "(progn (loop repeat 9 do " FORK ") (loop " ALIEN("sleep", "sb-alien:int") " 1000)))");
    flood(driver, "forks of a shell",
          "(progn " SHELL("b() { [ $1 -gt 0 ] && { b $(($1 - 1)) & b $(($1 - 1)) & }; wait; "
                          "exec sleep 1000; }; b 8") " (sleep 1000))");
    flood(driver, "daemons that start daemons",
          "(progn " SHELL("d='[ $1 -gt 0 ] && { setsid -f sh -c \\\"$0\\\" \\\"$0\\\" $(($1 - 1)); "
                          "setsid -f sh -c \\\"$0\\\" \\\"$0\\\" $(($1 - 1)); }; exec sleep 1000'; "
                          "setsid -f sh -c \\\"$d\\\" \\\"$d\\\" 8") " (sleep 1000))");
}

// --- snapshots -----------------------------------------------------------------------------------

static void stop_parked(struct session *session)
{
    for (struct worker *worker = session->workers; worker; worker = worker->next) {
        if (worker_is_parked(worker))
            kill(worker->process.pid, SIGSTOP);
    }
}

static void stopped_snapshots(struct driver *driver)
{
    static const char name[] = "stopped snapshots";
    struct answer answer;
    expect(driver, name, "(defparameter *x* 1)", "*X*");
    expect(driver, name, "(incf *x*)", "2");
    driver_settle(driver);
    driver_run_for(driver, 50);
    pid_t other = driver_head(driver, "other");
    stop_parked(manager_find(driver->manager, NULL));
    stop_parked(manager_find(driver->manager, "other"));
    driver_eval(driver, "(progn (incf *x*) (sb-ext:exit :abort t))", 20, &answer);
    check(answer.rollback[0] && !answer.lost[0] && !answer.restarted, "%s: %s, lost %s", name,
          answer.message, answer.lost);
    expect(driver, name, "*x*", "2");
    kill(other, SIGKILL);
    driver_run_for(driver, 50);
    driver_start(driver, "other", "*other*", 20, &answer);
    driver_wait(driver, &answer);
    check(answer.ok && strcmp(answer.values, ":UNTOUCHED") == 0, "%s: the other session: %s %s",
          name, answer.values, answer.message);
}

static pid_t snapshot_pid(struct driver *driver, int64_t number)
{
    struct worker *snapshot = worker_find_snapshot(manager_find(driver->manager, NULL), number);
    return snapshot ? snapshot->process.pid : 0;
}

// The reply names every evaluation that is lost.
static void lost_snapshots(struct driver *driver)
{
    static const char name[] = "lost snapshots";
    struct answer answer, last;
    reset(driver, &answer);
    expect(driver, name, "(defparameter *x* 1)", "*X*");
    expect(driver, name, "(setf *x* 2)", "2");
    driver_eval(driver, "(setf *x*\n 3)", 20, &answer);
    driver_eval(driver, "(setf *x* 4)", 20, &last);
    driver_settle(driver);
    driver_run_for(driver, 50);
    for (int64_t number = answer.evaluation; number <= last.evaluation; number++) {
        pid_t pid = snapshot_pid(driver, number);
        check(pid > 1, "%s: no snapshot %lld", name, (long long)number);
        if (pid > 1)
            kill(pid, SIGKILL);
    }
    driver_run_for(driver, 50);
    driver_eval(driver, "(sb-ext:exit :abort t)", 20, &last);
    char wanted[128];
    snprintf(wanted, sizeof(wanted), "evaluations %lld (setf *x*, %lld (setf *x* 4)",
             (long long)answer.evaluation, (long long)answer.evaluation + 1);
    check(strcmp(last.lost, wanted) == 0 && !last.restarted, "%s: lost \"%s\", expected \"%s\"",
          name, last.lost, wanted);
    expect(driver, name, "*x*", "2");
    // The same while idle.
    driver_eval(driver, "(setf *x* 5)", 20, &last);
    driver_settle(driver);
    driver_run_for(driver, 50);
    kill(snapshot_pid(driver, last.evaluation), SIGKILL);
    driver_run_for(driver, 50);
    kill(driver_head(driver, NULL), SIGKILL);
    driver_run_for(driver, 50);
    driver_eval(driver, "*x*", 20, &answer);
    snprintf(wanted, sizeof(wanted), "; lost: evaluation %lld (setf *x* 5)",
             (long long)last.evaluation);
    check(strcmp(answer.values, "2") == 0 && strstr(answer.notices, wanted), "%s: %s %s", name,
          answer.values, answer.notices);
}

// --- all -----------------------------------------------------------------------------------------

struct group {
    const char *name;
    void (*run)(struct driver *driver);
};

static const struct group groups[] = {
    {"alias of standard output", output_alias},
    {"non-blocking output", nonblocking_output},
    {"output of killed evaluations", output_of_killed},
    {"surviving flood", surviving_flood},
    {"many children", many_children},
    {"too many children", too_many_children},
    {"floods", floods},
    {"stopped snapshots", stopped_snapshots},
    {"lost snapshots", lost_snapshots},
};

void run_hostile(const char *only)
{
    struct driver driver;
    struct answer answer;
    driver_open(&driver, &(struct session_config){.max_processes = 300});
    driver_start(&driver, "other", "(defvar *other* :untouched)", 30, &answer);
    driver_wait(&driver, &answer);
    for (size_t i = 0; i < COUNT_OF(attacks); i++) {
        if (!only || strstr(attacks[i].name, only))
            attack_descriptors(&driver, &attacks[i]);
    }
    for (size_t i = 0; i < COUNT_OF(groups); i++) {
        if (!only || strstr(groups[i].name, only))
            groups[i].run(&driver);
    }
    driver_close(&driver);
    check_no_children();
}
