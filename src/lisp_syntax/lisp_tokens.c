#include "lisp_syntax/lisp_tokens.h"

#include <string.h>

#include "base/ascii.h"
#include "base/memory.h"
#include "base/utf8.h"

enum { TAB_WIDTH = 8 };

struct lexer {
    struct span text;
    size_t offset;
    unsigned line, column;
    bool seen;  // a token on this line
    struct lisp_tokens *tokens;
};

static bool at_end(const struct lexer *l)
{
    return l->offset >= l->text.length;
}

static char peek(const struct lexer *l, size_t ahead)
{
    size_t offset = l->offset + ahead;
    return offset < l->text.length ? l->text.data[offset] : '\0';
}

static void step(struct lexer *l)
{
    if (at_end(l))
        return;
    char c = peek(l, 0);
    if (c == '\n') {
        l->line++;
        l->column = 0;
        l->seen = false;
        l->offset++;
        return;
    }
    uint32_t code_point;
    l->column = c == '\t' ? (l->column / TAB_WIDTH + 1) * TAB_WIDTH : l->column + 1;
    l->offset += utf8_decode(l->text.data + l->offset, l->text.length - l->offset, &code_point);
}

static void skip(struct lexer *l, size_t count)
{
    while (count-- > 0)
        step(l);
}

static void note_problem(struct lexer *l, enum syntax_problem problem, size_t offset)
{
    l->tokens->problem = problem;
    l->tokens->problem_offset = offset;
}

static struct lisp_token *begin(struct lexer *l, enum lisp_token_kind kind)
{
    struct lisp_tokens *tokens = l->tokens;
    if (tokens->count == tokens->capacity) {
        tokens->capacity = tokens->capacity ? tokens->capacity * 2 : 256;
        tokens->items = memory_resize(tokens->items, tokens->capacity * sizeof(*tokens->items));
    }
    struct lisp_token *token = &tokens->items[tokens->count++];
    *token = (struct lisp_token){kind, !l->seen, l->offset, 0, l->line, l->column};
    l->seen = true;
    return token;
}

static void end(struct lexer *l)
{
    struct lisp_token *token = &l->tokens->items[l->tokens->count - 1];
    token->length = l->offset - token->offset;
    l->seen = true;  // also when it went over several lines
}

static void take(struct lexer *l, enum lisp_token_kind kind, size_t length)
{
    begin(l, kind);
    skip(l, length);
    end(l);
}

static void skip_quoted(struct lexer *l, char quote, enum syntax_problem problem)
{
    size_t start = l->offset;
    step(l);
    while (!at_end(l)) {
        char c = peek(l, 0);
        if (c == '\\')
            step(l);
        step(l);
        if (c == quote)
            return;
    }
    note_problem(l, problem, start);
}

static void skip_block_comment(struct lexer *l)
{
    size_t start = l->offset, depth = 0;
    while (!at_end(l)) {
        bool opens = peek(l, 0) == '#' && peek(l, 1) == '|';
        bool closes = peek(l, 0) == '|' && peek(l, 1) == '#';
        step(l);
        if (!opens && !closes)
            continue;
        step(l);
        depth = opens ? depth + 1 : depth - 1;
        if (depth == 0)
            return;
    }
    note_problem(l, SYNTAX_OPEN_COMMENT, start);
}

static bool ends_atom(char c)
{
    return ascii_is_space(c) || (c != '\0' && strchr("()\"';`,", c) != NULL);
}

static void skip_atom(struct lexer *l)
{
    while (!at_end(l) && !ends_atom(peek(l, 0))) {
        char c = peek(l, 0);
        if (c == '|') {
            skip_quoted(l, '|', SYNTAX_OPEN_BAR);
            continue;
        }
        step(l);
        if (c == '\\')
            step(l);
    }
}

static void take_atom(struct lexer *l, size_t prefix)
{
    begin(l, LISP_TOKEN_ATOM);
    skip(l, prefix);
    skip_atom(l);
    end(l);
}

static void take_string(struct lexer *l)
{
    begin(l, LISP_TOKEN_ATOM);
    skip_quoted(l, '"', SYNTAX_OPEN_STRING);
    end(l);
}

// What begins with #: a comment, a prefix of what follows, a feature expression, or an atom.
static void take_sharp(struct lexer *l)
{
    size_t digits = 1;
    while (ascii_is_digit(peek(l, digits)))
        digits++;
    char kind = peek(l, digits), after = peek(l, digits + 1);
    if (kind == '|' && digits == 1)
        skip_block_comment(l);
    else if (kind == '\\')
        take_atom(l, digits + 2);  // the character itself, whatever it is
    else if (kind == '+' || kind == '-')
        take(l, LISP_TOKEN_FEATURE, digits + 1);
    else if (kind == '(' || kind == '"')
        take(l, LISP_TOKEN_PREFIX, digits);
    else if ((kind != '\0' && strchr("'.=,", kind)) || after == '(' || after == '"')
        take(l, LISP_TOKEN_PREFIX, digits + 1);
    else
        take_atom(l, digits);
}

static void take_one(struct lexer *l)
{
    char c = peek(l, 0);
    switch (c) {
    case ';':
        while (!at_end(l) && peek(l, 0) != '\n')
            step(l);
        return;
    case '(': take(l, LISP_TOKEN_OPEN, 1); return;
    case ')': take(l, LISP_TOKEN_CLOSE, 1); return;
    case '"': take_string(l); return;
    case '\'':
    case '`': take(l, LISP_TOKEN_PREFIX, 1); return;
    case ',': take(l, LISP_TOKEN_PREFIX, peek(l, 1) == '@' || peek(l, 1) == '.' ? 2 : 1); return;
    case '#': take_sharp(l); return;
    default: take_atom(l, 0);
    }
}

void lisp_tokens_init(struct lisp_tokens *tokens, struct span text)
{
    *tokens = (struct lisp_tokens){0};
    struct lexer lexer = {.text = text, .tokens = tokens};
    while (!at_end(&lexer)) {
        if (ascii_is_space(peek(&lexer, 0)))
            step(&lexer);
        else
            take_one(&lexer);
    }
}

void lisp_tokens_release(struct lisp_tokens *tokens)
{
    memory_free(tokens->items);
    *tokens = (struct lisp_tokens){0};
}

bool lisp_token_touches(const struct lisp_token *token, const struct lisp_token *next)
{
    return token->offset + token->length == next->offset;
}

struct span lisp_token_text(struct span text, const struct lisp_token *token)
{
    return (struct span){text.data + token->offset, token->length};
}
