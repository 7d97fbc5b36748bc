// Snapshots beside threads that are in the middle of what takes locks: of malloc, of threads, of
// files, of the compiler. After a rollback, in which these threads are gone, nothing may hang.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"

struct crowd {
    const char *name;
    const char *code;  // of each thread
};

static const struct crowd crowds[] = {
    {"malloc", "(loop (let ((p (sb-alien:alien-funcall (sb-alien:extern-alien \"malloc\" (function "
               "sb-alien:unsigned-long sb-alien:unsigned-long)) (+ 2000 (random 100000))))) "
               "(sb-alien:alien-funcall (sb-alien:extern-alien \"free\" (function sb-alien:void "
               "sb-alien:unsigned-long)) p)))"},
    {"threads", "(loop (sb-thread:join-thread (sb-thread:make-thread (lambda () 1))))"},
    {"files", "(loop (with-open-file (s (format nil \"/tmp/no-such-~d\" (random 100000)) "
              ":if-does-not-exist nil) s) (directory \"/usr/*.*\") (probe-file \"/usr/share/\"))"},
    {"compiler", "(loop (compile nil `(lambda (x) (list x ,(random 1000)))))"},
    {"programs", "(loop (sb-ext:run-program \"/bin/true\" '()))"},
    {"stdio",
     "(loop (let ((f (sb-alien:alien-funcall (sb-alien:extern-alien \"fopen\" (function "
     "sb-alien:unsigned-long sb-alien:c-string sb-alien:c-string)) \"/dev/null\" \"re\"))) "
     "(sb-alien:alien-funcall (sb-alien:extern-alien \"fclose\" (function sb-alien:int "
     "sb-alien:unsigned-long)) f) (sb-posix:setenv \"A\" \"b\" 1)))"},
};

static const char *const USE_EVERYTHING =
    "(list (sb-ext:process-exit-code (sb-ext:run-program \"/bin/true\" '()))"
    " (sb-thread:join-thread (sb-thread:make-thread (lambda () 1)))"
    " (and (probe-file \"/usr/\") (directory \"/usr/*.*\") (with-open-file (s \"/etc/passwd\") "
    "(and (read-line s) t)))"
    " (funcall (compile nil '(lambda () 5)))"
    " (sb-alien:alien-funcall (sb-alien:extern-alien \"free\" (function sb-alien:int "
    "sb-alien:unsigned-long)) (sb-alien:alien-funcall (sb-alien:extern-alien \"malloc\" (function "
    "sb-alien:unsigned-long sb-alien:unsigned-long)) 500000))"
    " (gc))";

static void expect_all_works(struct driver *driver, const char *when, long round)
{
    struct answer answer;
    driver_eval(driver, USE_EVERYTHING, 20, &answer);
    check(answer.ok, "%s, round %ld: %s %s", when, round, answer.type, answer.message);
    check(strncmp(answer.values, "(0 1 T 5 ", 9) == 0, "%s, round %ld: %s", when, round,
          answer.values);
}

// The number of rounds whose effect is there at the end. On a busy machine a snapshot may not be made
// in its time; then the rollback says that it has cost the evaluations before it, too.
static long run_beside(struct driver *driver, const struct crowd *crowd, long rounds)
{
    struct answer answer;
    char code[1024];
    long kept = 0;
    unsigned failed_before = failed;
    snprintf(code, sizeof(code), "(dotimes (i 3) (sb-thread:make-thread (lambda () %s)))",
             crowd->code);
    for (long round = 0; round < rounds && failed == failed_before; round++) {
        driver_eval(driver, code, 20, &answer);
        check(answer.ok, "%s, round %ld: %s %s", crowd->name, round, answer.type, answer.message);
        driver_eval(driver, "(setf *round* (1+ *round*))", 20, &answer);
        check(answer.ok, "%s, round %ld: %s %s", crowd->name, round, answer.type, answer.message);
        driver_settle(driver);
        driver_eval(driver, "(sb-ext:exit :abort t)", 20, &answer);
        check(answer.rollback[0] && answer.lost_threads[0], "%s, round %ld: no rollback: %s %s",
              crowd->name, round, answer.type, answer.notices);
        kept += answer.lost[0] == '\0';
        expect_all_works(driver, crowd->name, round);
    }
    return kept;
}

void run_locks(long rounds, const char *only)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (size_t i = 0; i < sizeof(crowds) / sizeof(crowds[0]); i++) {
        if (only && strcmp(only, crowds[i].name) != 0)
            continue;
        struct driver driver;
        struct answer answer;
        driver_open(&driver, &(struct session_config){0});
        driver_eval(&driver, "(defvar *round* 0)", 20, &answer);
        long kept = run_beside(&driver, &crowds[i], rounds);
        driver_eval(&driver, "*round*", 20, &answer);
        check(kept > 0 && atol(answer.values) == kept, "%s: *round* is %s after %ld of %ld rounds",
              crowds[i].name, answer.values, kept, rounds);
        driver_close(&driver);
    }
    check_no_children();
}
