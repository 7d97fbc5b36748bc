// Tools of the C API: what they get and return, how they fail, threads, tools that call back.
#include <cadre.h>
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "cadre_support.h"

static bool add(void *user, cadre_call *call)
{
    int64_t a = 0, b = 0;
    cadre_value item;
    if (cadre_value_get(cadre_call_arguments(call), "a", &item))
        cadre_value_integer(item, &a);
    if (cadre_value_get(cadre_call_arguments(call), "b", &item))
        cadre_value_integer(item, &b);
    if (user)
        __atomic_fetch_add((int *)user, 1, __ATOMIC_RELAXED);
    return cadre_call_return_integer(call, a + b);
}

static bool refuse(void *user, cadre_call *call)
{
    (void)user;
    return cadre_call_fail(call, "not today");
}

static bool garbage(void *user, cadre_call *call)
{
    return cadre_call_return_json(call, user, strlen(user));
}

static bool invalid_text(void *user, cadre_call *call)
{
    (void)user;
    return cadre_call_return_string(call, "\xff\xfe", 2);
}

static bool silent(void *user, cadre_call *call)
{
    (void)user;
    (void)call;
    return false;
}

static bool echo_json(void *user, cadre_call *call)
{
    (void)user;
    size_t length;
    const char *json = cadre_call_arguments_json(call, &length);
    return cadre_call_return_string(call, json, length);
}

// Fails with the text under "text", as often as "times" says.
static bool fail_with(void *user, cadre_call *call)
{
    (void)user;
    cadre_value item;
    size_t length = 0;
    const char *text = NULL;
    int64_t times = 1;
    if (cadre_value_get(cadre_call_arguments(call), "text", &item))
        text = cadre_value_text(item, &length);
    if (cadre_value_get(cadre_call_arguments(call), "times", &item))
        cadre_value_integer(item, &times);
    char *whole = calloc(length * (size_t)times + 1, 1);
    for (int64_t i = 0; i < times; i++)
        memcpy(whole + length * (size_t)i, text, length);
    cadre_call_fail(call, whole);
    free(whole);
    return false;
}

static bool fail_in_latin1(void *user, cadre_call *call)
{
    (void)user;
    return cadre_call_fail(call, "accès refusé: caf\xe9");
}

// Does not hand on what the functions return.
static bool careless(void *user, cadre_call *call)
{
    const char *json = user;
    if (json)
        cadre_call_return_json(call, json, strlen(json));
    else
        cadre_call_fail(call, "broken");
    return true;
}

static bool second_try(void *user, cadre_call *call)
{
    (void)user;
    return cadre_call_return_json(call, "{", 1) || cadre_call_return_string(call, "ok", 2);
}

// A vector in a vector …, `levels` of them.
static bool nest(void *user, cadre_call *call)
{
    int levels = *(int *)user;
    char json[4096];
    memset(json, '[', (size_t)levels);
    memset(json + levels, ']', (size_t)levels);
    return cadre_call_return_json(call, json, 2 * (size_t)levels);
}

// A tool that runs a program itself.
static bool nested(void *user, cadre_call *call)
{
    (void)user;
    cadre_step *step = cadre_eval(NULL, "(reduce + (range 10))", 21, NULL);
    int64_t sum = 0;
    cadre_value_integer(cadre_step_return(step), &sum);
    cadre_step_free(step);
    return cadre_call_return_integer(call, sum);
}

static cadre_host *make_host(int *calls)
{
    static char bad_json[] = "{oops";
    cadre_host *host = cadre_host_new();
    cr_assert(cadre_host_add_tool(host, "add", add, calls, NULL, NULL, 0));
    cr_assert(cadre_host_add_tool(host, "typed", add, calls, "(a :int b :int) -> :int", NULL, 0));
    cr_assert(cadre_host_add_tool(host, "described", add, calls, "(a :int) -> :int", "Adds.",
                                  CADRE_TOOL_CACHE));
    cr_assert(cadre_host_add_tool(host, "refuse", refuse, NULL, NULL, NULL, CADRE_TOOL_SKIP));
    cr_assert(cadre_host_add_tool(host, "garbage", garbage, bad_json, NULL, NULL, 0));
    cr_assert(cadre_host_add_tool(host, "invalid-text", invalid_text, NULL, NULL, NULL, 0));
    cr_assert(cadre_host_add_tool(host, "silent", silent, NULL, NULL, NULL, 0));
    cr_assert(cadre_host_add_tool(host, "echo-json", echo_json, NULL, NULL, NULL, 0));
    cr_assert(cadre_host_add_tool(host, "nested", nested, NULL, NULL, NULL, 0));
    return host;
}

Test(cadre_tools, tools)
{
    int calls = 0;
    cadre_host *host = make_host(&calls);
    cr_expect_not(cadre_host_add_tool(host, "add", add, NULL, NULL, NULL, 0));
    cr_expect_not(cadre_host_add_tool(host, "two words", add, NULL, NULL, NULL, 0));
    cr_expect_not(cadre_host_add_tool(host, "nothing", NULL, NULL, NULL, NULL, 0));
    cr_expect_not(cadre_host_add_tool(host, "unreadable", add, NULL, "(", NULL, 0));
    cr_expect(cadre_host_error(host)[0]);
    check_printed(host, "(tool/add {:a 1 :b 2})", NULL, "3");
    check_printed(host, "(tool/typed :a \"4\" :b 5)", NULL, "9");
    check_kind(host, "(tool/typed {:a 1})", NULL, "validation_error");
    calls = 0;
    check_printed(host, "[(tool/described {:a 1}) (tool/described {:a 1})]", NULL, "[1 1]");
    cr_expect_eq(calls, 1);
    check_kind(host, "(tool/refuse)", NULL, "tool_error");
    check_kind(host, "(tool/garbage)", NULL, "tool_error");
    check_kind(host, "(tool/invalid-text)", NULL, "tool_error");
    check_kind(host, "(tool/silent)", NULL, "tool_error");
    check_printed(host, "(tool/echo-json {:a [1 \"x\"]})", NULL, "\"{\\\"a\\\":[1,\\\"x\\\"]}\"");
    check_printed(host, "(tool/nested)", NULL, "45");
    check_printed(host, "(defn f [n] (if (= n 0) (tool/nested) (+ 1 (f (dec n))))) (f 3000)", NULL,
                  "3045");
    check_printed(
        host, "(pmap (fn [x] (tool/add {:a x :b x})) (range 50))", NULL,
        "[0 2 4 6 8 10 12 14 16 18 20 22 24 26 28 30 32 34 36 38 40 42 44 46 48 50 52 54 56 "
        "58 60 62 64 66 68 70 72 74 76 78 80 82 84 86 88 90 92 94 96 98]");
    check_kind(host, "(pmap (fn [x] (tool/refuse)) [1 2 3])", NULL, "tool_error");
    cadre_host_free(host);
}

static void check_message(cadre_host *host, const char *source, const char *message)
{
    cadre_step *step = eval(host, source, NULL);
    cr_assert_not(cadre_step_ok(step), "%s should fail", source);
    cr_expect_str_eq(cadre_step_message(step), message);
    cadre_step_free(step);
}

// Why a tool failed is told however long the text is, in whatever encoding, and whatever the
// callback returns.
Test(cadre_tools, failing_tools)
{
    static char bad_json[] = "{oops";
    cadre_host *host = cadre_host_new();
    cr_assert(cadre_host_add_tool(host, "fail", fail_with, NULL, NULL, NULL, 0));
    cr_assert(cadre_host_add_tool(host, "latin1", fail_in_latin1, NULL, NULL, NULL, 0));
    cr_assert(cadre_host_add_tool(host, "careless", careless, NULL, NULL, NULL, 0));
    cr_assert(cadre_host_add_tool(host, "garbage", careless, bad_json, NULL, NULL, 0));
    cr_assert(cadre_host_add_tool(host, "second-try", second_try, NULL, NULL, NULL, 0));
    check_message(host, "(tool/fail {:text \"no\"})", "tool 'fail' failed: no");
    check_message(host, "(tool/fail {:text \"\"})", "tool 'fail' failed: no reason given");
    char expected[sizeof("tool 'fail' failed: ") + 500];
    snprintf(expected, sizeof(expected), "tool 'fail' failed: %500s", "");
    memset(expected + strlen("tool 'fail' failed: "), 'x', 500);
    check_message(host, "(tool/fail {:text \"xxxxxxxxxx\" :times 10000})", expected);
    check_message(host, "(tool/latin1)", "tool 'latin1' failed: accès refusé: caf\xef\xbf\xbd");
    check_message(host, "(tool/careless)", "tool 'careless' failed: broken");
    check_kind(host, "(tool/garbage)", NULL, "tool_error");
    check_printed(host, "(tool/second-try)", NULL, "\"ok\"");
    cadre_host_free(host);
}

Test(cadre_tools, nested_results)
{
    static int most = 1000, more = 1001;
    cadre_host *host = cadre_host_new();
    cr_assert(cadre_host_add_tool(host, "most", nest, &most, NULL, NULL, 0));
    cr_assert(cadre_host_add_tool(host, "more", nest, &more, NULL, NULL, 0));
    check_printed(host, "(count (tree-seq vector? identity (tool/most)))", NULL, "1000");
    check_message(host, "(tool/more)",
                  "tool 'more' failed: the result is not JSON: nested too deeply");
    cadre_host_free(host);
}

// A memory can be used where the tools that its functions name are not.
Test(cadre_tools, gone_tools)
{
    int calls = 0;
    cadre_host *host = make_host(&calls);
    cadre_step *step = eval(host,
                            "(defn by-call [x] (tool/add {:a x :b 1}))"
                            "(defn by-name [x] (call \"add\" {:a x :b 2}))"
                            "(defn by-value [xs] (map tool/add xs))",
                            NULL);
    cadre_inputs *inputs = cadre_inputs_new();
    cr_assert(cadre_inputs_set_memory_from(inputs, step));
    cadre_step_free(step);
    check_printed(host, "[(by-call 1) (by-name 1) (by-value [{:a 3 :b 4}])]", inputs, "[2 3 [7]]");
    check_printed(NULL, "(+ 1 2)", inputs, "3");
    check_kind(NULL, "(by-call 1)", inputs, "unknown_tool");
    check_kind(NULL, "(by-name 1)", inputs, "unknown_tool");
    check_kind(NULL, "(by-value [])", inputs, "unknown_tool");
    check_kind(NULL, "(if false (tool/add {}))", inputs, "unknown_tool");
    cadre_inputs_free(inputs);
    cadre_host_free(host);
}

// --- threads -------------------------------------------------------------------------------------

struct worker {
    const cadre_program *program;
    const cadre_inputs *inputs;
    bool ok;
};

static void *run_many(void *data)
{
    struct worker *worker = data;
    worker->ok = true;
    for (int i = 0; i < 200; i++) {
        cadre_step *step = cadre_run(worker->program, worker->inputs);
        worker->ok &= cadre_step_ok(step) && strcmp(cadre_step_printed(step, NULL), "[285 6]") == 0;
        cadre_step_free(step);
    }
    return NULL;
}

Test(cadre_tools, one_program_in_several_threads)
{
    const char *source =
        "(defn sq [x] (* x x)) [(reduce + (map sq (range 10))) (tool/add ctx/args)]";
    const char *context = "{\"args\": {\"a\": 2, \"b\": 4}}";
    cadre_host *host = make_host(NULL);
    cadre_inputs *inputs = cadre_inputs_new();
    cr_assert(cadre_inputs_set_context(inputs, context, strlen(context)));
    cadre_program *program = cadre_compile(host, source, strlen(source), inputs);
    pthread_t threads[4];
    struct worker workers[4];
    for (int i = 0; i < 4; i++) {
        workers[i] = (struct worker){program, inputs, false};
        cr_assert_eq(pthread_create(&threads[i], NULL, run_many, &workers[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        cr_expect(workers[i].ok);
    }
    cadre_program_free(program);
    cadre_inputs_free(inputs);
    cadre_host_free(host);
}

// A tool that calls back: it runs a program on the same host, which calls the tool again, one less deep.
static bool call_back(void *user, cadre_call *call)
{
    cadre_host *host = *(cadre_host **)user;
    cadre_value depth;
    int64_t number = 0;
    if (!cadre_value_get(cadre_call_arguments(call), "depth", &depth) ||
        !cadre_value_integer(depth, &number))
        return cadre_call_fail(call, "no depth");
    if (number == 0)
        return cadre_call_fail(call, "the bottom");
    char source[64];
    snprintf(source, sizeof(source), "(tool/again {:depth %d})", (int)number - 1);
    cadre_step *step = cadre_eval(host, source, strlen(source), NULL);
    bool ok = step && !cadre_step_ok(step) && strstr(cadre_step_message(step), "the bottom");
    cadre_step_free(step);
    return ok ? cadre_call_fail(call, "the bottom") : cadre_call_return_nil(call);
}

Test(cadre_tools, a_tool_that_calls_back)
{
    cadre_host *host = cadre_host_new();
    cr_assert(cadre_host_add_tool(host, "again", call_back, &host, NULL, NULL, 0));
    cadre_step *step = eval(host, "(tool/again {:depth 5})", NULL);
    cr_expect_not(cadre_step_ok(step));
    cr_expect_str_eq(cadre_step_kind(step), "tool_error");
    cr_expect_str_eq(cadre_step_message(step), "tool 'again' failed: the bottom");
    cadre_step_free(step);
    step = eval(host, "(pmap tool/again [{:depth 2} {:depth 3}])", NULL);
    cr_expect_not(cadre_step_ok(step));
    cr_expect_str_eq(cadre_step_kind(step), "tool_error");
    cadre_step_free(step);
    check_printed(host, "(+ 1 2)", NULL, "3");
    cadre_host_free(host);
}

// --- the run and its tools -----------------------------------------------------------------------

static bool name_of_run(void *user, cadre_call *call)
{
    (void)user;
    const char *name = cadre_call_user(call);
    return cadre_call_return_string(call, name, strlen(name));
}

static bool echo(void *user, cadre_call *call)
{
    (void)user;
    return cadre_call_return_value(call, cadre_call_arguments(call));
}

Test(cadre_tools, each_run_has_its_own_pointer)
{
    cadre_host *host = cadre_host_new();
    cr_assert(cadre_host_add_tool(host, "who", name_of_run, NULL, NULL, NULL, CADRE_TOOL_SKIP));
    for (int i = 0; i < 2; i++) {
        char name[] = "run 0";
        name[4] = (char)('0' + i);
        cadre_inputs *inputs = cadre_inputs_new();
        cadre_inputs_set_user(inputs, name);
        cadre_step *step = cadre_eval(host, "(tool/who)", 10, inputs);
        cr_assert_eq(strncmp(cadre_value_text(cadre_step_return(step), NULL), name, 5), 0);
        cadre_step_free(step);
        cadre_inputs_free(inputs);
    }
    cadre_host_free(host);
}

Test(cadre_tools, a_value_is_returned_as_it_is)
{
    cadre_host *host = cadre_host_new();
    cr_assert(
        cadre_host_add_tool(host, "echo", echo, NULL, "(a :int) -> :map", "Says it again.", 0));
    cr_assert_str_eq(cadre_host_describe(host), "tool/echo (a :int) -> :map\n    Says it again.");
    const char source[] = "(tool/echo {:a 5})";
    cadre_step *step = cadre_eval(host, source, strlen(source), NULL);
    cr_assert_str_eq(cadre_step_printed(step, NULL), "{\"a\" 5}");
    cadre_step_free(step);
    cadre_host_free(host);
    cr_assert_not_null(strstr(cadre_guide(), "PTC-Lisp"));
}

static void *cancel_later(void *data)
{
    cadre_cancel(data, true);
    return NULL;
}

Test(cadre_tools, another_thread_ends_a_run)
{
    cadre_inputs *inputs = cadre_inputs_new();
    cr_assert(cadre_inputs_set_option(inputs, "timeout", 3600000));
    pthread_t thread;
    cr_assert_eq(pthread_create(&thread, NULL, cancel_later, inputs), 0);
    const char source[] = "(loop [] (recur))";
    cadre_step *step = cadre_eval(NULL, source, strlen(source), inputs);
    pthread_join(thread, NULL);
    cr_assert_str_eq(cadre_step_reason(step), "timeout");
    cr_assert_str_eq(cadre_step_message(step), "cancelled by the host");
    cadre_step_free(step);
    cadre_cancel(inputs, false);
    step = cadre_eval(NULL, "1", 1, inputs);
    cr_assert(cadre_step_ok(step));
    cadre_step_free(step);
    cadre_inputs_free(inputs);
}

Test(cadre_tools, history_and_edn_context)
{
    cadre_inputs *inputs = cadre_inputs_new();
    const char edn[] = "{:user {:id 7} \"tags\" #{:a}}";
    cr_assert(cadre_inputs_set_context_edn(inputs, edn, strlen(edn)));
    cr_assert_not(cadre_inputs_set_context_edn(inputs, "[1", 2));
    for (int i = 1; i <= 4; i++) {
        char source[32];
        snprintf(source, sizeof(source), "{:n %d :s #{:k}}", i);
        cadre_step *step = cadre_eval(NULL, source, strlen(source), NULL);
        cr_assert(cadre_inputs_add_history(inputs, cadre_step_return(step)));
        cadre_step_free(step);
    }
    const char source[] = "[(:n *1) (:n *2) (:n *3) (:s *1) (:id ctx/user) ctx/tags]";
    cadre_step *step = cadre_eval(NULL, source, strlen(source), inputs);
    cr_assert_str_eq(cadre_step_printed(step, NULL), "[4 3 2 #{:k} 7 #{:a}]");
    cadre_step_free(step);
    step = cadre_eval(NULL, "inc", 3, NULL);
    cr_assert_not(cadre_inputs_add_history(inputs, cadre_step_return(step)));
    cadre_step_free(step);
    cadre_inputs_free(inputs);
}
