// Regexes of programs: with machine code and without, a call gives the same value or the same failure.
#include <inttypes.h>
#include <stdlib.h>

#include "base/array.h"
#include "cadre_support.h"

enum {
    PLENTY = 100 * 1024 * 1024,
    NO_MACHINE_CODE = 250 * 1024,  // bytes of memory with which a run makes none (JIT_STACK_LIMIT)
};

struct subject {  // `count` times the unit, and the tail, as JSON writes them
    const char *unit;
    int count;
    const char *tail;
};

static const struct subject subjects[] = {
    {"a", 24, "b"},       {"a", 6000, "b"},          {"ab", 12, "-c"},
    {"aaaab ", 800, ""},  {"key=value\\n", 500, ""}, {"some words\\n", 450, "a@b"},
    {"x1y22 ", 900, "z"}, {"é!", 40, "ü"},           {"", 0, ""},
};

static const char *const calls[] = {
    "(re-find #\"(.*)=(.*)\" ctx/s)",
    "(re-find #\"(.*)[=:](.*)\" ctx/s)",
    "(re-find #\"(a+)+$\" ctx/s)",
    "(re-find #\"(?:a|b|ab)*c\" ctx/s)",
    "(re-find #\"(a|aa)+$\" ctx/s)",
    "(re-find #\"(?s).*@(b)\" ctx/s)",
    "(re-find #\"(?i)[A-C]+?Z\" ctx/s)",
    "(re-matches #\"(\\w+\\s*)*\" ctx/s)",
    "(count (re-seq #\"a*?b|(\\w)+(?= )\" ctx/s))",
    "(count (re-seq #\"(\\w+) (\\w+)\" ctx/s))",
    "(count (re-seq #\"\" ctx/s))",
    "(count (replace ctx/s #\"(\\w)(\\d*)\" \"$2$1\"))",
    "(count (split ctx/s #\"(?<=b)\\s|=\"))",
    "(re-find #\"(\\w*)\\1!\" ctx/s)",
};

static const int64_t limits[] = {1, 30, 1000, 20000, 100000};

// The context {"s": subject}.
static char *make_context(const struct subject *subject)
{
    size_t unit = strlen(subject->unit), tail = strlen(subject->tail);
    char *text = malloc((size_t)subject->count * unit + tail + 10);
    char *to = stpcpy(text, "{\"s\":\"");
    for (int i = 0; i < subject->count; i++)
        to = stpcpy(to, subject->unit);
    stpcpy(stpcpy(to, subject->tail), "\"}");
    return text;
}

static cadre_step *run(const char *call, const char *context, int64_t limit, int64_t memory)
{
    cadre_inputs *inputs = cadre_inputs_new();
    cr_assert(cadre_inputs_set_option(inputs, "regex_limit", limit));
    cr_assert(cadre_inputs_set_option(inputs, "max_memory", memory));
    cr_assert(cadre_inputs_set_option(inputs, "timeout", 60000));
    cr_assert(cadre_inputs_set_context(inputs, context, strlen(context)));
    cadre_step *step = eval(NULL, call, inputs);
    cadre_inputs_free(inputs);
    return step;
}

// The value or the kind of failure.
static const char *outcome(cadre_step *step)
{
    return cadre_step_ok(step) ? cadre_step_printed(step, NULL) : cadre_step_kind(step);
}

// Whether the limit was met.
static bool compare(const char *call, const char *context, int64_t limit)
{
    cadre_step *with = run(call, context, limit, PLENTY);
    cadre_step *without = run(call, context, limit, NO_MACHINE_CODE);
    bool is_limited = strcmp(outcome(with), "regex_limit_exceeded") == 0;
    // The interpreter needs more memory for a match.
    if (strcmp(outcome(without), "memory_exceeded") != 0)
        cr_expect_str_eq(outcome(with), outcome(without), "%s of %.40s, limit %" PRId64, call,
                         context, limit);
    cadre_step_free(with);
    cadre_step_free(without);
    return is_limited;
}

Test(regex, machine_code_changes_nothing, .timeout = 600)
{
    size_t limited = 0;
    for (size_t i = 0; i < COUNT_OF(subjects); i++) {
        char *context = make_context(&subjects[i]);
        for (size_t j = 0; j < COUNT_OF(calls); j++)
            for (size_t k = 0; k < COUNT_OF(limits); k++)
                limited += compare(calls[j], context, limits[k]);
        free(context);
    }
    cr_expect_gt(limited, 10, "only %zu calls met the limit", limited);
}
