// Repairs of parentheses: by indentation, by an earlier version, and what is left alone.
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "lisp_syntax/lisp_syntax.h"
#include "lisp_syntax/repair.h"

struct repair_case {
    const char *text, *base, *expected;  // expected NULL: refused
};

static void check(const struct repair_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct repair repair;
        repair_init(&repair, span_from(cases[i].text), span_from(cases[i].base));
        const char *expected = cases[i].expected ? cases[i].expected : cases[i].text;
        cr_expect(span_equal_text(buffer_span(&repair.text), expected), "%s\n=> %s", cases[i].text,
                  buffer_text(&repair.text));
        cr_expect_eq(repair.outcome == REPAIR_REFUSED, cases[i].expected == NULL, "%s",
                     cases[i].text);
        cr_expect(repair.outcome == REPAIR_BALANCED || repair.note_count > 0);
        repair_release(&repair);
    }
}

Test(repair, by_indentation)
{
    static const struct repair_case cases[] = {
        {"(defun f (x)\n  (g x)\n\n(defun g ())\n", "", "(defun f (x)\n  (g x))\n\n(defun g ())\n"},
        {"(defun f (x)\n  (when x\n    (print x)\n  (g x))\n", "",
         "(defun f (x)\n  (when x\n    (print x))\n  (g x))\n"},
        {"(defun f (x)\n  (when x\n    (print x))))\n  (g x))\n", "",
         "(defun f (x)\n  (when x\n    (print x))\n  (g x))\n"},
        {"(defun f (x)\n  (g x)))\n(h)\n", "", "(defun f (x)\n  (g x))\n(h)\n"},
        {"(let ((a 1)\n      (b 2)\n  (list a b))\n", "",
         "(let ((a 1)\n      (b 2))\n  (list a b))\n"},
        // Characters, strings and comments are no parentheses.
        {"(list #\\( \"(\" ; (\n      #| ( |# 1\n", "", "(list #\\( \"(\" ; (\n      #| ( |# 1)\n"},
        // What one operator takes decides.
        {"(defun f (a b)\n  (if (not a b\n      1))\n", "", NULL},
    };
    check(cases, COUNT_OF(cases));
}

Test(repair, refused)
{
    static const struct repair_case cases[] = {
        {"(f \"a)\n", "", NULL},   // a string
        {"(f #| a)\n", "", NULL},  // a comment
        {"(f |a)\n", "", NULL},    // a symbol
        {"))))))))\n", "", NULL},  // too many
        {"a (b))) c (((d\n", "", NULL},
    };
    check(cases, COUNT_OF(cases));
}

Test(repair, balanced)
{
    static const struct repair_case cases[] = {
        {"", "", ""},
        {"; only a comment (\n", "", "; only a comment (\n"},
        {"(a)\r\n(b \"\n(\" c)\r\n", "", "(a)\r\n(b \"\n(\" c)\r\n"},
        {"(eval-when (:execute)\n(defun f ())\n)\n", "",
         "(eval-when (:execute)\n(defun f ())\n)\n"},
        {"#+(or a\n     b)\n(x)\n", "", "#+(or a\n     b)\n(x)\n"},
    };
    check(cases, COUNT_OF(cases));
}

Test(repair, by_the_earlier_version)
{
    const char *base =
        "(defun f (x)\n  \"A (\"\n  (if (< x 1) (g x) (h x)))\n\n(defun k () (g 1))\n";
    const struct repair_case cases[] = {
        // Within a line the indentation says nothing: the base does.
        {"(defun f (x)\n  \"A (\"\n  (if (< x 1 (g x) (h x)))\n\n(defun k () (g 1))\n", base, base},
        {"(defun f (x)\n  \"A (\n  (if (< x 1) (g x) (h x)))\n\n(defun k () (g 1))\n", base, base},
        {"defun f (x)\n  \"A (\"\n  (if (< x 1) (g x) (h x)))\n\n(defun k () (g 1))\n", base, base},
        // Other text changed, too: only the broken form is repaired.
        {"(defun f (x)\n  \"A (\"\n  (if (< x 1 (g x) (h x)))\n\n(defun k () (g 2))\n", base,
         "(defun f (x)\n  \"A (\"\n  (if (< x 1) (g x) (h x)))\n\n(defun k () (g 2))\n"},
        {"(defun f (x)\n  \"B (\"\n  (if (< x 1 (g x) (h x)))\n\n(defun k () (g 1))\n", base,
         "(defun f (x)\n  \"B (\"\n  (if (< x 1) (g x) (h x)))\n\n(defun k () (g 1))\n"},
        // A balanced change of parentheses stays.
        {"(defun k () ((g 1)))\n", "(defun k () (g 1))\n", "(defun k () ((g 1)))\n"},
        // A base that is not balanced says nothing.
        {"(f (g)\n", "(f (g)\n", "(f (g))\n"},
    };
    check(cases, COUNT_OF(cases));
}

Test(repair, doubt)
{
    struct repair repair;
    repair_init(&repair, SPAN("(defun f (x)\n  (g x)\n\n(defun g (y)\n  y))\n"), SPAN(""));
    cr_expect_eq(repair.outcome, REPAIR_DOUBTFUL);
    cr_expect_eq(repair.notes[0].line, 2);
    repair_release(&repair);
}

Test(repair, diff)
{
    CLEANUP_BUFFER struct buffer out;
    buffer_init(&out, BUFFER_DEFAULT_LIMIT);
    repair_diff(&out, "a.lisp", SPAN("1\n2\n3\n4\n5\n6\n7\n8\n(9"),
                SPAN("1\n2)\n3\n4\n5\n6\n7\n8\n(9)"));
    cr_expect_str_eq(
        buffer_text(&out),
        "--- a.lisp\n+++ a.lisp\n@@ -1,4 +1,4 @@\n 1\n-2\n+2)\n 3\n 4\n@@ -7,3 +7,3 @@\n"
        " 7\n 8\n-(9\n\\ No newline at end of file\n+(9)\n\\ No newline at end of file\n");
}

// Whatever the text, the outcome is balanced or the text is as it was, in bounded time.
Test(repair, any_text)
{
    static const char pieces[][6] = {"(",    ")",  "(",   ")",    "\n", "\n  ", " a ",
                                     "\"",   "#|", "|#",  ";",    "'",  "#\\(", "let ",
                                     "\xff", "|",  "if ", "#+x ", "\t", "\\"};
    srand(7);
    for (int round = 0; round < 3000; round++) {
        char text[400] = "";
        size_t length = 0;
        for (int i = rand() % 80; i > 0; i--) {
            const char *piece = pieces[(size_t)rand() % COUNT_OF(pieces)];
            length += (size_t)snprintf(text + length, sizeof(text) - length, "%s", piece);
        }
        struct repair repair;
        repair_init(&repair, (struct span){text, length}, SPAN(""));
        if (repair.outcome == REPAIR_REPAIRED) {
            struct syntax_report report;
            syntax_check(buffer_span(&repair.text), &report);
            cr_expect(report.open_parentheses == 0 && report.problem != SYNTAX_STRAY_CLOSE, "%s",
                      text);
        } else {
            cr_expect(span_equal(buffer_span(&repair.text), (struct span){text, length}));
        }
        repair_release(&repair);
    }
}
