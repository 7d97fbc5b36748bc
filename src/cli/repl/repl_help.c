// What `cadre repl` helps with while a line is typed: completion of commands and symbols, the
// arguments of the operator at hand, the partner of a parenthesis.
#include <stdio.h>
#include <string.h>

#include "cli/repl/repl_internal.h"
#include "lisp_syntax/lisp_form.h"
#include "lisp_syntax/lisp_syntax.h"

enum { QUERY_SECONDS = 2 };

// --- completion ----------------------------------------------------------------------------------

struct completion {
    size_t typed;
    size_t count;
    struct span common;  // beginning of all candidates
    struct buffer *insertion;
    struct buffer *choices;
};

static size_t common_prefix(struct span a, struct span b)
{
    size_t length = 0;
    while (length < a.length && length < b.length && a.data[length] == b.data[length])
        length++;
    return length;
}

static void add_candidate(struct completion *completion, struct span candidate)
{
    if (completion->count++ == 0)
        completion->common = candidate;
    completion->common.length = common_prefix(completion->common, candidate);
    buffer_append_text(completion->choices, completion->choices->length ? " " : "");
    buffer_append_span(completion->choices, candidate);
}

// What all candidates have in common is inserted; when that is nothing new, they are shown.
static void finish_completion(struct completion *completion)
{
    if (completion->count > 1 && completion->common.length <= completion->typed)
        return;
    buffer_clear(completion->choices);
    if (completion->common.length > completion->typed)
        buffer_append(completion->insertion, completion->common.data + completion->typed,
                      completion->common.length - completion->typed);
}

static void complete_symbol(void *data, const struct session_reply *reply)
{
    struct completion *completion = data;
    size_t count = reply->ok ? map_get_count(reply->result, "completions") : 0;
    for (size_t i = 0; i < count; i++)
        add_candidate(completion, value_text(map_get_item(reply->result, "completions", i)));
    finish_completion(completion);
}

static void complete(void *data, struct span word, bool first, struct buffer *insertion,
                     struct buffer *choices)
{
    struct repl *repl = data;
    struct completion completion = {
        .typed = word.length, .insertion = insertion, .choices = choices};
    for (size_t i = 0; first && word.data[0] == ':' && repl_command_name(i); i++)
        if (span_starts_with(span_from(repl_command_name(i)), word))
            add_candidate(&completion, span_from(repl_command_name(i)));
    if (completion.count > 0) {
        finish_completion(&completion);
        return;
    }
    value params = map_put_text(repl->region, map_new(repl->region), "prefix",
                                value_string(repl->region, word));
    struct session_request request = {
        .kind = SESSION_QUERY, .op = "complete", .params = params, .timeout = QUERY_SECONDS};
    session_loop_call(&repl->loop, &request, NULL, complete_symbol, &completion);
}

// --- arguments of the operator -------------------------------------------------------------------

struct arglist {
    struct span operator_name;
    struct buffer *hint;
};

// Without the packages of the names: they say nothing here.
static void append_names(struct buffer *text, struct span list)
{
    size_t start = text->length;  // of the present name
    for (size_t i = 0; i < list.length; i++) {
        char c = list.data[i];
        if (c == ':' && text->length > start) {
            buffer_truncate(text, start);
            i += i + 1 < list.length && list.data[i + 1] == ':';
            continue;
        }
        buffer_append_byte(text, c);
        if (strchr(" ()'\"", c))
            start = text->length;
    }
}

static void show_arglist(void *data, const struct session_reply *reply)
{
    struct arglist *arglist = data;
    struct span list = reply->ok ? map_get_string(reply->result, "arglist") : (struct span){"", 0};
    if (list.length < 2)
        return;
    buffer_append_byte(arglist->hint, '(');
    buffer_append_span(arglist->hint, arglist->operator_name);
    if (list.data[0] == '(' && list.length > 2)
        buffer_append_byte(arglist->hint, ' ');
    if (list.data[0] == '(')
        list = (struct span){list.data + 1, list.length - 1};
    append_names(arglist->hint, list);
}

static void query_arglist(struct repl *repl, struct span name)
{
    struct arglist arglist = {.operator_name = name, .hint = &repl->hint};
    value params =
        map_put_text(repl->region, map_new(repl->region), "name", value_string(repl->region, name));
    struct session_request request = {
        .kind = SESSION_QUERY, .op = "describe-symbol", .params = params, .timeout = QUERY_SECONDS};
    session_loop_call(&repl->loop, &request, NULL, show_arglist, &arglist);
}

// Asked for with every key: the answer for the last operator is kept.
static void hint(void *data, struct span text, struct buffer *hint_text)
{
    struct repl *repl = data;
    struct span name = lisp_form_operator(text);
    if (name.length == 0 || name.length >= sizeof(repl->hinted) ||
        name.data + name.length == text.data + text.length)
        return;  // none, or it is still being typed
    if (!span_equal_text(name, repl->hinted)) {
        snprintf(repl->hinted, sizeof(repl->hinted), "%.*s", (int)name.length, name.data);
        buffer_clear(&repl->hint);
        query_arglist(repl, name);
    }
    buffer_append_span(hint_text, buffer_span(&repl->hint));
}

// --- parentheses ---------------------------------------------------------------------------------

static bool match(void *data, struct span text, size_t *ret_offset)
{
    (void)data;
    unsigned line = 1, column = 0;
    for (size_t i = 0; i < text.length; i++) {
        if (text.data[i] == '\n') {
            line++;
            column = 0;
        } else if (((unsigned char)text.data[i] & 0xC0) != 0x80) {
            column++;
        }
    }
    struct syntax_position partner;
    const char *reason;
    if (!syntax_match(text, line, column, &partner, &reason))
        return false;
    *ret_offset = partner.offset;
    return true;
}

struct line_editor_help repl_help(struct repl *repl)
{
    return (struct line_editor_help){
        .complete = complete, .hint = hint, .match = match, .data = repl};
}
