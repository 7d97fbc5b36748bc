// Snapshots, crashes and rollbacks beside four threads that cons and intern.
#include <stdio.h>
#include <string.h>

#include "cases.h"

#define START_THREADS                                                                             \
    "(dotimes (i 4) (sb-thread:make-thread (lambda () (let ((l nil)) (loop (push (make-list 50) " \
    "l) "                                                                                         \
    "(when (> (length l) 200) (setq l nil)) (intern (format nil \"S~D\" (random 1000)) "          \
    ":cl-user)))) "                                                                               \
    ":name (format nil \"conser-~d\" i)))"

void run_threads(long transactions)
{
    struct driver driver;
    struct answer answer;
    long rollbacks = 0;
    driver_open(&driver, &(struct session_config){0});
    driver_eval(&driver,
                "(defun keep () 42) (defvar *h* (make-hash-table :synchronized t)) " START_THREADS,
                60, &answer);
    check(answer.ok, "set-up: %s", answer.message);
    for (long i = 0; i < transactions && failed < 10; i++) {
        char code[256];
        if (i % 10 < 9) {
            snprintf(
                code, sizeof(code),
                "(progn (setf (gethash %ld *h*) %ld) (defun f%ld () %ld) (list (keep) (f%ld)))", i,
                i, i, i, i);
            char expected[64];
            snprintf(expected, sizeof(expected), "(42 %ld)", i);
            driver_eval(&driver, code, 30, &answer);
            check(answer.ok && strcmp(answer.values, expected) == 0, "transaction %ld: %s %s %s", i,
                  answer.values, answer.type, answer.message);
            continue;
        }
        driver_eval(&driver, "(sb-ext:exit :abort t)", 30, &answer);
        rollbacks++;
        check(answer.rollback[0] && strstr(answer.lost_threads, "conser-0") &&
                  strstr(answer.lost_threads, "conser-3"),
              "crash %ld: %s lost %s; %s", i, answer.type, answer.lost_threads, answer.notices);
        snprintf(code, sizeof(code),
                 "(list (keep) (f%ld) (gc) (length (sb-thread:list-all-threads)))", i - 1);
        char expected[64];
        snprintf(expected, sizeof(expected), "(42 %ld NIL 1)", i - 1);
        driver_eval(&driver, code, 30, &answer);
        check(answer.ok && strcmp(answer.values, expected) == 0, "after crash %ld: %s %s %s", i,
              answer.values, answer.type, answer.message);
        driver_eval(&driver, START_THREADS, 30, &answer);
        check(answer.ok, "threads again %ld: %s %s", i, answer.type, answer.message);
    }
    printf("%ld transactions, %ld rollbacks\n", transactions, rollbacks);
    driver_close(&driver);
    check_no_children();
}
