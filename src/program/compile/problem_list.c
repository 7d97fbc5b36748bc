#include "program/compile/problem_list.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "program/compile/compilation.h"
#include "value/text/json.h"

// --- the list ------------------------------------------------------------------------------------

// The bytes of the string or the comment that begins here, 1 for any other character.
static size_t skip_text(struct span source, size_t at)
{
    size_t i = at;
    if (source.data[at] == '\\' && at + 1 < source.length)
        return 2;
    if (source.data[at] == '"') {
        for (i++; i < source.length && source.data[i] != '"'; i++)
            i += source.data[i] == '\\';
    } else if (source.data[at] == ';') {
        while (i < source.length && source.data[i] != '\n')
            i++;
    }
    return i < source.length ? i - at + 1 : source.length - at;
}

// Where the form ends that begins at `start`: behind its closing bracket, or at the end of its word.
static size_t form_end(struct span source, size_t start)
{
    size_t depth = 0, at = start;
    if (start < source.length && source.data[start] == '\\')  // an escape in a string
        return start + 2 < source.length ? start + 2 : source.length;
    while (at < source.length) {
        char c = source.data[at];
        bool opens = strchr("([{", c), closes = strchr(")]}", c), is_blank = strchr(" \t\r\n,", c);
        if (depth == 0 && at > start && (closes || is_blank))
            break;
        at += skip_text(source, at);
        depth += opens;
        if (closes && (depth == 0 || --depth == 0))
            break;
    }
    return at;
}

// On one line, cut when it is long.
static void copy_form(struct span source, size_t start, char text[PROBLEM_FORM_SIZE])
{
    static const char cut[] = "…";
    size_t end = form_end(source, start), length = 0, most = PROBLEM_FORM_SIZE - sizeof(cut);
    size_t i = start;
    for (; i < end && length < most; i++) {
        char c = strchr("\t\r\n", source.data[i]) ? ' ' : source.data[i];
        if (c != ' ' || (length && text[length - 1] != ' '))
            text[length++] = c;
    }
    length = utf8_valid_prefix(text, length);
    memcpy(text + length, i < end ? cut : "", i < end ? sizeof(cut) : 1);
}

void problem_list_add(struct problem_list *list, struct span source, enum failure_kind kind,
                      uint32_t offset, const char *message)
{
    unsigned at = list->count;
    for (unsigned i = 0; i < list->count; i++) {
        if (list->items[i].offset == offset &&
            strncmp(list->items[i].message, message, PROBLEM_MESSAGE_SIZE - 1) == 0)
            return;
    }
    if (list->count == PROBLEM_LIST_SIZE)
        return;
    while (at > 0 && list->items[at - 1].offset > offset)
        at--;
    struct problem *problem = &list->items[at];
    memmove(problem + 1, problem, (list->count - at) * sizeof(*problem));
    *problem = (struct problem){.kind = kind, .offset = offset};
    snprintf(problem->message, PROBLEM_MESSAGE_SIZE, "%s", message);
    problem->message[utf8_valid_prefix(problem->message, strlen(problem->message))] = '\0';
    source_position(source, offset, &problem->line, &problem->column);
    copy_form(source, offset, problem->form);
    list->count++;
}

void problem_list_hide_lines(struct problem_list *list, unsigned lines)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < list->count; i++) {
        if (list->items[i].line <= lines)
            continue;
        list->items[kept] = list->items[i];
        list->items[kept++].line -= lines;
    }
    list->count = kept;
}

void problem_list_write_json(const struct problem_list *list, struct buffer *buffer)
{
    buffer_append_byte(buffer, '[');
    for (unsigned i = 0; i < list->count; i++) {
        const struct problem *problem = &list->items[i];
        buffer_append_format(buffer, "%s{\"kind\":\"%s\",\"message\":", i ? "," : "",
                             failure_kind_name(problem->kind));
        json_write_string(buffer, span_from(problem->message));
        buffer_append_format(buffer, ",\"line\":%u,\"column\":%u,\"form\":", problem->line,
                             problem->column);
        json_write_string(buffer, span_from(problem->form));
        buffer_append_byte(buffer, '}');
    }
    buffer_append_byte(buffer, ']');
}

static const char heading[] = "\nall problems:\n";

static void write_line(size_t number, int64_t line, int64_t column, struct span form,
                       struct span message, struct buffer *buffer)
{
    buffer_append_format(buffer, "%zu. line %" PRId64 ", column %" PRId64 ": ", number, line,
                         column);
    buffer_append_span(buffer, form);
    buffer_append_text(buffer, "\n   ");
    buffer_append_span(buffer, message);
    buffer_append_byte(buffer, '\n');
}

void problem_list_write_text(const struct problem_list *list, struct buffer *buffer)
{
    if (list->count)
        buffer_append_text(buffer, heading);
    for (unsigned i = 0; i < list->count; i++) {
        const struct problem *problem = &list->items[i];
        write_line(i + 1, problem->line, problem->column, span_from(problem->form),
                   span_from(problem->message), buffer);
    }
}

void problems_write_text(value problems, struct buffer *buffer)
{
    size_t count = problems.tag == VALUE_VECTOR ? vector_count(problems) : 0;
    if (count)
        buffer_append_text(buffer, heading);
    for (size_t i = 0; i < count; i++) {
        value problem = vector_at(problems, i);
        write_line(i + 1, map_get_integer(problem, "line", 0),
                   map_get_integer(problem, "column", 0), map_get_string(problem, "form"),
                   map_get_string(problem, "message"), buffer);
    }
}

// --- trying --------------------------------------------------------------------------------------

// Not inlined, and without variables that are needed after the jump.
static __attribute__((noinline)) bool part_guarded(struct compilation *compilation,
                                                   compilation_part *part, void *data)
{
    if (__builtin_setjmp(compilation->exit))
        return false;
    part(data);
    return true;
}

bool compilation_try(struct compilation *compilation, compilation_part *part, void *data)
{
    void *outer[COMPILATION_EXIT_SIZE];
    memcpy(outer, compilation->exit, sizeof(outer));
    bool ok = part_guarded(compilation, part, data);
    memcpy(compilation->exit, outer, sizeof(outer));
    if (ok)
        return true;
    const struct diagnostic *diagnostic = compilation->diagnostic;
    if (diagnostic->limit_option)
        __builtin_longjmp(compilation->exit, 1);
    problem_list_add(compilation->problems, compilation->source, diagnostic->kind,
                     diagnostic->offset, diagnostic->message);
    if (compilation->problems->count == PROBLEM_LIST_SIZE)
        __builtin_longjmp(compilation->exit, 1);
    return false;
}
