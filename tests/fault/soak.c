// Random operations on one session - changes, crashes after a doomed change, rollbacks to a random
// kept snapshot - against a model. After every operation the session must equal the model.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "cases.h"
#include "random.h"

enum { TIMED = 100 };

// The state after each evaluation, as a linked list of pushed numbers: states share their tails.
struct state {
    int parent;  // index of the state before, -1 = the empty list
    int64_t number;
    int64_t length;
    int64_t sum;
};

struct model {
    struct state *states;
    int count;
    int current;
    int64_t *evaluation_state;  // evaluation number → state
    int64_t evaluations;
};

struct times {
    double times[TIMED];
    size_t count;
};

static int compare_times(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

// Processor time, and of the quicker changes, because other tests may keep the machine busy.
static double lower_quartile(struct times *times)
{
    if (times->count == 0)
        return 0;
    qsort(times->times, times->count, sizeof(times->times[0]), compare_times);
    return times->times[times->count / 4];
}

static int model_push(struct model *model, int64_t number)
{
    struct state *parent = &model->states[model->current];
    model->states[model->count] =
        (struct state){model->current, number, parent->length + 1, parent->sum + number};
    return model->count++;
}

static void model_after(struct model *model, const struct answer *answer, int state)
{
    CHECK(answer->evaluation > 0 && answer->evaluation < model->evaluations);
    model->current = state;
    model->evaluation_state[answer->evaluation] = state;
}

static void compare(struct driver *driver, struct model *model, long operation, const char *what)
{
    struct answer answer;
    char expected[128];
    const struct state *state = &model->states[model->current];
    driver_eval(driver, "(list (length *log*) (first *log*) (reduce #'+ *log*))", 30, &answer);
    if (state->length == 0)
        snprintf(expected, sizeof(expected), "(0 NIL 0)");
    else
        snprintf(expected, sizeof(expected), "(%lld %lld %lld)", (long long)state->length,
                 (long long)state->number, (long long)state->sum);
    check(answer.ok && strcmp(answer.values, expected) == 0,
          "operation %ld (%s): %s %s %s, expected %s; %s", operation, what, answer.values,
          answer.type, answer.message, expected, answer.notices);
    if (answer.ok)
        model_after(model, &answer, model->current);
}

static double change(struct driver *driver, struct model *model, struct random *random, long i)
{
    static const char *const formats[] = {
        "(push %1$ld *log*)",
        "(progn (defun f%1$ld (x) (list x %1$ld)) (push (second (f%1$ld 1)) *log*))",
        "(progn (setf (gethash (mod %1$ld 50) *h*) (make-list 1000)) (dotimes (j 20000) "
        "(make-array "
        "20)) (push %1$ld *log*))",
        "(progn (gc) (push %1$ld *log*))",
        "(progn (defmethod m%1$ld ((o k)) (v o)) (push (m%1$ld (make-instance 'k :v %1$ld)) "
        "*log*))",
        "(progn (setf (gethash (intern (format nil \"SYM~d\" (mod %1$ld 500))) *h*) (make-pt :x 1 "
        ":y "
        "2)) (push %1$ld *log*))",
    };
    char code[512];
    char expected[32];
    struct answer answer;
    const char *format = formats[random_below(random, sizeof(formats) / sizeof(formats[0]))];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(code, sizeof(code), format, i);
#pragma GCC diagnostic pop
    char whole[600];
    snprintf(whole, sizeof(whole), "%s (first *log*)", code);
    driver_eval(driver, whole, 30, &answer);
    snprintf(expected, sizeof(expected), "%ld", i);
    check(answer.ok && strcmp(answer.values, expected) == 0, "change %ld: %s %s %s", i,
          answer.values, answer.type, answer.message);
    if (answer.ok)
        model_after(model, &answer, model_push(model, i));
    return answer.run_milliseconds;
}

static void crash(struct driver *driver, struct random *random, long i)
{
    static const char *const codes[] = {
        "(push :doomed *log*) (exit :abort t)",
        "(push :doomed *log*) (sb-posix:kill (sb-posix:getpid) 9)",
        ("(push :doomed *log*) "
         "(sb-alien:alien-funcall (sb-alien:extern-alien \"abort\" (function sb-alien:void)))"),
        "(push :doomed *log*) (gc :full t) (let ((l nil)) (dotimes (i 100000) (push i l))) (exit)",
        "(push :doomed *log*) (sb-sys:without-interrupts (loop))",
    };
    struct answer answer;
    // The hard timeout takes 1.4 s: one in sixteen.
    size_t which = random_below(random, 16) == 0 ? 4 : random_below(random, 4);
    driver_eval(driver, codes[which], which == 4 ? 1 : 30, &answer);
    check(!answer.ok && answer.rollback[0], "crash %ld (%zu): %s %s %s", i, which, answer.values,
          answer.type, answer.message);
}

static void roll_back(struct driver *driver, struct model *model, struct random *random, long i)
{
    driver_settle(driver);  // eviction is part of housekeeping
    struct region *region = region_new(64 << 20);
    value info = session_info(driver->manager, NULL, false, region);
    value snapshots = map_get_text(info, "snapshots");
    size_t count = vector_count(snapshots);
    CHECK(count > 0);
    value chosen = vector_at(snapshots, random_below(random, count));
    int64_t number = map_get_text(chosen, "number").integer;
    region_free(region);
    struct answer answer;
    driver_rollback(driver, number, &answer);
    check(answer.ok && answer.snapshot == number, "rollback %ld to %lld: %s %s", i,
          (long long)number, answer.code, answer.message);
    if (answer.ok)
        model->current = (int)model->evaluation_state[number];
}

void run_soak(long operations, unsigned long seed)
{
    struct driver driver;
    struct answer answer;
    struct random random = {seed};
    struct model model = {
        .states = calloc((size_t)operations + 2, sizeof(struct state)),
        .count = 1,
        .evaluations = 2 * operations + 16,
        .evaluation_state = calloc((size_t)operations * 2 + 16, sizeof(int64_t)),
    };
    CHECK(model.states && model.evaluation_state);
    model.states[0].parent = -1;
    struct times first = {0}, last = {0};
    long crashes = 0, rollbacks = 0;

    driver_open(&driver, &(struct session_config){0});
    driver_eval(&driver,
                "(require :sb-posix) (defvar *log* nil) (defvar *h* (make-hash-table)) (defstruct "
                "pt x y) (defclass k () ((v :initarg :v :accessor v)))",
                60, &answer);
    check(answer.ok, "set-up: %s", answer.message);
    // Snapshot 0 has none of this; the model does not go back there.
    struct session_limits limits = session_limits_default();
    session_limits_set(driver.manager, NULL, &limits);
    for (int i = 0; i < 20; i++)
        compare(&driver, &model, 0, "set-up");
    int descriptors = count_descriptors();
    int children = count_children();
    long resident = resident_kb();
    for (long i = 1; i <= operations; i++) {
        uint64_t choice = random_below(&random, 100);
        double took = 0;
        if (choice < 70) {
            took = change(&driver, &model, &random, i);
        } else if (choice < 85) {
            crash(&driver, &random, i);
            crashes++;
        } else {
            roll_back(&driver, &model, &random, i);
            rollbacks++;
        }
        if (choice < 70 && i <= TIMED)
            first.times[first.count++] = took;
        if (choice < 70 && i > operations - TIMED)
            last.times[last.count++] = took;
        compare(&driver, &model, i, choice < 70 ? "change" : choice < 85 ? "crash" : "rollback");
        if (failed > 10)
            break;
    }
    driver_settle(&driver);
    driver_run_for(&driver, 300);
    double early = lower_quartile(&first), late = lower_quartile(&last);
    printf(
        "%ld operations, %ld crashes, %ld rollbacks; a change takes %.2f ms, at the end %.2f ms; "
        "memory %ld -> %ld KB; descriptors %d -> %d; processes %d -> %d\n",
        operations, crashes, rollbacks, early, late, resident, resident_kb(), descriptors,
        count_descriptors(), children, count_children());
    check(late < 1.5 * early + 1, "changes became slower: %.2f ms, then %.2f ms", early, late);
    check(count_descriptors() <= descriptors + 4, "descriptors grew");
    check(count_children() <= children + 4, "processes grew");
    check(resident_kb() - resident < 8 * 1024, "memory grew by %ld KB", resident_kb() - resident);
    driver_close(&driver);
    check(count_children() == 0, "%d processes are left", count_children());
    free(model.states);
    free(model.evaluation_state);
}
