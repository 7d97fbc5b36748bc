// The scanner behind check-syntax and the REPL's multi-line input.
#include <criterion/criterion.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "lisp_syntax/lisp_syntax.h"

static struct syntax_report check(const char *code)
{
    struct syntax_report report;
    syntax_check(span_from(code), &report);
    return report;
}

Test(lisp_syntax, counts_complete_forms)
{
    static const struct {
        const char *code;
        size_t forms;
    } cases[] = {
        {"", 0},
        {"; only a comment", 0},
        {"#| block #| nested |# |#", 0},
        {"a", 1},
        {"a b", 2},
        {"(a (b) \"c)\" #\\) |d)|) 'e", 2},
        {"#'car #.(+ 1 2) `(a ,b ,@c)", 3},
        {"#\\( #\\Space #\\)", 3},
        {"#+sbcl (a) (b)", 2},
        {"#(1 2) #2A((1 2)) #p\"x)\" #:g #xFF", 5},
        {"#1=(a . #1#)", 1},
        {"foo\\)bar (x\\(y)", 2},
        {"\"a\\\"b(\" 1", 2},
        {"nopkg::sym", 1},
        {"(a . b) (a . 'b) (a .b) (a . #|x|# b) (a . #+x b c) \\. |.| a. .a", 9},
        {"`(a ,b) ``(a ,,b) `(a ,(b `,c)) `#(a ,@b) `(a . ,b) `'(a ,b)", 6},
        {":a ::a a:b a::b a\\:b:c |a:b|:c :|a| #\\a:b:c", 8},
        {"#+x a:b:c #-x ( . a) #+x ,a 1", 4},
        {"(#+x ,a #-x (a . b c) ..a)", 1},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct syntax_report report = check(cases[i].code);
        cr_expect_eq(report.problem, SYNTAX_VALID, "%s: problem %d", cases[i].code, report.problem);
        cr_expect_eq(report.forms, cases[i].forms, "%s: %zu forms", cases[i].code, report.forms);
    }
}

Test(lisp_syntax, refuses_what_no_reader_takes)
{
    static const struct {
        const char *code;
        enum syntax_problem problem;
        unsigned column;
    } cases[] = {
        {"( . b)", SYNTAX_DOT, 3},
        {"(a . )", SYNTAX_DOT, 6},
        {"(a . b c)", SYNTAX_DOT, 9},
        {"(a . b . c)", SYNTAX_DOT, 8},
        {".", SYNTAX_DOT, 1},
        {"'. a", SYNTAX_DOT, 2},
        {"(..)", SYNTAX_DOT, 2},
        {",a", SYNTAX_COMMA, 1},
        {"(a ,@b)", SYNTAX_COMMA, 4},
        {"`(a ,,b)", SYNTAX_COMMA, 6},
        {"`a ,b", SYNTAX_COMMA, 4},
        {"`(a) (,b)", SYNTAX_COMMA, 7},
        {"a:b:c", SYNTAX_COLON, 1},
        {"a:::b", SYNTAX_COLON, 1},
        {"(a: 1)", SYNTAX_COLON, 2},
        {":", SYNTAX_COLON, 1},
        {"#<foo>", SYNTAX_SHARP, 1},
        {"(# a)", SYNTAX_SHARP, 2},
        {"#+x a b:c:d", SYNTAX_COLON, 7},
        {"#+x #<y>", SYNTAX_SHARP, 5},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct syntax_report report = check(cases[i].code);
        cr_expect_eq(report.problem, cases[i].problem, "%s: %d", cases[i].code, report.problem);
        cr_expect_eq(report.at.column, cases[i].column, "%s: %u", cases[i].code, report.at.column);
        cr_expect(!syntax_is_incomplete(&report), "%s", cases[i].code);
    }
}

Test(lisp_syntax, says_what_is_open_and_since_where)
{
    static const struct {
        const char *code;
        enum syntax_problem problem;
        unsigned line, column;
    } cases[] = {
        {"(a\n  (b", SYNTAX_OPEN_LIST, 1, 1},    {"(f \"abc", SYNTAX_OPEN_STRING, 1, 4},
        {"a\n #| x", SYNTAX_OPEN_COMMENT, 2, 2}, {"|abc", SYNTAX_OPEN_BAR, 1, 1},
        {"(+ 1 2))", SYNTAX_STRAY_CLOSE, 1, 8},  {"'", SYNTAX_OPEN_PREFIX, 1, 1},
        {"(a ')", SYNTAX_OPEN_PREFIX, 1, 4},     {"\xc3\xa4 )", SYNTAX_STRAY_CLOSE, 1, 3},
        {"(ab\\", SYNTAX_OPEN_ESCAPE, 1, 4},     {"(,a", SYNTAX_OPEN_LIST, 1, 1},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct syntax_report report = check(cases[i].code);
        cr_expect_eq(report.problem, cases[i].problem, "%s: %d", cases[i].code, report.problem);
        cr_expect_eq(report.at.line, cases[i].line, "%s", cases[i].code);
        cr_expect_eq(report.at.column, cases[i].column, "%s", cases[i].code);
    }
    struct syntax_report report = check("(a\n  (b");
    cr_expect_eq(report.open_parentheses, 2);
    cr_expect_eq(report.innermost.line, 2);
    cr_expect_eq(report.innermost.column, 3);
    cr_expect(syntax_is_incomplete(&report));
    report = check(")");
    cr_expect_not(syntax_is_incomplete(&report));
}

Test(lisp_syntax, matches_parentheses_both_ways)
{
    struct syntax_position match;
    const char *reason;
    const char *code = "(a (b \")\" c))";
    cr_assert(syntax_match(span_from(code), 1, 4, &match, &reason));
    cr_expect_eq(match.column, 12);
    cr_assert(syntax_match(span_from(code), 1, 13, &match, &reason));
    cr_expect_eq(match.column, 1);
    cr_expect_not(syntax_match(span_from(code), 1, 8, &match, &reason));
    cr_expect(strstr(reason, "string"));
    cr_expect_not(syntax_match(span_from(code), 1, 2, &match, &reason));
    cr_expect_not(syntax_match(span_from(code), 7, 1, &match, &reason));
    cr_expect_not(syntax_match(span_from("(a"), 1, 1, &match, &reason));
    cr_expect(strstr(reason, "never closed"));
    cr_expect_not(syntax_match(span_from("a)"), 1, 2, &match, &reason));
    cr_expect(strstr(reason, "closes nothing"));
}

Test(lisp_syntax, is_linear_in_a_million_parentheses)
{
    enum { DEPTH = 1000000 };
    char *code = memory_alloc(2 * DEPTH);
    memset(code, '(', DEPTH);
    memset(code + DEPTH, ')', DEPTH);
    struct syntax_report report;
    syntax_check((struct span){code, 2 * DEPTH}, &report);
    cr_expect_eq(report.problem, SYNTAX_VALID);
    cr_expect_eq(report.forms, 1);
    syntax_check((struct span){code, DEPTH}, &report);
    cr_expect_eq(report.open_parentheses, DEPTH);
    memory_free(code);
}
