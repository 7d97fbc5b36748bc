#include "daemon/message_peek.h"

#include <string.h>

static size_t skip_blanks(struct span text, size_t at)
{
    while (at < text.length && strchr(" \t\r\n", text.data[at]))
        at++;
    return at;
}

// From the opening quote to behind the closing one; the length of the text when it has none.
static size_t skip_string(struct span text, size_t at)
{
    for (at++; at < text.length && text.data[at] != '"'; at++)
        if (text.data[at] == '\\')
            at++;
    return at < text.length ? at + 1 : text.length;
}

// Behind one value. Brackets are counted, not matched: who reads the message will complain.
static size_t skip_value(struct span text, size_t at)
{
    size_t depth = 0;
    while (at < text.length) {
        char c = text.data[at];
        if (c == '"') {
            at = skip_string(text, at);
        } else if (c == '{' || c == '[') {
            depth++;
            at++;
        } else if (c == '}' || c == ']') {
            if (depth == 0)
                return at;
            depth--;
            at++;
        } else if (depth == 0 && (c == ',' || c == ':')) {
            return at;
        } else {
            at++;
            continue;
        }
        if (depth == 0)
            return at;
    }
    return at;
}

static struct span trim(struct span text)
{
    while (text.length > 0 && strchr(" \t\r\n", text.data[text.length - 1]))
        text.length--;
    return text;
}

static struct span without_quotes(struct span text)
{
    if (text.length < 2 || text.data[0] != '"')
        return (struct span){"", 0};
    return (struct span){text.data + 1, text.length - 2};
}

// Members of an object; `at` is behind its opening brace. Where the object ends.
typedef void member_fn(struct span name, struct span item, struct message_peek *peek);

static size_t visit_members(struct span text, size_t at, member_fn *visit,
                            struct message_peek *peek)
{
    for (;;) {
        at = skip_blanks(text, at);
        if (at >= text.length || text.data[at] != '"')
            break;
        size_t name_end = skip_string(text, at);
        struct span name = {text.data + at, name_end - at};
        at = skip_blanks(text, name_end);
        if (at >= text.length || text.data[at] != ':')
            break;
        at = skip_blanks(text, at + 1);
        size_t end = skip_value(text, at);
        visit(name, trim((struct span){text.data + at, end - at}), peek);
        at = skip_blanks(text, end);
        if (at >= text.length || text.data[at] != ',')
            break;
        at++;
    }
    return at;
}

static void visit_parameter(struct span name, struct span item, struct message_peek *peek)
{
    if (span_equal_text(name, "\"uri\""))
        peek->uri = item;
    else if (span_equal_text(name, "\"requestId\""))
        peek->request_id = item;
}

static void visit_member(struct span name, struct span item, struct message_peek *peek)
{
    if (span_equal_text(name, "\"id\""))
        peek->id = item;
    else if (span_equal_text(name, "\"method\""))
        peek->method = without_quotes(item);
    else if (span_equal_text(name, "\"params\"") && item.length > 0 && item.data[0] == '{')
        visit_members(item, 1, visit_parameter, peek);
}

bool message_peek(struct span line, size_t *at, struct message_peek *ret_peek)
{
    size_t start = skip_blanks(line, *at);
    if (*at == 0 && start < line.length && line.data[start] == '[')
        start = skip_blanks(line, start + 1);
    if (*at > 0 && start < line.length && line.data[start] == ',')
        start = skip_blanks(line, start + 1);
    if (start >= line.length || line.data[start] != '{')
        return false;
    *ret_peek = (struct message_peek){0};
    visit_members(line, start + 1, visit_member, ret_peek);
    *at = skip_value(line, start);
    return true;
}
