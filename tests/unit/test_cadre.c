// The public API of libcadre.
#include <cadre.h>
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "cadre_support.h"

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
    cadre_inputs *inputs = cadre_inputs_new();
    cr_assert(cadre_inputs_set_option(inputs, "timeout", 60000));  // a busy machine is slow
    for (size_t i = 0; i < 2; i++) {
        cadre_step *step = eval(NULL, programs[i], inputs);
        cr_expect_str_eq(cadre_step_kind(step), "memory_exceeded");
        cr_expect_not_null(cadre_step_json(step, NULL));
        cr_expect_str_eq(cadre_step_memory_json(step, NULL), "{}");
        cadre_step_free(step);
    }
    cadre_inputs_free(inputs);
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
