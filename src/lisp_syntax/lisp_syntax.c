#include "lisp_syntax/lisp_syntax.h"

#include <string.h>

#include "base/ascii.h"
#include "base/memory.h"
#include "base/utf8.h"

enum list_state {
    LIST_EMPTY,
    LIST_ELEMENTS,
    LIST_DOT,      // the element after the dot is missing
    LIST_TAIL,     // it was there
    LIST_UNKNOWN,  // #+ or #- decides how many elements there are
};

// A list, or the text as a whole.
struct context {
    struct syntax_position open;
    enum list_state state;
    unsigned level;        // backquotes around its elements that no comma has undone
    unsigned conditional;  // elements to come that belong to a #+ or #-
    bool doubtful;         // all of it belongs to one
};

struct scanner {
    struct span code;
    struct syntax_position now;
    struct context *stack;  // the text, then the open lists
    size_t depth;           // open lists
    size_t capacity;
    unsigned level;    // backquotes around what comes next
    unsigned merge;    // top-level forms that belong to a #+ or #- before them
    bool prefix_open;  // a quote or similar whose form has not come yet
    struct syntax_position prefix;
    struct syntax_report *report;
    // the question of syntax_match
    size_t wanted;  // byte offset, or SIZE_MAX
    bool found;
    struct syntax_position match;
};

// What a symbol or number looks like.
struct token {
    struct syntax_position start;
    unsigned markers;  // runs of colons
    unsigned colons;   // in the run that has most
    bool ends_in_colon;
    bool dots_only;
};

static bool at_end(const struct scanner *s)
{
    return s->now.offset >= s->code.length;
}

static char peek(const struct scanner *s, size_t ahead)
{
    size_t offset = s->now.offset + ahead;
    return offset < s->code.length ? s->code.data[offset] : '\0';
}

// One character forward; columns count code points.
static void step(struct scanner *s)
{
    if (at_end(s))
        return;
    if (s->code.data[s->now.offset] == '\n') {
        s->now.line++;
        s->now.column = 1;
        s->now.offset++;
        return;
    }
    uint32_t code_point;
    s->now.offset +=
        utf8_decode(s->code.data + s->now.offset, s->code.length - s->now.offset, &code_point);
    s->now.column++;
}

static bool fail(struct scanner *s, enum syntax_problem problem, struct syntax_position at)
{
    s->report->problem = problem;
    s->report->at = at;
    return false;
}

// Records the first error. What is left open matters more, so the scan goes on.
static void refuse(struct scanner *s, enum syntax_problem problem, struct syntax_position at)
{
    if (s->report->problem == SYNTAX_VALID)
        fail(s, problem, at);
}

static struct context *context(struct scanner *s)
{
    return &s->stack[s->depth];
}

// Whether a #+ or #- may leave out what comes next: then it is not refused.
static bool is_doubtful(struct scanner *s)
{
    return context(s)->doubtful || context(s)->conditional > 0;
}

static void element_done(struct scanner *s)
{
    struct context *list = context(s);
    if (list->conditional > 0)
        list->conditional--;
    else if (list->state == LIST_EMPTY)
        list->state = LIST_ELEMENTS;
    else if (list->state == LIST_DOT)
        list->state = LIST_TAIL;
    else if (list->state == LIST_TAIL && !list->doubtful)
        refuse(s, SYNTAX_DOT, s->now);
}

static void form_done(struct scanner *s)
{
    s->prefix_open = false;
    s->level = context(s)->level;
    element_done(s);
    if (s->depth > 0)
        return;
    if (s->merge > 0)
        s->merge--;
    else
        s->report->forms++;
}

static void prefix_seen(struct scanner *s)
{
    if (!s->prefix_open)
        s->prefix = s->now;
    s->prefix_open = true;
}

static void condition_seen(struct scanner *s)
{
    if (s->depth == 0)
        s->merge++;
    context(s)->conditional += 2;  // the features and the form
    context(s)->state = LIST_UNKNOWN;
}

static void comma_seen(struct scanner *s)
{
    if (s->level > 0)
        s->level--;
    else if (!is_doubtful(s))
        refuse(s, SYNTAX_COMMA, s->now);
}

static void dot_seen(struct scanner *s, struct syntax_position at)
{
    struct context *list = context(s);
    bool fits = s->depth > 0 && !s->prefix_open &&
                (list->state == LIST_ELEMENTS || list->state == LIST_UNKNOWN);
    if (list->state == LIST_ELEMENTS)
        list->state = LIST_DOT;
    if (!fits && !is_doubtful(s))
        refuse(s, SYNTAX_DOT, at);
    s->prefix_open = false;
}

static void push_context(struct scanner *s, struct context entry)
{
    size_t count = s->stack ? s->depth + 1 : 0;
    if (count == s->capacity) {
        s->capacity = s->capacity ? s->capacity * 2 : 64;
        s->stack = memory_resize(s->stack, s->capacity * sizeof(*s->stack));
    }
    s->stack[count] = entry;
    s->depth = count;
}

static bool list_open(struct scanner *s)
{
    push_context(s,
                 (struct context){.open = s->now, .level = s->level, .doubtful = is_doubtful(s)});
    s->prefix_open = false;
    step(s);
    return true;
}

static bool list_close(struct scanner *s)
{
    if (s->depth == 0)
        return fail(s, SYNTAX_STRAY_CLOSE, s->now);
    if (s->prefix_open)
        return fail(s, SYNTAX_OPEN_PREFIX, s->prefix);
    struct context *list = context(s);
    if (list->state == LIST_DOT && !list->doubtful)
        refuse(s, SYNTAX_DOT, s->now);
    struct syntax_position open = list->open;
    s->depth--;
    if (open.offset == s->wanted) {
        s->found = true;
        s->match = s->now;
    } else if (s->now.offset == s->wanted) {
        s->found = true;
        s->match = open;
    }
    step(s);
    form_done(s);
    return true;
}

static bool skip_string(struct scanner *s, char quote, enum syntax_problem problem)
{
    struct syntax_position start = s->now;
    step(s);
    while (!at_end(s)) {
        char c = peek(s, 0);
        if (c == '\\')
            step(s);
        step(s);
        if (c == quote)
            return true;
    }
    return fail(s, problem, start);
}

static bool skip_block_comment(struct scanner *s)
{
    struct syntax_position start = s->now;
    size_t depth = 0;
    while (!at_end(s)) {
        int change = peek(s, 0) == '#' && peek(s, 1) == '|'   ? 1
                     : peek(s, 0) == '|' && peek(s, 1) == '#' ? -1
                                                              : 0;
        step(s);
        if (change == 0)
            continue;
        step(s);
        depth = change > 0 ? depth + 1 : depth - 1;
        if (depth == 0)
            return true;
    }
    return fail(s, SYNTAX_OPEN_COMMENT, start);
}

static bool is_one_of(char c, const char *characters)
{
    return c != '\0' && strchr(characters, c) != NULL;
}

static bool is_terminator(char c)
{
    return is_one_of(c, " \t\r\n\f\v()\"';`,");
}

static void note_character(struct token *token, char c, unsigned *run)
{
    *run = c == ':' ? *run + 1 : 0;
    token->markers += *run == 1;
    token->colons = *run > token->colons ? *run : token->colons;
    token->ends_in_colon = *run > 0;
    token->dots_only = token->dots_only && c == '.';
}

// A symbol or number: everything up to a terminating character; bars and escapes protect.
static bool skip_token(struct scanner *s, struct token *ret_token)
{
    unsigned run = 0;
    *ret_token = (struct token){.start = s->now, .dots_only = true};
    while (!at_end(s) && !is_terminator(peek(s, 0))) {
        struct syntax_position start = s->now;
        char c = peek(s, 0);
        note_character(ret_token, c, &run);
        if (c == '|') {
            if (!skip_string(s, '|', SYNTAX_OPEN_BAR))
                return false;
            continue;
        }
        step(s);
        if (c != '\\')
            continue;
        if (at_end(s))
            return fail(s, SYNTAX_OPEN_ESCAPE, start);
        step(s);
    }
    return true;
}

// The rest of a token that begins with #; its syntax depends on the character after that.
static bool skip_rest(struct scanner *s)
{
    struct token token;
    if (!skip_token(s, &token))
        return false;
    form_done(s);
    return true;
}

static bool scan_token(struct scanner *s)
{
    struct token token;
    if (!skip_token(s, &token))
        return false;
    size_t length = s->now.offset - token.start.offset;
    if (token.dots_only && length == 1) {
        dot_seen(s, token.start);
        return true;
    }
    if (!is_doubtful(s)) {
        if (token.dots_only)
            refuse(s, SYNTAX_DOT, token.start);
        if (token.markers > 1 || token.colons > 2 || token.ends_in_colon)
            refuse(s, SYNTAX_COLON, token.start);
    }
    form_done(s);
    return true;
}

static bool skip_character(struct scanner *s)
{
    step(s);  // #
    step(s);  // backslash
    if (at_end(s))
        return fail(s, SYNTAX_OPEN_PREFIX, s->now);
    step(s);  // the character itself, whatever it is
    return skip_rest(s);
}

// --- what begins with # --------------------------------------------------------------------------

static bool skip_characters(struct scanner *s, size_t count)
{
    for (size_t i = 0; i < count; i++)
        step(s);
    return true;
}

// #' #. #= #, or the end of the text: the form follows. After #+ and #- features and a form.
static bool scan_sharp_prefix(struct scanner *s, char kind, size_t length)
{
    prefix_seen(s);
    if (kind == '+' || kind == '-')
        condition_seen(s);
    return skip_characters(s, length);
}

// How much stands before the list or string that #( #" #A( #S( #C( #P" are followed by; 0: it is a
// token, like #x1F #:sym #*01.
static size_t sharp_object_prefix(const struct scanner *s, size_t digits)
{
    if (is_one_of(peek(s, digits), "(\""))
        return digits;
    return is_one_of(peek(s, digits + 1), "(\"") ? digits + 1 : 0;
}

static bool scan_sharp(struct scanner *s)
{
    size_t digits = 1;  // with the # itself
    while (ascii_is_digit(peek(s, digits)))
        digits++;
    char kind = peek(s, digits);
    if (kind == '|' && digits == 1)
        return skip_block_comment(s);
    if (kind == '\\')
        return skip_character(s);
    if (is_one_of(kind, "<) \t\r\n\f"))
        refuse(s, SYNTAX_SHARP, s->now);
    if (kind == '#' && digits > 1) {  // #1# is a whole form
        skip_characters(s, digits + 1);
        form_done(s);
        return true;
    }
    if (kind == '\0' || is_one_of(kind, "'.=+-,"))
        return scan_sharp_prefix(s, kind, digits + 1);
    size_t prefix = sharp_object_prefix(s, digits);
    return prefix > 0 ? skip_characters(s, prefix) : skip_rest(s);
}

// --- the scan ------------------------------------------------------------------------------------

static bool skip_line_comment(struct scanner *s)
{
    while (!at_end(s) && peek(s, 0) != '\n')
        step(s);
    return true;
}

static bool scan_string(struct scanner *s)
{
    if (!skip_string(s, '"', SYNTAX_OPEN_STRING))
        return false;
    form_done(s);
    return true;
}

static bool scan_quote(struct scanner *s, unsigned backquotes)
{
    prefix_seen(s);
    s->level += backquotes;
    return skip_characters(s, 1);
}

static bool scan_comma(struct scanner *s)
{
    prefix_seen(s);
    comma_seen(s);
    step(s);
    return skip_characters(s, is_one_of(peek(s, 0), "@."));
}

static bool scan_one(struct scanner *s)
{
    char c = peek(s, 0);
    if (ascii_is_space(c))
        return skip_characters(s, 1);
    switch (c) {
    case ';': return skip_line_comment(s);
    case '(': return list_open(s);
    case ')': return list_close(s);
    case '"': return scan_string(s);
    case '\'': return scan_quote(s, 0);
    case '`': return scan_quote(s, 1);
    case ',': return scan_comma(s);
    case '#': return scan_sharp(s);
    default: return scan_token(s);
    }
}

static bool is_open(enum syntax_problem problem)
{
    return problem >= SYNTAX_OPEN_LIST && problem <= SYNTAX_OPEN_ESCAPE;
}

static void scan(struct scanner *s)
{
    push_context(s, (struct context){.state = LIST_UNKNOWN});
    while (!at_end(s) && !s->found)
        if (!scan_one(s))
            break;
    struct syntax_report *report = s->report;
    report->open_parentheses = s->depth;
    if (s->depth > 0)
        report->innermost = context(s)->open;
    bool undecided = !is_open(report->problem) && report->problem != SYNTAX_STRAY_CLOSE;
    if (undecided && s->depth > 0)
        fail(s, SYNTAX_OPEN_LIST, s->stack[1].open);
    else if (undecided && s->prefix_open)
        fail(s, SYNTAX_OPEN_PREFIX, s->prefix);
    memory_free(s->stack);
}

void syntax_check(struct span code, struct syntax_report *ret_report)
{
    *ret_report = (struct syntax_report){0};
    struct scanner scanner = {
        .code = code, .now = {0, 1, 1}, .report = ret_report, .wanted = SIZE_MAX};
    scan(&scanner);
}

bool syntax_is_incomplete(const struct syntax_report *report)
{
    return is_open(report->problem);
}

// The byte offset of a position, SIZE_MAX when the text has no such place.
static size_t offset_of(struct span code, unsigned line, unsigned column)
{
    struct scanner s = {.code = code, .now = {0, 1, 1}};
    while (!at_end(&s) && (s.now.line < line || (s.now.line == line && s.now.column < column)))
        step(&s);
    bool reached = !at_end(&s) && s.now.line == line && s.now.column == column;
    return reached ? s.now.offset : SIZE_MAX;
}

bool syntax_match(struct span code, unsigned line, unsigned column,
                  struct syntax_position *ret_match, const char **ret_reason)
{
    size_t wanted = offset_of(code, line, column);
    if (wanted == SIZE_MAX) {
        *ret_reason = "the code has no such position";
        return false;
    }
    if (code.data[wanted] != '(' && code.data[wanted] != ')') {
        *ret_reason = "there is no parenthesis at this position";
        return false;
    }
    struct syntax_report report = {0};
    struct scanner scanner = {.code = code, .now = {0, 1, 1}, .report = &report, .wanted = wanted};
    scan(&scanner);
    if (scanner.found) {
        *ret_match = scanner.match;
        return true;
    }
    if (report.problem == SYNTAX_STRAY_CLOSE && report.at.offset == wanted)
        *ret_reason = "this ) closes nothing";
    else if (report.open_parentheses > 0 && code.data[wanted] == '(')
        *ret_reason = "this ( is never closed";
    else
        *ret_reason = "this character is part of a string, comment, character or symbol";
    return false;
}
