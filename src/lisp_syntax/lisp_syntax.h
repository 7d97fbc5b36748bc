// A scanner for Common Lisp text that never reads: nothing is interned, `#.` runs nothing, unknown
// packages do not matter. It knows strings, characters, bars, escapes, line and nested block
// comments, and answers three questions: is the text complete, where does it break, which
// parenthesis belongs to which. It refuses what the standard reader refuses whatever is defined and
// whichever features there are. Linear time, memory a few words per open parenthesis.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/span.h"

struct syntax_position {
    size_t offset;    // bytes
    unsigned line;    // 1-based
    unsigned column;  // 1-based, code points
};

enum syntax_problem {
    SYNTAX_VALID,
    SYNTAX_OPEN_LIST,  // the text ends inside a list
    SYNTAX_OPEN_STRING,
    SYNTAX_OPEN_BAR,      // inside |a symbol
    SYNTAX_OPEN_COMMENT,  // inside #| … |#
    SYNTAX_OPEN_PREFIX,   // after a quote, #', #+ … whose form is missing
    SYNTAX_OPEN_ESCAPE,   // after a backslash
    SYNTAX_STRAY_CLOSE,   // a ) that closes nothing
    SYNTAX_DOT,           // ( . a), (a . b c), a list that ends in a dot, ..
    SYNTAX_COMMA,         // outside any backquote
    SYNTAX_COLON,         // a:b:c, a:
    SYNTAX_SHARP,         // #<, #), # and white space
};

struct syntax_report {
    enum syntax_problem problem;
    size_t forms;                      // complete top-level forms
    size_t open_parentheses;           // at the end of the text
    struct syntax_position at;         // where what is open was opened, or the stray )
    struct syntax_position innermost;  // the innermost open parenthesis, when open_parentheses > 0
};

void syntax_check(struct span code, struct syntax_report *ret_report);

// More input could complete the text: what a line editor asks before it evaluates.
bool syntax_is_incomplete(const struct syntax_report *report);

// The partner of the parenthesis at (line, column). False: *ret_reason says why there is none.
bool syntax_match(struct span code, unsigned line, unsigned column,
                  struct syntax_position *ret_match, const char **ret_reason);
