// Runs that pause, by the C API: resumed any number of times they give the Step of a run that never
// paused; what is not their text is refused.
#include <cadre.h>
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cadre_support.h"

enum { PAUSES = 1000, CALLS_MAX = 64 };

// What the tools of a run do: how often each call was answered, and when there is no answer yet.
struct world {
    pthread_mutex_t lock;
    bool pauses;
    uint64_t random;
    int64_t answered[CALLS_MAX];
    size_t pause_count;
};

static bool wants_pause(struct world *world)
{
    world->random = world->random * 6364136223846793005u + 1442695040888963407u;
    return world->pauses && (world->random >> 33) % 3 == 0;
}

static int64_t argument(cadre_call *call, const char *name)
{
    cadre_value item;
    int64_t number = 0;
    if (cadre_value_get(cadre_call_arguments(call), name, &item))
        cadre_value_integer(item, &number);
    return number;
}

// Pauses now and then; else gives n * n, a text, a failure, or its arguments.
static bool work(void *user, cadre_call *call)
{
    (void)user;
    struct world *world = cadre_call_user(call);
    int64_t n = argument(call, "n");
    pthread_mutex_lock(&world->lock);
    bool pauses = wants_pause(world);
    world->pause_count += pauses;
    if (!pauses && n >= 0 && n < CALLS_MAX)
        world->answered[n]++;
    pthread_mutex_unlock(&world->lock);
    if (pauses)
        return cadre_call_pause(call);
    switch (n % 4) {
    case 0: return cadre_call_return_integer(call, n * n);
    case 1: return cadre_call_return_string(call, "text \"é\"\n", 10);
    case 2: return cadre_call_fail(call, "it is even");
    default: return cadre_call_return_value(call, cadre_call_arguments(call));
    }
}

static cadre_host *host_with_tools(void)
{
    cadre_host *host = cadre_host_new();
    cr_assert(cadre_host_add_tool(host, "work", work, NULL, NULL, NULL, CADRE_TOOL_SKIP));
    cr_assert(cadre_host_add_tool(host, "once", work, NULL, NULL, NULL,
                                  CADRE_TOOL_SKIP | CADRE_TOOL_CACHE));
    return host;
}

// Tools in order, in branches, cached, caught, with random numbers, the clock, atoms and memory.
static const char *const programs[] = {
    "(reduce (fn [all n] (conj all (attempt (tool/work {:n n})))) [] (range 12))",
    "(pmap (fn [n] [n (rand-int 1000000) (attempt (tool/work {:n n}))]) (range 10))",
    "(let [t (System/currentTimeMillis)\n"
    "      xs (mapv (fn [n] (get (tool/work {:n (+ 3 (* 4 n)) :t t}) \"t\")) (range 6))]\n"
    "  (def seen (count xs)) {:same (every? (fn [x] (= x t)) xs) :r (rand-int 1000000)})",
    "(pmap (fn [k] (mapv (fn [n] (:ok (attempt (tool/once {:n (mod (+ n k) 5)})))) (range 4)))\n"
    "      (range 4))",
    "(try (println \"begins\") (mapv (fn [n] (tool/work {:n n})) [4 8 3 6])\n"
    "  (catch e [(ex-message e) (tool/work {:n 12})]) (finally (tool/work {:n 16})))",
    "(let [a (atom 0)] (doseq [n (shuffle (range 8))] (swap! a + (* n (count (str (attempt "
    "(tool/work "
    "{:n n}))))))) @a)",
    "(:n (tool/work {:n 7 :key :keyword :set #{1 2}}))",
};
enum { PROGRAMS = sizeof(programs) / sizeof(programs[0]) };

static cadre_inputs *inputs_of(struct world *world)
{
    cadre_inputs *inputs = cadre_inputs_new();
    cadre_inputs_set_user(inputs, world);
    cadre_inputs_set_pausing(inputs, true);
    cr_assert(cadre_inputs_set_option(inputs, "seed", 42));
    cr_assert(cadre_inputs_set_option(inputs, "timeout", 60000));
    return inputs;
}

// The Step without what is measured, and the times that `t` is.
static char *step_text(cadre_step *step)
{
    char *text = strdup(cadre_step_json(step, NULL));
    cr_assert_not_null(text);
    static const char *const measured[] = {"\"duration_ms\":", "\"memory_bytes\":", "\"t\":"};
    for (size_t i = 0; i < sizeof(measured) / sizeof(measured[0]); i++)
        for (char *at = text; (at = strstr(at, measured[i])); at++)
            for (char *digit = at + strlen(measured[i]); *digit >= '0' && *digit <= '9'; digit++)
                *digit = '#';
    return text;
}

// Digits of different lengths: '#' runs become one.
static void squeeze(char *text)
{
    char *to = text;
    for (const char *from = text; *from; from++)
        if (*from != '#' || to == text || to[-1] != '#')
            *to++ = *from;
    *to = '\0';
}

static cadre_step *resume_to_the_end(cadre_host *host, const char *source, struct world *world)
{
    cadre_inputs *inputs = inputs_of(world);
    cadre_program *program = cadre_compile(host, source, strlen(source), inputs);
    cadre_step *step = cadre_run(program, inputs);
    for (const char *paused; (paused = cadre_run_paused(step, NULL));) {
        char *text = strdup(paused);
        cr_assert_str_eq(cadre_step_reason(step), "paused");
        cadre_step_free(step);
        cadre_program_free(program);
        cadre_inputs_free(inputs);
        inputs = inputs_of(world);
        program = cadre_compile(host, source, strlen(source), inputs);
        step = cadre_resume(program, inputs, text, strlen(text), NULL);
        cr_assert_not_null(step, "%s", text);
        free(text);
    }
    cadre_program_free(program);
    cadre_inputs_free(inputs);
    return step;
}

Test(cadre_pause, a_thousand_random_pauses_change_nothing)
{
    cadre_host *host = host_with_tools();
    struct world world = {.random = 7};
    pthread_mutex_init(&world.lock, NULL);
    char *expected[PROGRAMS];
    for (size_t i = 0; i < PROGRAMS; i++) {
        cadre_step *step = resume_to_the_end(host, programs[i], &world);
        expected[i] = step_text(step);
        squeeze(expected[i]);
        cadre_step_free(step);
    }
    world.pauses = true;
    for (size_t i = 0; world.pause_count < PAUSES; i++) {
        memset(world.answered, 0, sizeof(world.answered));
        cadre_step *step = resume_to_the_end(host, programs[i % PROGRAMS], &world);
        char *text = step_text(step);
        squeeze(text);
        cr_assert_str_eq(text, expected[i % PROGRAMS]);
        if (i % PROGRAMS == 0)
            for (size_t n = 0; n < 12; n++)
                cr_assert_eq(world.answered[n], 1, "call %zu was made %d times", n,
                             (int)world.answered[n]);
        free(text);
        cadre_step_free(step);
    }
    for (size_t i = 0; i < PROGRAMS; i++)
        free(expected[i]);
    pthread_mutex_destroy(&world.lock);
    cadre_host_free(host);
}

struct paused_run {
    cadre_host *host;
    cadre_inputs *inputs;
    cadre_program *program;
    cadre_step *step;
    struct world world;
};

static bool never(void *user, cadre_call *call)
{
    (void)user;
    return cadre_call_pause(call);
}

static struct paused_run pause_at(const char *source)
{
    struct paused_run run = {.host = cadre_host_new(), .inputs = cadre_inputs_new()};
    cr_assert(cadre_host_add_tool(run.host, "never", never, NULL, NULL, NULL, CADRE_TOOL_SKIP));
    cadre_inputs_set_pausing(run.inputs, true);
    run.program = cadre_compile(run.host, source, strlen(source), run.inputs);
    run.step = cadre_run(run.program, run.inputs);
    return run;
}

static void paused_run_free(struct paused_run *run)
{
    cadre_step_free(run->step);
    cadre_program_free(run->program);
    cadre_inputs_free(run->inputs);
    cadre_host_free(run->host);
}

static void check_resumed(struct paused_run *run, const char *results, const char *printed)
{
    const char *text = cadre_run_paused(run->step, NULL);
    cadre_step *step = cadre_resume(run->program, run->inputs, text, strlen(text), results);
    cr_assert_not_null(step);
    cr_expect_str_eq(cadre_step_printed(step, NULL), printed);
    cr_expect_null(cadre_run_paused(step, NULL));
    cadre_step_free(step);
}

Test(cadre_pause, the_call_is_answered_from_elsewhere)
{
    struct paused_run run =
        pause_at("(try (:a (tool/never {:x [1 :k]})) (catch e (ex-message e)) (finally 1))");
    cr_assert_not(cadre_step_ok(run.step));
    size_t length;
    const char *text = cadre_run_paused(run.step, &length);
    cr_assert_eq(strlen(text), length);
    cr_assert_not_null(strstr(text, "\"call\":{\"name\":\"never\",\"args\":{\"x\":[1,\"k\"]}}"));
    check_resumed(&run, "[{\"value\": {\"a\": [1.5, null]}}]", "[1.5 nil]");
    check_resumed(&run, "[{\"error\": \"no such account\"}]",
                  "\"tool 'never' failed: no such account\"");
    paused_run_free(&run);
}

Test(cadre_pause, what_is_no_paused_run_of_the_program_is_refused)
{
    struct paused_run run = pause_at("(tool/never {})");
    size_t length;
    const char *text = cadre_run_paused(run.step, &length);
    cadre_program *other = cadre_compile(run.host, "(tool/never {:x 1})", 19, run.inputs);
    cr_expect_null(cadre_resume(other, run.inputs, text, length, NULL), "of another program");
    cadre_program_free(other);
    for (size_t cut = 0; cut < length; cut++)
        cr_expect_null(cadre_resume(run.program, run.inputs, text, cut, NULL));
    static const char *const wrong[] = {"", "[]", "{}", "null", "{\"version\":2}"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        cr_expect_null(cadre_resume(run.program, run.inputs, wrong[i], strlen(wrong[i]), NULL));
    static const char *const results[] = {
        "", "{}", "[]", "[1]", "[{}]", "[{\"error\":1}]", "[{\"value\":1},{\"value\":2}]"};
    for (size_t i = 0; i < sizeof(results) / sizeof(results[0]); i++)
        cr_expect_null(cadre_resume(run.program, run.inputs, text, length, results[i]));
    paused_run_free(&run);
}

// Each byte of the text in turn is another one: refused, or a Step, and never more than that.
Test(cadre_pause, a_text_that_was_changed_does_no_harm)
{
    struct paused_run run =
        pause_at("(attempt (/ 1 0)) (System/currentTimeMillis) (rand) (tool/never {})");
    char *text = strdup(cadre_run_paused(run.step, NULL));
    size_t length = strlen(text);
    for (size_t i = 0; i < length; i++) {
        char byte = text[i];
        for (int change = 1; change < 128; change <<= 2) {
            text[i] = (char)(byte ^ change);
            cadre_step_free(cadre_resume(run.program, run.inputs, text, length, "[{\"value\":1}]"));
        }
        text[i] = byte;
    }
    free(text);
    paused_run_free(&run);
}

Test(cadre_pause, without_leave_a_pause_is_a_failure)
{
    cadre_host *host = cadre_host_new();
    cr_assert(cadre_host_add_tool(host, "never", never, NULL, NULL, NULL, CADRE_TOOL_SKIP));
    check_printed(host, "(try (tool/never {}) (catch e (ex-message e)))", NULL,
                  "\"tool 'never' failed: there is no answer yet, and this run may not pause\"");
    cadre_step *step = eval(host, "1", NULL);
    cr_expect_null(cadre_run_paused(step, NULL));
    cr_expect_null(cadre_run_paused(NULL, NULL));
    cadre_step_free(step);
    cadre_host_free(host);
}

// Gives the value of another step.
static bool give_value(void *user, cadre_call *call)
{
    return cadre_call_return_value(call, cadre_step_return(user));
}

Test(cadre_pause, results_are_data)
{
    cadre_step *set = eval(NULL, "{:a #{1 :k} :b 1.5}", NULL);
    cadre_step *function = eval(NULL, "{:f (fn [x] x)}", NULL);
    cadre_host *host = cadre_host_new();
    cr_assert(cadre_host_add_tool(host, "set", give_value, set, NULL, NULL, CADRE_TOOL_SKIP));
    cr_assert(cadre_host_add_tool(host, "f", give_value, function, NULL, NULL, CADRE_TOOL_SKIP));
    cadre_inputs *inputs = cadre_inputs_new();
    cadre_inputs_set_pausing(inputs, true);
    check_kind(host, "(tool/f {})", inputs, "tool_error");
    check_printed(host, "(tool/set {})", inputs, "{:a #{1 :k} :b 1.5}");
    cadre_inputs_free(inputs);
    cadre_host_free(host);
    cadre_step_free(function);
    cadre_step_free(set);
}
