// The failure matrix: each row does its worst, then the state from before must be there in the next
// call. A row says what the caller must see.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "cases.h"

enum process_fate { LIVES, ROLLBACK, EITHER };

struct row {
    const char *name;
    const char *code;
    const char *types;    // one of these error types or "success", separated by |; "" = success
    const char *message;  // part of the message (or of the values on success); NULL = any
    const char *frame;    // part of the frames; NULL = any
    enum process_fate fate;
    const char *output;  // part of standard output or standard error; NULL = any
    const char *reason;  // part of the rollback's reason; NULL = any
};

static const struct row rows[] = {
    {"one huge array", "(make-array (* 1024 1024 1024 64) :element-type '(unsigned-byte 8))",
     "SB-KERNEL::HEAP-EXHAUSTED-ERROR", NULL, NULL, LIVES, NULL, NULL},
    {"runaway arrays", "(let ((l nil)) (loop (push (make-array 1000) l)))",
     "HEAP-LIMIT-EXCEEDED|EVALUATION-TIMEOUT", NULL, NULL, EITHER, NULL, NULL},
    {"runaway conses", "(let ((l nil)) (loop (push 1 l)))",
     "HEAP-LIMIT-EXCEEDED|EVALUATION-TIMEOUT", NULL, NULL, EITHER, NULL, NULL},
    {"runaway without collection",
     "(sb-sys:without-gcing (let ((l nil)) (loop (push (make-array 100000) l))))",
     "HEAP-EXHAUSTED|HEAP-LIMIT-EXCEEDED|SB-KERNEL::HEAP-EXHAUSTED-ERROR|EVALUATION-TIMEOUT", NULL,
     NULL, EITHER, NULL, NULL},
    {"more live data than a collection can copy",
     "(let ((l nil)) (sb-sys:without-gcing (loop repeat 140000000 do (push 1 l))) (gc :full t) "
     "(length l))",
     "HEAP-EXHAUSTED",
     "The Lisp heap of 2560 MB was exhausted and the process ended.\nHeap "
     "exhausted",
     "(EVAL", ROLLBACK, NULL, "the Lisp heap was exhausted"},
    {"control stack", "(defun rec (n) (1+ (rec (1+ n)))) (rec 0)",
     "SB-KERNEL::CONTROL-STACK-EXHAUSTED", NULL, "(REC ", LIVES, NULL, NULL},
    {"control stack again", "(rec 0)", "UNDEFINED-FUNCTION|SB-KERNEL::CONTROL-STACK-EXHAUSTED",
     NULL, NULL, LIVES, NULL, NULL},
    {"control stack, five times", "(dotimes (i 4) (ignore-errors (rec 0))) (rec 0)",
     "SB-KERNEL::CONTROL-STACK-EXHAUSTED", NULL, "(REC ", LIVES, NULL, NULL},
    {"binding stack", "(defvar *b* 0) (defun brec (n) (let ((*b* n)) (1+ (brec (1+ n))))) (brec 0)",
     "SB-KERNEL::BINDING-STACK-EXHAUSTED|SB-KERNEL::CONTROL-STACK-EXHAUSTED", NULL, NULL, LIVES,
     NULL, NULL},
    {"thread local storage",
     "(progv (loop repeat 200000 collect (gensym)) (loop repeat 200000 collect 1) 1)",
     "PROCESS-EXIT", "\nThread local storage exhausted", NULL, ROLLBACK, NULL, "exit code 1"},
    {"alien stack",
     "(defun ast (n) (sb-alien:with-alien ((a (array char 65536))) (setf (sb-alien:deref a 0) 1) "
     "(+ (sb-alien:deref a 0) (ast (1+ n))))) (ast 0)",
     "PROCESS-EXIT", "exit code 1", NULL, ROLLBACK, NULL, NULL},
    {"read from address 0", "(sb-sys:sap-ref-64 (sb-sys:int-sap 0) 0)", "SB-SYS:MEMORY-FAULT-ERROR",
     NULL, "EVAL", ROLLBACK, NULL, "memory fault"},
    {"write to address 0", "(setf (sb-sys:sap-ref-64 (sb-sys:int-sap 0) 0) 1)",
     "SB-SYS:MEMORY-FAULT-ERROR", NULL, "EVAL", ROLLBACK, NULL, "memory fault"},
    {"wild aref",
     "(defun bad (v i) (declare (optimize (speed 3) (safety 0)) (type (simple-array (unsigned-byte "
     "8) (*)) v) (fixnum i)) (setf (aref v i) 1)) (bad (make-array 4 :element-type '(unsigned-byte "
     "8)) 99999999999)",
     "SB-SYS:MEMORY-FAULT-ERROR", NULL, NULL, ROLLBACK, NULL, "memory fault"},
    {"car of a fixnum",
     "(defun badcar (x) (declare (optimize (speed 3) (safety 0)) (type cons x)) (car x)) (badcar "
     "12345678)",
     "SB-SYS:MEMORY-FAULT-ERROR", NULL, NULL, ROLLBACK, NULL, "memory fault"},
    {"overwritten cons",
     "(let ((l (list 1 2 3))) (sb-sys:with-pinned-objects (l) (setf (sb-sys:sap-ref-64 "
     "(sb-sys:int-sap (logandc2 (sb-kernel:get-lisp-obj-address l) 15)) 0) #x10000fffff7)) (gc "
     ":full t) l)",
     "SB-SYS:MEMORY-FAULT-ERROR|PROCESS-EXIT|PROCESS-KILLED|success", NULL, NULL, ROLLBACK, NULL,
     NULL},
    {"exit 7", "(sb-ext:exit :code 7)", "PROCESS-EXIT", "exit code 7", NULL, ROLLBACK, NULL,
     "the process ended (exit code 7)"},
    {"exit in unwind-protect", "(unwind-protect (sb-ext:exit :code 7) (print :cleanup))",
     "PROCESS-EXIT", "exit code 7", NULL, ROLLBACK, "CLEANUP", NULL},
    {"quit", "(quit)", "PROCESS-EXIT", "exit code 0", NULL, ROLLBACK, NULL, NULL},
    {"SIGTERM to itself", "(sb-posix:kill (sb-posix:getpid) 15) (sleep 1)", "PROCESS-EXIT",
     "exit code 0", NULL, ROLLBACK, NULL, NULL},
    {"exit :abort", "(sb-ext:exit :abort t)", "PROCESS-EXIT", "exit code 1", NULL, ROLLBACK, NULL,
     NULL},
    {"abort()",
     "(sb-alien:alien-funcall (sb-alien:extern-alien \"abort\" (function sb-alien:void)))",
     "PROCESS-EXIT|PROCESS-KILLED", NULL, NULL, ROLLBACK, NULL, NULL},
    {"kill -9 itself", "(sb-posix:kill (sb-posix:getpid) 9)", "PROCESS-KILLED",
     "signal 9 (SIGKILL)", NULL, ROLLBACK, NULL, "signal 9"},
    {"kill -9 its process group", "(sb-posix:kill 0 9)", "PROCESS-KILLED", "signal 9 (SIGKILL)",
     NULL, ROLLBACK, NULL, "signal 9"},
    {"loop", "(loop)", "EVALUATION-TIMEOUT", "timeout of 1 second.", "EVAL", LIVES, NULL, NULL},
    {"consing loop", "(defun spinc () (loop (make-list 100))) (spinc)", "EVALUATION-TIMEOUT", NULL,
     "SPINC", LIVES, NULL, NULL},
    {"loop that handles conditions",
     "(loop (handler-case (loop) (serious-condition () nil) (condition () nil)))",
     "EVALUATION-TIMEOUT", NULL, NULL, LIVES, NULL, NULL},
    {"looping cleanup", "(unwind-protect (loop) (loop))", "EVALUATION-TIMEOUT",
     "It could not be interrupted and was stopped after 1.", "EVAL", ROLLBACK, NULL,
     "it could not be interrupted"},
    {"loop without interrupts",
     "(defun wi (n) (sb-sys:without-interrupts (loop (setf n (logand (1+ n) 255))))) (wi 0)",
     "EVALUATION-TIMEOUT", "could not be interrupted", "WI", ROLLBACK, NULL, NULL},
    {"loop without gcing", "(sb-sys:without-gcing (loop))", "EVALUATION-TIMEOUT",
     "could not be interrupted", NULL, ROLLBACK, NULL, NULL},
    {"sleep", "(sleep 100)", "EVALUATION-TIMEOUT", NULL, NULL, LIVES, NULL, NULL},
    {"foreign pause",
     "(sb-alien:alien-funcall (sb-alien:extern-alien \"pause\" (function sb-alien:int)))",
     "EVALUATION-TIMEOUT", NULL, NULL, LIVES, NULL, NULL},
    {"foreign sleep",
     "(sb-alien:alien-funcall (sb-alien:extern-alien \"sleep\" (function sb-alien:int "
     "sb-alien:int)) 100)",
     "EVALUATION-TIMEOUT", NULL, NULL, LIVES, NULL, NULL},
    {"stops itself", "(sb-posix:kill (sb-posix:getpid) 19) (loop)", "EVALUATION-TIMEOUT", NULL,
     NULL, LIVES, NULL, NULL},
    {"read-line", "(read-line)", "END-OF-FILE", NULL, "READ-LINE", LIVES, NULL, NULL},
    {"raw write",
     "(sb-unix:unix-write 1 (sb-ext:string-to-octets \"{\\\"jsonrpc\\\":\\\"2.0\\\"}\") 0 17)", "",
     "17", NULL, LIVES, "{\"jsonrpc\":\"2.0\"}", NULL},
    {"sys stdout",
     "(progn (format sb-sys:*stdout* \"to sys stdout~%\") (finish-output sb-sys:*stdout*) 1)", "",
     "1", NULL, LIVES, "to sys stdout", NULL},
    {"run-program", "(progn (sb-ext:run-program \"/bin/echo\" '(\"hi\") :output t) 1)", "", "1",
     NULL, LIVES, "hi", NULL},
    {"output of a thread",
     "(sb-thread:join-thread (sb-thread:make-thread (lambda () (format t \"from thread~%\") 5)))",
     "", "5", NULL, LIVES, "from thread", NULL},
    {"close(0)", "(sb-unix:unix-close 0)", "", "T", NULL, LIVES, NULL, NULL},
    {"read-line after close(0)", "(read-line)", "END-OF-FILE", NULL, NULL, LIVES, NULL, NULL},
    {"channel closed", "(progn (sb-unix:unix-close 240) (sb-unix:unix-close 241) 1)",
     "PROCESS-EXIT", "control channel", NULL, ROLLBACK, NULL, "control channel"},
    {"break", "(break \"hm\")", "SIMPLE-CONDITION", "hm", NULL, LIVES, NULL, NULL},
    {"invoke-debugger", "(invoke-debugger (make-condition 'simple-error :format-control \"ouch\"))",
     "SIMPLE-ERROR", "ouch", NULL, LIVES, NULL, NULL},
    {"abort", "(abort)", "EVALUATION-ABORTED", "The code invoked the ABORT restart.", NULL, LIVES,
     NULL, NULL},
    {"throw to toplevel", "(throw 'sb-impl::toplevel-catcher nil)", "SB-INT:SIMPLE-CONTROL-ERROR",
     NULL, NULL, LIVES, NULL, NULL},
    {"print-object that signals",
     "(defclass pe () ()) (defmethod print-object ((x pe) s) (error \"no\")) (make-instance 'pe)",
     "", "#<unprintable PE: SIMPLE-ERROR: no>", NULL, LIVES, NULL, NULL},
    {"print-object that loops",
     "(defclass pl () ()) (defmethod print-object ((x pl) s) (loop)) (make-instance 'pl)",
     "EVALUATION-TIMEOUT", "printing", NULL, LIVES, NULL, NULL},
    {"report that signals",
     "(define-condition rs (error) () (:report (lambda (c s) (error \"in report\")))) (error 'rs)",
     "RS", "the report of this RS failed", NULL, LIVES, NULL, NULL},
    {"report that loops",
     "(define-condition rl (error) () (:report (lambda (c s) (loop)))) (error 'rl)",
     "EVALUATION-TIMEOUT", "rendering the report of RL", NULL, LIVES, NULL, NULL},
    {"error in a thread",
     "(sb-thread:join-thread (sb-thread:make-thread (lambda () (error \"boom\")) :name \"w7\") "
     ":default :gone)",
     "", ":GONE", NULL, LIVES, "; thread \"w7\" ended by SIMPLE-ERROR: boom (error ", NULL},
    {"terminate the main thread", "(sb-thread:terminate-thread sb-thread:*current-thread*)",
     "PROCESS-EXIT", "exit code 1", NULL, ROLLBACK, NULL, NULL},
    {"delete-package", "(delete-package :cl-user)", "SESSION-UNUSABLE", NULL, NULL, ROLLBACK, NULL,
     "unusable"},
    {"redefine car",
     "(sb-ext:without-package-locks (setf (symbol-function 'cl:car) (lambda (x) x)))",
     "SESSION-UNUSABLE|PROCESS-EXIT", NULL, NULL, ROLLBACK, NULL, NULL},
    {"close standard output", "(close *standard-output*) 1", "", "1", NULL, LIVES, NULL, NULL},
    {"output afterwards", "(princ \"still here\") 1", "", "1", NULL, LIVES, "still here", NULL},
    {"10 MB of output", "(dotimes (i 10000000 :done) (write-char #\\a))", "", ":DONE", NULL, LIVES,
     "aaa", NULL},
    {"circular value", "(let ((l (list 1 2 3))) (setf (cdddr l) l) l)", "", "#1=(1 2 3 . #1#)",
     NULL, LIVES, NULL, NULL},
    {"deep value", "(let ((l nil)) (dotimes (i 1000000 l) (setf l (list l))))", "",
     "((((((((((#))))))))))", NULL, LIVES, NULL, NULL},
};

static bool type_fits(const char *types, const char *type)
{
    size_t length = strlen(type);
    for (const char *at = types; *at;) {
        size_t part = strcspn(at, "|");
        if (part == length && strncmp(at, type, part) == 0)
            return true;
        at += part + (at[part] == '|');
    }
    return false;
}

static bool contains(const char *text, const char *part)
{
    return !part || strstr(text, part);
}

static void check_state(struct driver *driver, const char *name)
{
    struct answer answer;
    driver_eval(driver, "(list (keep) *state*)", 5, &answer);
    check(answer.ok && strcmp(answer.values, "(42 (1 2 3))") == 0, "%s: the state is %s %s %s",
          name, answer.values, answer.type, answer.message);
}

static void run_row(struct driver *driver, const struct row *row)
{
    struct answer answer;
    // Rows about the heap need time on machines where fresh memory is slow.
    bool heap = strstr(row->types, "HEAP-");
    int64_t timeout = !heap && strstr(row->types, "EVALUATION-TIMEOUT") ? 1 : 30;
    driver_eval(driver, row->code, timeout, &answer);
    bool fits = row->types[0] ? type_fits(row->types, answer.ok ? "success" : answer.type) &&
                                    contains(answer.message, row->message)
                              : answer.ok && contains(answer.values, row->message);
    check(fits && answer.calls == 1, "%s: %s %s %s %s", row->name, answer.type, answer.message,
          answer.values, answer.notices);
    check(contains(answer.frames, row->frame), "%s: frames %s", row->name, answer.frames);
    check((row->fate == EITHER || (row->fate == ROLLBACK) == (answer.rollback[0] != 0)) &&
              contains(answer.rollback, row->reason),
          "%s: rollback %s", row->name, answer.rollback);
    check(contains(answer.output, row->output) || contains(answer.errors, row->output),
          "%s: output %.200s | %.200s", row->name, answer.output, answer.errors);
    // Not how fast, which depends on the machine, but that nothing waits for ever.
    check(answer.milliseconds < (double)(timeout + 30) * 1000, "%s: took %.0f ms", row->name,
          answer.milliseconds);
    check_state(driver, row->name);
}

// --- rows that take more than one call -----------------------------------------------------------

static void idle_kill(struct driver *driver)
{
    struct answer answer;
    driver_settle(driver);
    kill(driver_head(driver, NULL), SIGKILL);
    driver_run_for(driver, 100);
    driver_eval(driver, "(keep)", 5, &answer);
    check(answer.ok && strcmp(answer.values, "42") == 0, "idle kill: %s %s", answer.values,
          answer.message);
    check(strstr(answer.notices, "the session's process died while idle (signal 9); rolled back to "
                                 "snapshot "),
          "idle kill: notice %s", answer.notices);
    check_state(driver, "idle kill");
}

static void file_offsets(struct driver *driver)
{
    char code[512];
    char path[] = "/tmp/cadre-offsets-XXXXXX";
    int fd = mkstemp(path);
    struct answer answer;
    snprintf(code, sizeof(code),
             "(defvar *out* (open \"%s\" :direction :output :if-exists :overwrite)) (format *out* "
             "\"A~%%\") (finish-output *out*)",
             path);
    driver_eval(driver, code, 5, &answer);
    driver_eval(driver, "(format *out* \"B~%\") (finish-output *out*)", 5, &answer);
    driver_eval(driver, "(format *out* \"C doomed~%\") (finish-output *out*) (exit :abort t)", 5,
                &answer);
    check(answer.rollback[0], "offsets: no rollback");
    driver_eval(driver, "(format *out* \"D~%\") (finish-output *out*)", 5, &answer);
    char text[64] = "";
    ssize_t length = pread(fd, text, sizeof(text) - 1, 0);
    check(length > 0 && strncmp(text, "A\nB\nD\n", 6) == 0, "offsets: file is %s", text);
    close(fd);
    unlink(path);
    driver_eval(driver, "(close *out*)", 5, &answer);
    check_state(driver, "offsets");
}

static void lost_threads(struct driver *driver)
{
    struct answer answer;
    driver_eval(driver,
                "(dotimes (i 4) (sb-thread:make-thread (lambda () (loop (make-list 50))) :name "
                "(format nil \"conser-~d\" i))) 1",
                5, &answer);
    check(answer.ok, "threads: %s", answer.message);
    driver_eval(driver, "(exit :abort t)", 5, &answer);
    check(strstr(answer.lost_threads, "conser-0") && strstr(answer.lost_threads, "conser-3"),
          "threads: lost %s", answer.lost_threads);
    check_state(driver, "lost threads");
}

static void leftovers(struct driver *driver)
{
    struct answer answer;
    driver_settle(driver);
    int before = count_children();
    driver_eval(driver, "(sb-ext:run-program \"/bin/sleep\" '(\"1000\") :wait nil) (exit :abort t)",
                5, &answer);
    driver_settle(driver);
    // Killed processes are reaped within a second or two; until then they are zombies.
    for (int tries = 0; tries < 30 && count_children() > before; tries++)
        driver_run_for(driver, 100);
    check(answer.rollback[0] && count_children() <= before, "leftovers: %d processes, before %d",
          count_children(), before);
    check_state(driver, "leftovers");
}

static void expect_value(struct driver *driver, const char *name, const char *code,
                         const char *values, struct answer *answer)
{
    driver_eval(driver, code, 5, answer);
    check(answer->ok && strcmp(answer->values, values) == 0, "%s: %s %s %s", name, answer->values,
          answer->type, answer->message);
}

// A timer that never ends keeps the idle head from reading: the call that comes then is not to
// blame.
static void runaway_timer(struct driver *driver)
{
    struct answer answer;
    expect_value(driver, "timer",
                 "(defvar *timed* 0) (defun spin-timer () (incf *timed*) (loop)) "
                 "(sb-ext:schedule-timer (sb-ext:make-timer 'spin-timer) 0.1 :repeat-interval 0.1) "
                 "1",
                 "1", &answer);
    driver_run_for(driver, 300);
    driver_eval(driver, "(keep)", 1, &answer);
    check(answer.ok && strcmp(answer.values, "42") == 0 && !answer.rollback[0],
          "call after a runaway timer: %s %s %s", answer.values, answer.type, answer.message);
    check(strstr(answer.notices, "the session's process did not take the call within 2 seconds and "
                                 "was ended; its timers are unscheduled; rolled back to snapshot "),
          "runaway timer: notice %s", answer.notices);
    check(strstr(answer.errors, "; timer ended by EVALUATION-TIMEOUT: The timer did not "
                                "end while a call waited. (error "),
          "runaway timer: %s", answer.errors);
    struct region *region = region_new(8 << 20);
    value error = vector_at(session_errors(driver->manager, NULL, region), 0);
    value frames = map_get(error, "frames");
    struct span call = vector_count(frames) > 0 ? value_text(map_get(vector_at(frames, 0), "call"))
                                                : (struct span){"", 0};
    check(span_equal_text(call, "(SPIN-TIMER)"), "runaway timer: %zu frames, the first %.*s",
          vector_count(frames), (int)call.length, call.data);
    region_free(region);
    driver_run_for(driver, 300);
    expect_value(driver, "it does not run again", "(list *timed* (sb-ext:list-all-timers))",
                 "(0 NIL)", &answer);
    check(!answer.notices[0], "it does not run again: %s", answer.notices);
    check_state(driver, "runaway timer");
}

// A timer that is only slow delays the call, a cancelled call does not wait for one that never
// ends, and a copy of a snapshot runs none.
static void other_timers(struct driver *driver)
{
    struct answer answer, cancelled;
    expect_value(
        driver, "slow timer",
        "(sb-ext:schedule-timer (sb-ext:make-timer (lambda () (sleep 0.8) (incf *timed*))) "
        "0.1) 1",
        "1", &answer);
    driver_run_for(driver, 200);
    driver_eval(driver, "*timed*", 1, &answer);
    check(answer.ok && strcmp(answer.values, "1") == 0 && !answer.notices[0],
          "slow timer: %s %s %s", answer.values, answer.message, answer.notices);

    expect_value(driver, "cancelled",
                 "(sb-ext:schedule-timer (sb-ext:make-timer 'spin-timer) 0.1) 1", "1", &answer);
    driver_run_for(driver, 200);
    uint64_t ticket = driver_start(driver, NULL, "(incf *timed*)", 0, &cancelled);
    driver_run_for(driver, 50);
    session_cancel(driver->manager, ticket);
    expect_value(driver, "after a cancelled call", "*timed*", "1", &answer);
    check(cancelled.calls == 0, "after a cancelled call: it was answered");

    expect_value(driver, "copy", "(sb-ext:schedule-timer (sb-ext:make-timer 'spin-timer) 1) 1", "1",
                 &answer);
    driver_settle(driver);
    struct region *region = region_new(8 << 20);
    value params = map_put_text(region, map_new(region), "code",
                                value_string_text(region, "(eval-when (:compile-toplevel) "
                                                          "(sleep 1.5))"));
    struct session_request request = {
        .kind = SESSION_COPY, .op = "compile", .params = params, .timeout = 4};
    driver_call(driver, &request, &answer);
    check(answer.ok, "timer in a copy: %s %s", answer.type, answer.message);
    region_free(region);
    driver_eval(driver, "(keep)", 1, &answer);
    check_state(driver, "other timers");
}

void run_matrix(const char *only)
{
    struct driver driver;
    struct answer answer;
    int descriptors = count_descriptors();
    driver_open(&driver, &(struct session_config){0});
    driver_eval(&driver, "(require :sb-posix) (defun keep () 42) (defvar *state* (list 1 2 3))", 20,
                &answer);
    check(answer.ok, "set-up: %s %s", answer.type, answer.message);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if (!only || strstr(rows[i].name, only))
            run_row(&driver, &rows[i]);
    }
    if (!only) {
        idle_kill(&driver);
        file_offsets(&driver);
        lost_threads(&driver);
        leftovers(&driver);
        runaway_timer(&driver);
        other_timers(&driver);
    }
    driver_close(&driver);
    check_no_children();
    check(count_descriptors() == descriptors, "descriptors: %d, before %d", count_descriptors(),
          descriptors);
}
