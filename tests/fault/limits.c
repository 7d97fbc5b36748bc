// What holds beside crashes: order, queues, cancellation, interrupts, eviction, output limits,
// reset, rollback, copies, frozen errors and adoption, sessions side by side, and the end of the
// server.
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/assert.h"
#include "cases.h"
#include "process/proc.h"

static void expect(struct driver *driver, const char *code, const char *values)
{
    struct answer answer;
    driver_eval(driver, code, 20, &answer);
    check(answer.ok && strcmp(answer.values, values) == 0, "%s: %s %s %s, expected %s", code,
          answer.values, answer.type, answer.message, values);
}

static void call(struct driver *driver, enum session_request_kind kind, const char *op,
                 const char *parameters, int64_t error, bool adopt, struct answer *answer)
{
    struct region *region = region_new(1 << 20);
    value params = map_new(region);
    // "name=text|name=text"; a number stays a text, a list is made of one text.
    char copy[512];
    snprintf(copy, sizeof(copy), "%s", parameters);
    char *rest = NULL;
    for (char *part = strtok_r(copy, "|", &rest); part; part = strtok_r(NULL, "|", &rest)) {
        char *equals = strchr(part, '=');
        *equals = 0;
        value text = value_string_text(region, equals + 1);
        if (strcmp(part, "frame") == 0)
            text = value_integer(atol(equals + 1));
        else if (strcmp(part, "values") == 0)
            text = vector_push(region, vector_new(region, 1), text);
        params = map_put_text(region, params, part, text);
    }
    struct session_request request = {
        .kind = kind, .op = op, .params = params, .timeout = 10, .error = error, .adopt = adopt};
    driver_call(driver, &request, answer);
    region_free(region);
}

// --- requests ------------------------------------------------------------------------------------

static void queue_and_cancel(struct driver *driver)
{
    enum { QUEUE = 64 };
    static struct answer running, waiting[QUEUE], one_more;
    driver_settle(driver);
    uint64_t first = driver_start(driver, NULL, "(loop)", 0, &running);
    driver_run_for(driver, 50);  // finalizers may have to end first
    uint64_t tickets[QUEUE];
    for (int i = 0; i < QUEUE; i++) {
        char code[32];
        snprintf(code, sizeof(code), "(push %d *order*)", i);
        tickets[i] = driver_start(driver, NULL, code, 5, &waiting[i]);
    }
    driver_start(driver, NULL, "1", 5, &one_more);
    driver_run_for(driver, 50);
    check(one_more.calls == 1 && strcmp(one_more.code, "busy") == 0, "queue: %s", one_more.code);
    session_cancel(driver->manager, tickets[10]);
    session_cancel(driver->manager, first);
    driver_wait(driver, &waiting[QUEUE - 1]);
    check(running.calls == 0 && waiting[10].calls == 0, "cancelled requests were answered");
    check(strstr(waiting[0].notices, "was cancelled"), "notice: %s", waiting[0].notices);
    expect(driver, "(equal (reverse *order*) (loop for i below 64 unless (= i 10) collect i))",
           "T");
}

static void cancel_hard(struct driver *driver)
{
    static struct answer running;
    uint64_t ticket = driver_start(
        driver, NULL, "(setf *x* :lost) (sb-sys:without-interrupts (loop))", 0, &running);
    driver_run_for(driver, 100);
    session_cancel(driver->manager, ticket);
    struct answer answer;
    driver_eval(driver, "*x*", 5, &answer);
    check(running.calls == 0, "cancelled: answered");
    check(answer.ok && strcmp(answer.values, ":KEPT") == 0, "cancelled hard: %s", answer.values);
    check(strstr(answer.notices, "was cancelled and rolled back"), "notice: %s", answer.notices);
}

static void interrupt(struct driver *driver)
{
    static struct answer running;
    uint64_t ticket = driver_start(driver, NULL, "(princ \"partial\") (loop)", 0, &running);
    driver_run_for(driver, 100);
    session_interrupt(driver->manager, ticket);
    driver_wait(driver, &running);
    check(strcmp(running.code, "interrupted") == 0 && strcmp(running.output, "partial") == 0 &&
              running.frozen,
          "interrupted: %s %s %s", running.code, running.output, running.message);
}

static int progress_count;

static void on_progress(void *data, const struct session_progress *progress)
{
    (void)data;
    if (progress->elapsed_ms >= 900 && span_equal_text(progress->line, "line 2"))
        progress_count++;
}

static void progress(struct driver *driver)
{
    struct region *region = region_new(1 << 20);
    struct answer answer;
    struct session_request request = {
        .kind = SESSION_EVALUATE,
        .op = "evaluate",
        .params = map_put_text(region, map_new(region), "code",
                               value_string_text(region, "(format t \"line 1~%line 2~%\") "
                                                         "(finish-output) (sleep 1.7)")),
        .timeout = 5,
        .progress = on_progress,
    };
    driver_call(driver, &request, &answer);
    check(progress_count == 2, "%d times progress", progress_count);
    region_free(region);
}

// --- limits --------------------------------------------------------------------------------------

static void output_limit(struct driver *driver)
{
    struct session_limits limits = session_limits_default();
    struct answer answer;
    limits.max_output = 100;
    session_limits_set(driver->manager, NULL, &limits);
    driver_eval(driver, "(dotimes (i 1000) (write-char #\\a))", 10, &answer);
    check(strlen(answer.output) < 200 && answer.omitted == 903 &&
              strstr(answer.output, "[truncated: 903 characters omitted; max-output 100]"),
          "truncated: %s", answer.output);
    driver_eval(driver, "(dotimes (i 1000) (write-char (code-char 955)))", 10, &answer);
    check(answer.omitted == 903, "characters, not bytes: %llu omitted",
          (unsigned long long)answer.omitted);
    limits = session_limits_default();
    session_limits_set(driver->manager, NULL, &limits);
    long before = resident_kb();
    driver_eval(driver,
                "(let ((s (make-string 1000000 :initial-element #\\b))) (dotimes (i 100) "
                "(write-string s)))",
                60, &answer);
    check(answer.omitted == 100000000 - 20000 + 3 && resident_kb() - before < 8192,
          "flood: %llu omitted, %ld KB more", (unsigned long long)answer.omitted,
          resident_kb() - before);
}

static void check_limits(void)
{
    struct session_limits limits = session_limits_default();
    struct error error;
    limits.timeout = -5;
    check(!session_limits_check(&limits, 2560, &error) &&
              strcmp(error.message, "Value must be non-negative: timeout = -5") == 0,
          "limits: %s", error.message);
    limits = session_limits_default();
    limits.max_memory = 3;
    check(!session_limits_check(&limits, 2560, &error) &&
              strcmp(error.message, "Value must be between 64 and 1152: max-memory = 3") == 0,
          "limits: %s", error.message);
}

static size_t count_snapshots(struct driver *driver)
{
    struct region *region = region_new(8 << 20);
    driver_settle(driver);
    value info = session_info(driver->manager, NULL, true, region);
    size_t count = vector_count(map_get(info, "snapshots"));
    region_free(region);
    return count;
}

static void eviction(struct driver *driver)
{
    struct answer answer;
    struct session_limits limits = session_limits_default();
    for (int i = 0; i < 20; i++)
        driver_eval(driver, "1", 5, &answer);
    check(count_snapshots(driver) == 16, "%zu snapshots", count_snapshots(driver));
    limits.snapshots = 3;
    session_limits_set(driver->manager, NULL, &limits);
    check(count_snapshots(driver) == 3, "%zu snapshots of 3", count_snapshots(driver));
    limits.snapshots = 16;
    session_limits_set(driver->manager, NULL, &limits);
}

// With room for three or four snapshots of 16 MB each: the frozen error goes, then most of those
// between the first state and the last.
static void eviction_by_memory(void)
{
    struct driver driver;
    struct answer first, answer;
    driver_open(&driver, &(struct session_config){.clone_budget_mb = 60});
    driver_eval(&driver, "(defvar *v* :first)", 20, &first);
    driver_eval(&driver, "(error \"frozen\")", 20, &answer);
    check(answer.frozen, "frozen: %s", answer.message);
    for (int i = 0; i < 8; i++) {
        driver_eval(&driver,
                    "(setf *v* (make-array 4000000 :element-type '(unsigned-byte 32) "
                    ":initial-element 1)) 1",
                    30, &answer);
        driver_run_for(&driver, 120);
    }
    size_t count = count_snapshots(&driver);
    check(count >= 3 && count < 8, "%zu snapshots with a budget of 60 MB", count);
    struct region *region = region_new(8 << 20);
    value info = session_info(driver.manager, NULL, false, region);
    check(vector_count(map_get(info, "frozen")) == 0, "the frozen error is still there");
    int64_t oldest = map_get(vector_at(map_get(info, "snapshots"), 0), "number").integer;
    check(oldest <= first.evaluation, "the oldest snapshot is %lld", (long long)oldest);
    region_free(region);
    expect(&driver, "(length *v*)", "4000000");
    driver_rollback(&driver, oldest, &answer);
    check(answer.ok, "rollback to the oldest: %s", answer.message);
    expect(&driver, "(and (boundp '*v*) (symbol-value '*v*))", oldest == 0 ? "NIL" : ":FIRST");
    driver_close(&driver);
}

// --- rollback and reset --------------------------------------------------------------------------

static void rollback_and_reset(struct driver *driver)
{
    struct answer first, answer;
    driver_eval(driver, "(defvar *r* 1)", 5, &first);
    expect(driver, "(setf *r* 2)", "2");
    expect(driver, "(setf *r* 3)", "3");
    driver_rollback(driver, first.evaluation, &answer);
    check(answer.ok && answer.snapshot == first.evaluation, "rollback: %s", answer.message);
    expect(driver, "*r*", "1");
    driver_rollback(driver, first.evaluation + 2, &answer);
    check(answer.ok, "forward: %s", answer.message);
    expect(driver, "*r*", "3");
    driver_rollback(driver, -1, &answer);
    check(answer.ok, "one step: %s", answer.message);
    driver_rollback(driver, -1, &answer);
    expect(driver, "*r*", "2");
    driver_rollback(driver, 99999, &answer);
    check(strcmp(answer.code, "no-such-snapshot") == 0 && strstr(answer.message, "Snapshots: "),
          "unknown snapshot: %s", answer.message);

    struct session_request reset = {.kind = SESSION_RESET, .timeout = -1};
    driver_call(driver, &reset, &answer);
    int64_t before = answer.snapshot;
    check(answer.ok && before > 0, "reset: %s, state before %lld", answer.message,
          (long long)before);
    expect(driver, "(boundp '*r*)", "NIL");
    driver_call(driver, &reset, &answer);
    driver_call(driver, &reset, &answer);
    check(answer.ok, "reset again: %s", answer.message);
    expect(driver, "(boundp '*r*)", "NIL");
    driver_rollback(driver, before, &answer);
    check(!answer.ok, "two resets keep the state before the last evaluation only");
}

static void undo_reset(struct driver *driver)
{
    struct answer answer;
    expect(driver, "(defvar *u* 7)", "*U*");
    struct session_request reset = {.kind = SESSION_RESET, .timeout = -1};
    driver_call(driver, &reset, &answer);
    driver_call(driver, &reset, &answer);
    driver_rollback(driver, answer.snapshot, &answer);
    check(answer.ok, "undo of a reset: %s", answer.message);
    expect(driver, "*u*", "7");
}

static void systems_come_back(struct driver *driver)
{
    struct answer answer;
    call(driver, SESSION_EVALUATE, "load-system", "system=sb-md5", 0, false, &answer);
    check(answer.ok, "load-system: %s %s", answer.type, answer.message);
    struct session_request reset = {.kind = SESSION_RESET, .timeout = -1};
    driver_call(driver, &reset, &answer);
    check(answer.ok && strstr(answer.notices, "Systems loaded again: sb-md5."), "reset: %s %s",
          answer.message, answer.notices);
    expect(driver, "(not (null (find-package \"SB-MD5\")))", "T");
    driver_eval(driver, "(exit :abort t)", 10, &answer);
    expect(driver, "(not (null (find-package \"SB-MD5\")))", "T");
}

// --- copies and frozen errors --------------------------------------------------------------------

static void copies(struct driver *driver)
{
    struct answer answer;
    expect(driver, "(defvar *c* 1)", "*C*");
    call(driver, SESSION_COPY, "compile", "code=(eval-when (:compile-toplevel) (setf *c* 2))", 0,
         false, &answer);
    check(answer.ok, "compile: %s %s", answer.type, answer.message);
    call(driver, SESSION_COPY, "compile", "code=(eval-when (:compile-toplevel) (exit :code 3))", 0,
         false, &answer);
    check(strcmp(answer.code, "process-exit") == 0 && !answer.rollback[0], "crash in a copy: %s %s",
          answer.code, answer.rollback);
    expect(driver, "*c*", "1");
}

static void debugging(struct driver *driver)
{
    struct answer error, answer;
    driver_eval(
        driver,
        "(defun risky (x) (let ((y (* 2 x))) (+ y (undefined-helper y) 1000))) (defun top (z) "
        "(list :answer (risky (1+ z))))",
        10, &answer);
    driver_eval(driver, "(top 20)", 10, &error);
    check(error.frozen && error.error_id > 0, "frozen: %s", error.message);
    for (int i = 0; i < 3; i++) {
        call(driver, SESSION_DEBUG, "eval-in-frame", "code=(list :x x :y y)|frame=1", 0, false,
             &answer);
        check(answer.ok && strcmp(answer.values, "(:X 21 :Y 42)") == 0, "eval-in-frame: %s %s",
              answer.values, answer.message);
    }
    call(driver, SESSION_DEBUG, "eval-in-frame", "code=(exit :code 4)|frame=1", 0, false, &answer);
    check(strcmp(answer.code, "process-exit") == 0 && !answer.rollback[0], "exit in a frame: %s",
          answer.code);
    for (int i = 0; i < 10; i++) {
        char parameters[64], expected[64];
        snprintf(parameters, sizeof(parameters), "restart=USE-VALUE|values=(lambda (n) (+ n %d))",
                 i);
        snprintf(expected, sizeof(expected), "(:ANSWER %d)", 42 + 42 + i + 1000);
        call(driver, SESSION_RESTART, "invoke-restart", parameters, error.error_id, false, &answer);
        check(answer.ok && strcmp(answer.values, expected) == 0, "try %d: %s %s", i, answer.values,
              answer.message);
    }
    expect(driver, "(fboundp 'undefined-helper)", "NIL");
    driver_eval(driver, "(top 20)", 10, &error);
    expect(driver, "(defvar *later* 1)", "*LATER*");
    call(driver, SESSION_RESTART, "invoke-restart",
         "restart=CONTINUE|code=(defun undefined-helper (n) (* n 100))", error.error_id, true,
         &answer);
    check(answer.ok && strcmp(answer.values, "(:ANSWER 5242)") == 0, "adopted: %s %s",
          answer.values, answer.message);
    expect(driver, "(undefined-helper 1)", "100");
    expect(driver, "(boundp '*later*)", "NIL");
    driver_eval(driver, "(exit :abort t)", 10, &answer);
    expect(driver, "(undefined-helper 2)", "200");
}

static void history(struct driver *driver)
{
    struct answer answer;
    int64_t last = 0;
    for (int i = 0; i < 25; i++) {
        driver_eval(driver, "(error \"e\")", 10, &answer);
        last = answer.error_id;
    }
    struct region *region = region_new(64 << 20);
    value errors = session_errors(driver->manager, NULL, region);
    value info = session_info(driver->manager, NULL, false, region);
    check(vector_count(errors) == 20 && map_get(vector_at(errors, 0), "id").integer == last,
          "history: %zu errors", vector_count(errors));
    check(vector_count(map_get(info, "frozen")) == 4, "%zu frozen",
          vector_count(map_get(info, "frozen")));
    check(value_is_map(session_error(driver->manager, NULL, 0, region)), "there is a last error");
    region_free(region);
    call(driver, SESSION_DEBUG, "inspect-frame", "frame=0", last - 6, false, &answer);
    check(strcmp(answer.code, "not-frozen") == 0, "old error: %s %s", answer.code, answer.message);
    call(driver, SESSION_DEBUG, "inspect-frame", "frame=0", 9999, false, &answer);
    check(strcmp(answer.code, "no-such-error") == 0, "unknown error: %s", answer.code);
    expect(driver, "1", "1");
    call(driver, SESSION_DEBUG, "inspect-frame", "frame=0", 0, false, &answer);
    check(strcmp(answer.code, "no-error") == 0, "no error: %s", answer.code);
}

// --- finalizers ----------------------------------------------------------------------------------

static void finalizers(struct driver *driver)
{
    struct answer answer;
    driver_eval(driver,
                "(defvar *f* 0) (dotimes (i 3) (sb-ext:finalize (list i) (lambda () (incf *f*)) "
                ":dont-save t)) 1",
                10, &answer);
    check(answer.ok, "finalize: %s", answer.message);
    driver_eval(driver, "(gc :full t)", 10, &answer);
    driver_settle(driver);
    driver_run_for(driver, 200);
    driver_eval(driver, "*f*", 10, &answer);
    check(answer.ok && atoi(answer.values) >= 2, "finalizers ran: %s", answer.values);
    driver_eval(driver, "(sb-ext:finalize (list 1) (lambda () (loop)) :dont-save t) 1", 10,
                &answer);
    driver_eval(driver, "(gc :full t) (setf *f* :kept)", 10, &answer);
    driver_settle(driver);
    driver_run_for(driver, 1500);
    expect(driver, "*f*", ":KEPT");
    driver_eval(driver,
                "(dotimes (i 5) (sb-ext:finalize (list i) (lambda () (error \"in finalizer\")) "
                ":dont-save t)) 1",
                10, &answer);
    driver_settle(driver);
    driver_run_for(driver, 200);
    driver_eval(driver, "1", 10, &answer);
    check(strstr(answer.errors, "; finalizer ended by SIMPLE-ERROR: in finalizer (error "),
          "error in a finalizer: %s", answer.errors);
}

// --- several sessions ----------------------------------------------------------------------------

enum { SESSIONS = 8 };  // --max-sessions

static void parallel(struct driver *driver)
{
    static struct answer answers[SESSIONS + 1];
    char name[16], code[64];
    for (int i = 0; i < SESSIONS; i++) {
        snprintf(name, sizeof(name), i ? "s%d" : "main", i);
        snprintf(code, sizeof(code), "(sleep 0.3) (defvar *me* %d) *me*", i);
        driver_start(driver, name, code, 10, &answers[i]);
    }
    driver_start(driver, "one-more", "1", 10, &answers[SESSIONS]);
    for (int i = 0; i <= SESSIONS; i++)
        driver_wait(driver, &answers[i]);
    for (int i = 0; i < SESSIONS; i++)
        check(answers[i].ok && atoi(answers[i].values) == i, "session %d: %s %s", i,
              answers[i].values, answers[i].message);
    check(strstr(answers[1].notices, "session \"s1\" was started"), "notice: %s",
          answers[1].notices);
    check(strcmp(answers[SESSIONS].code, "too-many-sessions") == 0, "ninth: %s",
          answers[SESSIONS].code);
    for (int i = 1; i < SESSIONS; i++) {
        snprintf(name, sizeof(name), "s%d", i);
        check(session_close(driver->manager, name) == 0, "close %s", name);
    }
    check(session_close(driver->manager, "s1") < 0 && !session_exists(driver->manager, "s1"),
          "a closed session is gone");
    struct session_request request = {.session = "s1", .kind = SESSION_RESET, .timeout = -1};
    struct answer answer;
    driver_call(driver, &request, &answer);
    check(answer.ok, "a closed name can be used again: %s", answer.message);
    session_close(driver->manager, "s1");
    request.session = "Bad Name";
    driver_call(driver, &request, &answer);
    check(strcmp(answer.code, "invalid-argument") == 0, "bad name: %s", answer.code);
    driver_run_for(driver, 300);
}

// --- the end of the server -----------------------------------------------------------------------

static bool is_alive(pid_t pid)
{
    struct proc_status status;
    return proc_status_read(pid, &status) == 0 && status.state != 'Z';
}

struct pids {
    pid_t pids[64];
    int count;
};

static enum proc_visit collect(void *data, pid_t pid)
{
    struct pids *pids = data;
    if (pids->count < 64)
        pids->pids[pids->count++] = pid;
    return PROC_VISIT_CONTINUE;
}

static void serve_until_killed(int ready)
{
    struct driver driver;
    struct answer answer;
    driver_open(&driver, &(struct session_config){0});
    driver_eval(&driver,
                "(sb-ext:run-program \"/bin/sleep\" '(\"1000\") :wait nil) (dotimes (i 2) "
                "(sb-thread:make-thread (lambda () (loop (make-list 10)))))",
                20, &answer);
    driver_eval(&driver, "(error \"frozen\")", 20, &answer);
    driver_eval(
        &driver,
        "(sb-ext:run-program \"/bin/sh\" '(\"-c\" \"setsid sleep 1000 & sleep 1000\") :wait "
        "nil)",
        20, &answer);
    driver_settle(&driver);
    if (write(ready, "r", 1) != 1)
        _exit(1);
    driver_eval(&driver, "(loop)", 0, &answer);
    _exit(1);
}

static void server_killed(void)
{
    int fds[2];
    CHECK(pipe(fds) == 0);
    pid_t server = fork();
    CHECK(server >= 0);
    if (server == 0)
        serve_until_killed(fds[1]);
    char byte;
    CHECK(read(fds[0], &byte, 1) == 1);
    usleep(100000);
    struct pids pids = {0};
    proc_descendants(server, collect, &pids);
    check(pids.count >= 8, "server has %d processes", pids.count);
    kill(server, SIGKILL);
    waitpid(server, NULL, 0);
    int alive = 0;
    for (int i = 0; i < 200; i++) {
        alive = 0;
        for (int k = 0; k < pids.count; k++)
            alive += is_alive(pids.pids[k]);
        if (alive == 0)
            break;
        usleep(10000);
    }
    check(alive == 0, "%d of %d processes survived the server", alive, pids.count);
    close(fds[0]);
    close(fds[1]);
    while (waitpid(-1, NULL, WNOHANG) > 0)
        continue;
}

// Memory is the limit where no number is given; the first session is made in any case.
static void sessions_by_memory(void)
{
    struct driver driver;
    static struct answer first, second;
    driver_open(&driver, &(struct session_config){.spare_memory_mb = UINT_MAX});
    driver_start(&driver, "main", "1", 10, &first);
    driver_start(&driver, "other", "1", 10, &second);
    driver_wait(&driver, &first);
    driver_wait(&driver, &second);
    check(first.ok, "the first: %s", first.message);
    check(strcmp(second.code, "too-many-sessions") == 0 && strstr(second.message, " MB of memory"),
          "no memory: %s %s", second.code, second.message);
    driver_close(&driver);
}

void run_limits(void)
{
    struct driver driver;
    check_limits();
    server_killed();
    driver_open(&driver, &(struct session_config){.max_sessions = SESSIONS});
    expect(&driver, "(defvar *order* nil)", "*ORDER*");
    expect(&driver, "(defvar *x* :kept)", "*X*");
    queue_and_cancel(&driver);
    cancel_hard(&driver);
    interrupt(&driver);
    progress(&driver);
    output_limit(&driver);
    eviction(&driver);
    rollback_and_reset(&driver);
    undo_reset(&driver);
    systems_come_back(&driver);
    copies(&driver);
    debugging(&driver);
    history(&driver);
    finalizers(&driver);
    parallel(&driver);
    driver_close(&driver);
    eviction_by_memory();
    sessions_by_memory();
    check_no_children();
}
