#include "lisp_syntax/lisp_form.h"

#include <string.h>

#include "base/array.h"
#include "base/ascii.h"
#include "base/utf8.h"
#include "lisp_syntax/lisp_syntax.h"

// The text after the innermost open parenthesis; false when the text does not end in a list.
static bool find_list(struct span code, struct syntax_report *report, struct span *ret_rest)
{
    syntax_check(code, report);
    if (report->open_parentheses == 0 ||
        (report->problem != SYNTAX_OPEN_LIST && report->problem != SYNTAX_OPEN_PREFIX))
        return false;
    size_t start = report->innermost.offset + 1;
    *ret_rest = (struct span){code.data + start, code.length - start};
    return true;
}

static struct span first_symbol(struct span rest)
{
    size_t length = 0;
    while (length < rest.length && !memchr(" \t\r\n()\"';`,|#", rest.data[length], 14))
        length++;
    return (struct span){rest.data, length};
}

struct span lisp_form_operator(struct span code)
{
    struct syntax_report report;
    struct span rest, none = {"", 0};
    if (!find_list(code, &report, &rest))
        return none;
    struct span symbol = first_symbol(rest);
    return symbol.length == 0 || ascii_is_digit(symbol.data[0]) || symbol.data[0] == ':' ? none
                                                                                         : symbol;
}

// Operators whose body is indented by two; also all that begin with "def", "with-" and "do-".
static bool has_body(struct span symbol)
{
    static const char *const names[] = {
        "block",
        "case",
        "catch",
        "ccase",
        "ctypecase",
        "destructuring-bind",
        "do",
        "do*",
        "dolist",
        "dotimes",
        "ecase",
        "etypecase",
        "eval-when",
        "flet",
        "handler-bind",
        "handler-case",
        "labels",
        "lambda",
        "let",
        "let*",
        "locally",
        "loop",
        "macrolet",
        "multiple-value-bind",
        "prog",
        "prog1",
        "progn",
        "restart-case",
        "symbol-macrolet",
        "tagbody",
        "typecase",
        "unless",
        "unwind-protect",
        "when",
    };
    char lower[32];
    const char *colon = memrchr(symbol.data, ':', symbol.length);
    if (colon) {
        size_t skipped = (size_t)(colon + 1 - symbol.data);
        symbol = (struct span){colon + 1, symbol.length - skipped};
    }
    if (symbol.length >= sizeof(lower))
        symbol.length = sizeof(lower) - 1;
    for (size_t i = 0; i < symbol.length; i++)
        lower[i] = ascii_to_lower(symbol.data[i]);
    struct span name = {lower, symbol.length};
    if (span_starts_with(name, SPAN("def")) || span_starts_with(name, SPAN("with-")) ||
        span_starts_with(name, SPAN("do-")))
        return true;
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (span_equal_text(name, names[i]))
            return true;
    return false;
}

size_t lisp_form_indentation(struct span code)
{
    struct syntax_report report;
    struct span rest;
    if (!find_list(code, &report, &rest))
        return 0;
    size_t parenthesis = report.innermost.column - 1;
    struct span symbol = lisp_form_operator(code);
    if (symbol.length == 0)
        return parenthesis + 1;
    if (has_body(symbol))
        return parenthesis + 2;
    size_t argument = symbol.length;
    while (argument < rest.length && (rest.data[argument] == ' ' || rest.data[argument] == '\t'))
        argument++;
    if (argument == rest.length || strchr("\r\n;", rest.data[argument]))
        return parenthesis + 1;
    return parenthesis + 1 + utf8_count(rest.data, argument);
}
