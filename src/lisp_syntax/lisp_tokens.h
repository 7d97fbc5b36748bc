// Common Lisp text as a flat list of tokens: the parentheses, and what stands between them. Unlike
// lisp_syntax.h it needs no balance: whatever the parentheses are, every one becomes a token.
// White space and comments become nothing. Linear time, a few words per token.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/span.h"
#include "lisp_syntax/lisp_syntax.h"

enum lisp_token_kind {
    LISP_TOKEN_OPEN,
    LISP_TOKEN_CLOSE,
    LISP_TOKEN_ATOM,     // a symbol, number, character or string
    LISP_TOKEN_PREFIX,   // ' ` , ,@ #' #( is a prefix and an open parenthesis
    LISP_TOKEN_FEATURE,  // #+ or #-: the features follow as tokens of their own
};

struct lisp_token {
    enum lisp_token_kind kind;
    bool first;  // nothing but white space and comments before it on its line
    size_t offset, length;
    unsigned line;    // from 0
    unsigned column;  // from 0, code points; a tab goes to the next multiple of 8
};

struct lisp_tokens {
    struct lisp_token *items;
    size_t count, capacity;
    enum syntax_problem problem;  // SYNTAX_VALID, or a string, bar or comment that does not end
    size_t problem_offset;        // where it begins
};

void lisp_tokens_init(struct lisp_tokens *tokens, struct span text);
void lisp_tokens_release(struct lisp_tokens *tokens);

// The next token stands directly behind this one: "((" or "'a".
bool lisp_token_touches(const struct lisp_token *token, const struct lisp_token *next);
struct span lisp_token_text(struct span text, const struct lisp_token *token);
