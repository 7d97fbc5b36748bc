// The form around the cursor of the REPL.
#include <criterion/criterion.h>

#include "base/array.h"
#include "lisp_syntax/lisp_form.h"

Test(lisp_form, operators)
{
    static const struct {
        const char *code, *operator;
    } cases[] = {
        {"(mapcar ", "mapcar"},
        {"(list (car x) ", "list"},
        {"(a\n  (my-package::b 1 ", "my-package::b"},
        {"(let ((x ", "x"},
        {"(list \"a (b ", ""},
        {"(list ; (b ", "list"},
        {"((lambda ", "lambda"},
        {"(1 ", ""},
        {"(:key ", ""},
        {"a ", ""},
        {"(list 1) ", ""},
        {"", ""},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct span found = lisp_form_operator(span_from(cases[i].code));
        cr_expect(span_equal_text(found, cases[i].operator), "%s: %.*s", cases[i].code,
                  (int)found.length, found.data);
    }
}

Test(lisp_form, indentation)
{
    static const struct {
        const char *code;
        size_t columns;
    } cases[] = {
        {"(defun f (x)\n", 2},  {"(let ((a 1)\n", 6},   {"(list 1\n", 6},
        {"(list\n", 1},         {"(list ; first\n", 1}, {"(progn\n  (cl:when x\n", 4},
        {"(if é (foo 1\n", 11}, {"((a 1)\n", 1},        {"'(\n", 2},
        {"(print \"text\n", 0}, {"(+ 1 2)\n", 0},       {"(with-open-file (s \"x\")\n", 2},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        cr_expect_eq(lisp_form_indentation(span_from(cases[i].code)), cases[i].columns, "%s: %zu",
                     cases[i].code, lisp_form_indentation(span_from(cases[i].code)));
}
