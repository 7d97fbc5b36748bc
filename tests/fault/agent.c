// User code that redefines functions of the agent, in spite of their package lock: the evaluation is
// undone or harmless, and the calls after it are answered from the state before it.
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "cases.h"

#define REDEFINE(name, body)                                                                      \
    "(sb-ext:without-package-locks (setf (fdefinition 'cadre-agent::" name ") (lambda (&rest r) " \
    "(declare (ignorable r)) " body ")))"

static const char *const redefinitions[] = {
    REDEFINE("perform-request", "nil"),
    REDEFINE("perform-request", "(error \"broken\")"),
    REDEFINE("perform-request", "(throw :nowhere nil)"),
    REDEFINE("perform-request", "(loop)"),
    REDEFINE("perform-call", "nil"),
    REDEFINE("make-request-call", "nil"),
    REDEFINE("find-operation", "nil"),
    REDEFINE("answer-call", "nil"),
    REDEFINE("result-object", "nil"),
    REDEFINE("guarded", "nil"),
    REDEFINE("take-snapshot", "nil"),
    REDEFINE("receive-message", "nil"),
    REDEFINE("write-json", "nil"),
};

// At most one call may pay for it with its time limit.
void run_agent(void)
{
    struct driver driver;
    struct answer answer;
    driver_open(&driver, &(struct session_config){0});
    driver_eval(&driver, "(defvar *x* 42)", 30, &answer);
    for (size_t i = 0; i < COUNT_OF(redefinitions); i++) {
        driver_eval(&driver, redefinitions[i], 30, &answer);
        driver_settle(&driver);
        driver_eval(&driver, "*x*", 3, &answer);
        if (!answer.ok)
            driver_eval(&driver, "*x*", 30, &answer);
        check(answer.ok && strcmp(answer.values, "42") == 0, "%s: then %s %s %s", redefinitions[i],
              answer.values, answer.type, answer.message);
        driver_settle(&driver);
        driver_rollback(&driver, 1, &answer);
        check(answer.ok, "%s: rollback: %s", redefinitions[i], answer.message);
    }
    // Definitions that work are the user's to make.
    driver_eval(
        &driver,
        "(sb-ext:without-package-locks (let ((before (fdefinition "
        "'cadre-agent::perform-request))) (setf (fdefinition 'cadre-agent::perform-request) "
        "(lambda (&rest r) (incf *x*) (apply before r)))))",
        30, &answer);
    check(answer.ok, "a wrapper: %s", answer.message);
    driver_settle(&driver);
    driver_eval(&driver, "(> *x* 42)", 30, &answer);
    check(answer.ok && strcmp(answer.values, "T") == 0 && !answer.notices[0],
          "a wrapper is not kept: %s %s", answer.values, answer.notices);
    driver_close(&driver);
    check_no_children();
}
