#include "session/journal/journal_forms.h"

#include <string.h>
#include <strings.h>

#include "base/ascii.h"

static size_t skip_string(struct span text, size_t at, char end)
{
    for (at++; at < text.length && text.data[at] != end; at++)
        if (text.data[at] == '\\')
            at++;
    return at < text.length ? at + 1 : text.length;
}

// Behind "#|", which may hold others.
static size_t skip_block_comment(struct span text, size_t at)
{
    size_t depth = 1;
    while (at + 1 < text.length && depth > 0) {
        if (text.data[at] == '|' && text.data[at + 1] == '#') {
            depth--;
            at += 2;
        } else if (text.data[at] == '#' && text.data[at + 1] == '|') {
            depth++;
            at += 2;
        } else {
            at++;
        }
    }
    return depth == 0 ? at : text.length;
}

static size_t skip_line(struct span text, size_t at)
{
    while (at < text.length && text.data[at] != '\n')
        at++;
    return at;
}

static bool starts(struct span text, size_t at, const char *word)
{
    size_t length = strlen(word);
    return at + length <= text.length && memcmp(text.data + at, word, length) == 0;
}

// Behind one thing that is neither a parenthesis nor white space.
static size_t skip_token(struct span text, size_t at)
{
    char c = text.data[at];
    if (c == '"' || c == '|')
        return skip_string(text, at, c);
    if (c == ';')
        return skip_line(text, at);
    if (starts(text, at, "#|"))
        return skip_block_comment(text, at + 2);
    if (starts(text, at, "#\\"))
        at += 3;  // the character may be anything, its name goes on as a token
    for (; at < text.length && !strchr(" \t\n\r\f()\";|", text.data[at]); at++)
        if (text.data[at] == '\\')
            at++;
    return at < text.length ? at : text.length;
}

static bool is_blank(char c)
{
    return strchr(" \t\n\r\f", c) != NULL;
}

static size_t skip_blanks(struct span text, size_t at)
{
    while (at < text.length) {
        if (is_blank(text.data[at]))
            at++;
        else if (text.data[at] == ';')
            at = skip_line(text, at);
        else if (starts(text, at, "#|"))
            at = skip_block_comment(text, at + 2);
        else
            break;
    }
    return at;
}

// Behind one form; the length of the text when it does not end.
static size_t skip_form(struct span text, size_t at)
{
    size_t depth = 0;
    while (at < text.length) {
        at = skip_blanks(text, at);
        if (at >= text.length)
            break;
        char c = text.data[at];
        size_t before = at;
        if (c == '(') {
            depth++;
            at++;
            continue;
        }
        if (c == ')') {
            depth -= depth > 0;
            at++;
        } else {
            at = skip_token(text, at);
        }
        if (at == before)
            at++;
        // What follows a quote, or #' and its like, belongs to the same form.
        bool is_prefix = c != ')' && at < text.length && text.data[at] == '(';
        if (depth == 0 && !is_prefix)
            return at;
    }
    return depth == 0 ? at : text.length + 1;
}

bool export_next_form(struct span *code, struct span *ret_form)
{
    size_t start = skip_blanks(*code, 0);
    if (start >= code->length)
        return false;
    size_t end = skip_form(*code, start);
    if (end > code->length)
        return false;
    *ret_form = (struct span){code->data + start, end - start};
    *code = (struct span){code->data + end, code->length - end};
    return true;
}

struct span export_operator(struct span form)
{
    if (form.length == 0 || form.data[0] != '(')
        return (struct span){"", 0};
    size_t start = skip_blanks(form, 1), end = start;
    while (end < form.length && !is_blank(form.data[end]) && !strchr("()\"", form.data[end])) {
        if (form.data[end] == ':')
            start = end + 1;
        end++;
    }
    return (struct span){form.data + start, end - start};
}

static bool is_operator(struct span name, const char *text)
{
    return name.length == strlen(text) && strncasecmp(name.data, text, name.length) == 0;
}

bool export_definition_key(struct span form, struct span *ret_key)
{
    struct span name = export_operator(form);
    if (name.length < 4 || strncasecmp(name.data, "def", 3) != 0)
        return false;
    size_t at = (size_t)(name.data + name.length - form.data);
    at = skip_form(form, skip_blanks(form, at));  // the name
    if (is_operator(name, "defmethod")) {
        while (at < form.length) {  // qualifiers, then the lambda list
            at = skip_blanks(form, at);
            bool is_list = at < form.length && form.data[at] == '(';
            at = skip_form(form, at);
            if (is_list)
                break;
        }
    }
    size_t start = (size_t)(name.data - form.data);
    if (at > form.length)
        at = form.length;
    *ret_key = (struct span){form.data + start, at - start};
    return true;
}
