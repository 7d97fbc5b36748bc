// The public API of libcadre.
#include <cadre.h>
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"

static cadre_step *eval(cadre_host *host, const char *source, const cadre_inputs *inputs)
{
    cadre_step *step = cadre_eval(host, source, strlen(source), inputs);
    cr_assert_not_null(step);
    return step;
}

static void check_printed(cadre_host *host, const char *source, const cadre_inputs *inputs,
                          const char *printed)
{
    cadre_step *step = eval(host, source, inputs);
    cr_assert(cadre_step_ok(step), "%s: %s", source, cadre_step_message(step));
    cr_expect_str_eq(cadre_step_printed(step, NULL), printed);
    cadre_step_free(step);
}

static void check_kind(cadre_host *host, const char *source, const cadre_inputs *inputs,
                       const char *kind)
{
    cadre_step *step = eval(host, source, inputs);
    cr_assert_not(cadre_step_ok(step), "%s should fail", source);
    cr_expect_str_eq(cadre_step_kind(step), kind, "%s: %s", source, cadre_step_message(step));
    cadre_step_free(step);
}

Test(cadre, values)
{
    cadre_step *step =
        eval(NULL, "{:i 5 :f 1.5 :s \"é\" :k :key :v [1 2] :b true :n nil :set #{3}}", NULL);
    cadre_value map = cadre_step_return(step), item;
    int64_t integer;
    double number;
    size_t length;
    cr_assert_eq(cadre_value_type(map), CADRE_MAP);
    cr_expect_eq(cadre_value_count(map), 8);
    cr_assert(cadre_value_get(map, "i", &item));
    cr_expect(cadre_value_integer(item, &integer) && integer == 5);
    cr_assert(cadre_value_get(map, "f", &item));
    cr_expect(cadre_value_number(item, &number) && number == 1.5);
    cr_expect_not(cadre_value_integer(item, &integer));
    cr_assert(cadre_value_get(map, "s", &item));
    const char *text = cadre_value_text(item, &length);
    cr_expect(length == 2 && memcmp(text, "é", 2) == 0);
    cr_assert(cadre_value_get(map, "v", &item));
    cr_expect_eq(cadre_value_count(item), 2);
    cr_expect(cadre_value_integer(cadre_value_at(item, 1), &integer) && integer == 2);
    cr_expect_eq(cadre_value_type(cadre_value_at(item, 2)), CADRE_NIL);
    cr_assert(cadre_value_get(map, "k", &item));
    cr_expect_eq(cadre_value_type(item), CADRE_KEYWORD);
    cr_expect_not(cadre_value_get(map, "missing", &item));
    cadre_step_free(step);
}

Test(cadre, context_memory_and_limits)
{
    cadre_inputs *inputs = cadre_inputs_new();
    cr_assert(cadre_inputs_set_context(inputs, "{\"n\": 4}", 8));
    cr_assert(cadre_inputs_set_memory(inputs, "{\"m\": 10}", 9));
    check_printed(NULL, "(+ ctx/n m)", inputs, "14");
    cr_expect_not(cadre_inputs_set_context(inputs, "[1]", 3));
    cr_expect_not(cadre_inputs_set_context(inputs, "{", 1));
    cr_expect(cadre_inputs_error(inputs)[0]);
    cr_expect_not(cadre_inputs_set_option(inputs, "nonsense", 1));
    cr_assert(cadre_inputs_set_option(inputs, "timeout", 20));
    check_kind(NULL, "(loop [] (recur))", inputs, "timeout");
    cr_assert(cadre_inputs_set_option(inputs, "max_memory", 5000));
    check_kind(NULL, "(range 100000)", inputs, "memory_exceeded");
    cr_assert(cadre_inputs_set_signature(inputs, "(n :string) -> :any"));
    check_kind(NULL, "1", inputs, "validation_error");
    cr_assert(cadre_inputs_set_validation(inputs, "disabled"));
    check_printed(NULL, "1", inputs, "1");
    cr_expect_not(cadre_inputs_set_signature(inputs, "("));
    cr_expect_not(cadre_inputs_set_validation(inputs, "maybe"));
    cadre_inputs_free(inputs);
}

// Values share their parts, texts do not: the run ends before anything is written.
Test(cadre, results_have_bounded_texts)
{
    const char *programs[] = {"(reduce (fn [a _] [a a]) 1 (range 40))",
                              "(def x (reduce (fn [a _] [a a]) 1 (range 40))) 1"};
    for (size_t i = 0; i < 2; i++) {
        cadre_step *step = eval(NULL, programs[i], NULL);
        cr_expect_str_eq(cadre_step_kind(step), "memory_exceeded");
        cr_expect_not_null(cadre_step_json(step, NULL));
        cr_expect_str_eq(cadre_step_memory_json(step, NULL), "{}");
        cadre_step_free(step);
    }
}

Test(cadre, memory_is_carried)
{
    cadre_inputs *inputs = cadre_inputs_new();
    const char *source = "(def n (inc (or n 0)))";
    cadre_program *program = cadre_compile(NULL, source, strlen(source), NULL);
    for (int i = 0; i < 3; i++) {
        cadre_step *step = cadre_run(program, inputs);
        cr_assert(cadre_step_ok(step));
        cr_assert(cadre_inputs_set_memory_from(inputs, step));
        cadre_step_free(step);
    }
    check_printed(NULL, "n", inputs, "3");
    cadre_program_free(program);
    cadre_inputs_free(inputs);
}

// Runs a program and hands its memory to the next one.
static void carry(cadre_inputs *inputs, const char *source, bool ok)
{
    cadre_step *step = eval(NULL, source, inputs);
    cr_assert_eq(cadre_step_ok(step), ok, "%s", source);
    cr_assert(cadre_inputs_set_memory_from(inputs, step), "%s", cadre_inputs_error(inputs));
    cadre_step_free(step);
}

Test(cadre, functions_in_memory_are_carried)
{
    cadre_inputs *inputs = cadre_inputs_new();
    carry(inputs,
          "(defn even [n] (if (= n 0) true (odd (dec n))))\n"
          "(defn odd [n] (if (= n 0) false (even (dec n))))\n"
          "(def twice (fn [x] (* 2 x)))\n"
          "(def third #(nth % 2))\n"
          "(def tags #{:a \"b\"})",
          true);
    check_printed(NULL, "[(even 10) (odd 10) (twice 21) (third [1 2 3]) (contains? tags :a)]",
                  inputs, "[true false 42 3 true]");
    carry(inputs, "(defn twice [x] (str x x)) (def third nil)", true);
    check_printed(NULL, "[(twice 4) third (even 3)]", inputs, "[\"44\" nil false]");
    // A failed run leaves them as they were, also when it has redefined one.
    carry(inputs, "(defn twice [x] :wrong) (/ 1 0)", false);
    carry(inputs, "(twice", false);
    check_printed(NULL, "(twice 4)", inputs, "\"44\"");
    // They shadow builtins, as anything that is defined by a program.
    carry(inputs, "(defn inc [x] (- x 1))", true);
    check_printed(NULL, "(inc 5)", inputs, "4");
    // Data memory alone has no functions.
    cr_assert(cadre_inputs_set_memory(inputs, "{\"n\": 1}", 8));
    check_kind(NULL, "(twice 4)", inputs, "unbound_var");
    cadre_inputs_free(inputs);
}

Test(cadre, regexes_and_symbols_in_memory_are_carried)
{
    cadre_inputs *inputs = cadre_inputs_new();
    carry(inputs, "(def r #\"a+\\\"?\\d\") (def s 'x-y) (def all {:rs [#\"b\" 'z] 'k 1}) (def n 1)",
          true);
    for (int i = 0; i < 2; i++) {
        check_printed(NULL, "[(re-find r \"caa\\\"1\") s all n]", inputs,
                      "[\"aa\\\"1\" 'x-y {:rs [#\"b\" 'z] 'k 1} 1]");
        carry(inputs, "1", true);
    }
    check_printed(NULL, "\xEF\xBB\xBF(count all)", inputs, "2");  // a byte order mark
    cadre_step *step = eval(NULL, "(def y 1)", inputs);
    cr_expect_not_null(strstr(cadre_step_json(step, NULL), "\"memory_delta\":{\"y\":1}"));
    cr_expect_not_null(strstr(cadre_step_saved_memory(step, NULL), "\"lost\":[]"));
    cadre_step_free(step);
    carry(inputs, "(def r #\"c\") (def s nil) (def both [(comp inc) 'q])", true);
    check_printed(NULL, "[r s]", inputs, "[#\"c\" nil]");
    check_kind(NULL, "both", inputs, "unbound_var");
    cadre_inputs_free(inputs);
}

Test(cadre, functions_in_memory_do_not_show)
{
    cadre_inputs *inputs = cadre_inputs_new();
    carry(inputs, "(defn f\n [x]\n (/ x 0))", true);
    cadre_step *step = eval(NULL, "(def y 1)", inputs);
    cr_expect_not_null(strstr(cadre_step_json(step, NULL), "\"memory_delta\":{\"y\":1}"));
    cadre_step_free(step);
    step = eval(NULL, "nil\n  (/ 1 0)", inputs);
    cr_expect_eq(cadre_step_line(step), 2);
    cr_expect_eq(cadre_step_column(step), 3);
    cadre_step_free(step);
    step = eval(NULL, "nil\n (g 1)", inputs);
    cr_expect_eq(cadre_step_line(step), 2);
    cadre_step_free(step);
    step = eval(NULL, "(f 1)", inputs);  // it fails in a line that is not the program's
    cr_expect_not(cadre_step_ok(step));
    cr_expect_eq(cadre_step_line(step), 0);
    cr_expect_eq(cadre_step_column(step), 0);
    cadre_step_free(step);
    cadre_program *program = cadre_compile(NULL, "nil\n)", 5, inputs);
    cr_expect_eq(cadre_step_line(cadre_program_failure(program)), 2);
    cadre_program_free(program);
    cadre_inputs_free(inputs);
}

// Any text can be a name, and data may go beyond the literals of programs: nothing of it is lost.
Test(cadre, memory_keeps_all_data)
{
    static const char first[] =
        "(memory/put \"New York\" {\"a b\" 1})"
        "(def factorial (reduce * (range 1 101)))"
        "(def deep (reduce (fn [inside _] [inside]) [factorial] (range 500)))"
        "{\"gr\xC3\xB6\xC3\x9F"
        "e\" 1 \"\" 2 \"x\\\"y\" 3 :plain 4}";
    static const char second[] =
        "[(memory/get \"New York\") (= factorial (reduce * (range 1 101)) (first (flatten deep)))"
        " (memory/get \"gr\xC3\xB6\xC3\x9F"
        "e\") (memory/get \"\") (memory/get \"x\\\"y\") plain]";
    cadre_step *step = cadre_eval(NULL, first, strlen(first), NULL);
    size_t length;
    const char *text = cadre_step_saved_memory(step, &length);
    cr_expect_not_null(strstr(text, "\"lost\":[]"), "%s", text);
    for (int way = 0; way < 2; way++) {
        cadre_inputs *inputs = cadre_inputs_new();
        cr_assert(way ? cadre_inputs_set_saved_memory(inputs, text, length)
                      : cadre_inputs_set_memory_from(inputs, step));
        cadre_step *next = cadre_eval(NULL, second, strlen(second), inputs);
        cr_assert(cadre_step_ok(next), "%s", cadre_step_message(next));
        cr_expect_str_eq(cadre_step_printed(next, NULL), "[{\"a b\" 1} true 1 2 3 4]");
        cadre_step_free(next);
        cadre_inputs_free(inputs);
    }
    cadre_step_free(step);
}

// One entry that is odd must not make the memory useless.
Test(cadre, memory_with_odd_functions_stays_usable)
{
    cadre_inputs *inputs = cadre_inputs_new();
    cadre_step *step =
        eval(NULL,
             "(memory/put \"x) (fail 1\" (fn [x] (inc x))) (memory/put \" r\" #\"a\")\n"
             "(defn\nf ; (\n \"doc \\\" [\" [n] (if (pos? n) (f (dec n)) :done))\n"
             "(def g f) (memory/put \"nil\" f) (def h #(+ % 1)) (def i h)\n"
             "(def lost (partial + 3)) (defn use [x] (lost x))",
             NULL);
    for (int round = 0; round < 2; round++) {
        cr_assert(cadre_inputs_set_memory_from(inputs, step));
        cadre_step_free(step);
        step = eval(NULL,
                    "[((memory/get \"x) (fail 1\") 1) (f 2) (g 2) ((memory/get \"nil\") 2) (h 1)"
                    " (i 1) lost memory/r (fn? use)]",
                    inputs);
        cr_assert(cadre_step_ok(step), "%s", cadre_step_message(step));
        cr_expect_str_eq(cadre_step_printed(step, NULL), "[2 :done :done :done 2 2 nil nil true]");
    }
    cadre_step_free(step);
    cadre_inputs_free(inputs);
}

Test(cadre, saved_memory)
{
    cadre_inputs *inputs = cadre_inputs_new();
    cadre_step *step = eval(NULL,
                            "(def k {:a #{1 \"\\n\"} \"b\" 1.5})\n(defn g [x] (+ x 1))\n"
                            "(def add (let [n 5] (fn [x] (+ x n))))\n(def both (comp g g))",
                            NULL);
    size_t length;
    const char *text = cadre_step_saved_memory(step, &length);
    cr_expect_eq(strlen(text), length);
    cr_expect_not_null(strstr(text, "\"definitions\":\"(defn g [x] (+ x 1))\\n\""), "%s", text);
    cr_expect_not_null(strstr(text, "\"lost\":[\"add\",\"both\"]"), "%s", text);
    cr_assert(cadre_inputs_set_saved_memory(inputs, text, length), "%s",
              cadre_inputs_error(inputs));
    cadre_step_free(step);  // the inputs have a copy
    check_printed(NULL, "[(g 1) k memory/add]", inputs, "[2 {:a #{1 \"\\n\"} \"b\" 1.5} nil]");
    static const char *const wrong[] = {"",
                                        "[]",
                                        "{}",
                                        "{\"data\":\"{}\"}",
                                        "{\"data\":\"[]\",\"definitions\":\"\"}",
                                        "{\"data\":\"{:a\",\"definitions\":\"\"}",
                                        "{\"data\":1,\"definitions\":2}"};
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        cr_expect_not(cadre_inputs_set_saved_memory(inputs, wrong[i], strlen(wrong[i])), "%s",
                      wrong[i]);
    cr_expect_not(cadre_inputs_set_saved_memory(inputs, NULL, 0));
    check_printed(NULL, "(g 2)", inputs, "3");  // a refusal changes nothing
    cadre_inputs_free(inputs);
}

Test(cadre, wrong_programs)
{
    const char *source = "(let [x 1]\n  (foo x))";
    cadre_program *program = cadre_compile(NULL, source, strlen(source), NULL);
    cr_assert_not_null(program);
    cadre_step *step = cadre_run(program, NULL);
    cadre_program_free(program);  // the step stands alone
    cr_expect_str_eq(cadre_step_kind(step), "unbound_var");
    cr_expect_str_eq(cadre_step_reason(step), "analysis_error");
    cr_expect_eq(cadre_step_line(step), 2);
    cr_expect_eq(cadre_step_column(step), 4);
    cr_expect_not_null(strstr(cadre_step_json(step, NULL), "\"fail\":{"));
    cadre_step_free(step);
    program = cadre_compile(NULL, "(", 1, NULL);
    cr_assert_not_null(program);
    cr_expect_not_null(cadre_program_failure(program));
    step = cadre_run(program, NULL);
    cadre_program_free(program);
    cr_expect_str_eq(cadre_step_kind(step), "parse_error");
    cadre_step_free(step);
    check_printed(NULL, "", NULL, "nil");
    check_kind(NULL, "\xff", NULL, "parse_error");
}

// --- tools ---------------------------------------------------------------------------------------

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

Test(cadre, tools)
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
Test(cadre, failing_tools)
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

Test(cadre, nested_results)
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
Test(cadre, gone_tools)
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

Test(cadre, one_program_in_several_threads)
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

Test(cadre, a_tool_that_calls_back)
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
