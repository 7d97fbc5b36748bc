// Random operations on one session - changes, crashes after a doomed change, rollbacks to a random
// kept snapshot - against a model. After every operation the session must equal the model.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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

// The last of the kinds is a piece of work of our own, which tells how fast the machine is just
// now.
enum { CHANGES = 6, MACHINE = CHANGES, KINDS };

struct times {
    double times[KINDS][TIMED];
    size_t counts[KINDS];
};

static int compare_times(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median(struct times *times, size_t kind)
{
    size_t count = times->counts[kind];
    qsort(times->times[kind], count, sizeof(double), compare_times);
    return times->times[kind][count / 2];
}

// Processor time of one change of each kind that both have, in units of our own work.
static double cost(struct times *times, const struct times *other)
{
    double sum = 0;
    for (size_t kind = 0; kind < CHANGES; kind++) {
        if (times->counts[kind] && other->counts[kind])
            sum += median(times, kind);
    }
    return sum / median(times, MACHINE);
}

static double work_milliseconds(void)
{
    struct timespec start, end;
    struct random random = {1};
    uint64_t sum = 0;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start);
    for (int i = 0; i < 200000; i++)
        sum ^= random_next(&random);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
    CHECK(sum != 0);
    return (double)(end.tv_sec - start.tv_sec) * 1e3 + (double)(end.tv_nsec - start.tv_nsec) / 1e6;
}

static void add_time(struct times *times, size_t kind, double milliseconds)
{
    times->times[kind][times->counts[kind]++] = milliseconds;
    times->times[MACHINE][times->counts[MACHINE]++] = work_milliseconds();
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

// `times` may be NULL.
static void change(struct driver *driver, struct model *model, struct random *random, long i,
                   struct times *times)
{
    static const char *const formats[CHANGES] = {
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
    size_t kind = random_below(random, CHANGES);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(code, sizeof(code), formats[kind], i);
#pragma GCC diagnostic pop
    char whole[600];
    snprintf(whole, sizeof(whole), "%s (first *log*)", code);
    driver_eval(driver, whole, 30, &answer);
    snprintf(expected, sizeof(expected), "%ld", i);
    check(answer.ok && strcmp(answer.values, expected) == 0, "change %ld: %s %s %s", i,
          answer.values, answer.type, answer.message);
    if (answer.ok)
        model_after(model, &answer, model_push(model, i));
    if (times)
        add_time(times, kind, answer.run_milliseconds);
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
    driver_settle(driver);  // eviction comes with the snapshot
    struct region *region = region_new(64 << 20);
    value info = session_info(driver->manager, NULL, false, region);
    value snapshots = map_get(info, "snapshots");
    size_t count = vector_count(snapshots);
    CHECK(count > 0);
    value chosen = vector_at(snapshots, random_below(random, count));
    int64_t number = map_get(chosen, "number").integer;
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
    static struct times first, last;
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
        if (choice < 70) {
            change(&driver, &model, &random, i,
                   i <= TIMED               ? &first
                   : i > operations - TIMED ? &last
                                            : NULL);
        } else if (choice < 85) {
            crash(&driver, &random, i);
            crashes++;
        } else {
            roll_back(&driver, &model, &random, i);
            rollbacks++;
        }
        compare(&driver, &model, i, choice < 70 ? "change" : choice < 85 ? "crash" : "rollback");
        if (failed > 10)
            break;
    }
    driver_settle(&driver);
    driver_run_for(&driver, 300);
    double early = cost(&first, &last), late = cost(&last, &first);
    printf("%ld operations, %ld crashes, %ld rollbacks; the changes cost %.1f, at the end %.1f; "
           "memory %ld -> %ld KB; descriptors %d -> %d; processes %d -> %d\n",
           operations, crashes, rollbacks, early, late, resident, resident_kb(), descriptors,
           count_descriptors(), children, count_children());
    check(late < 1.5 * early, "changes became slower: %.1f, then %.1f", early, late);
    check(count_descriptors() <= descriptors + 4, "descriptors grew");
    check(count_children() <= children + 4, "processes grew");
    check(resident_kb() - resident < 8 * 1024, "memory grew by %ld KB", resident_kb() - resident);
    driver_close(&driver);
    check_no_children();
    free(model.states);
    free(model.evaluation_state);
}
