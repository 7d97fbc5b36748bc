#include "tools/program/program_answer.h"

#include "base/utf8.h"
#include "tools/kept_output.h"
#include "tools/program/program_step.h"

enum { ANSWER_CHARACTERS = 20000 };

// A text that is too long: its beginning and its end.
static bool cut_text(struct buffer *text)
{
    size_t characters = utf8_count(text->data, text->length);
    if (characters <= ANSWER_CHARACTERS)
        return false;
    size_t tail = ANSWER_CHARACTERS / 4, head = ANSWER_CHARACTERS - tail;
    size_t head_bytes = utf8_offset(text->data, text->length, head);
    size_t tail_start = utf8_offset(text->data, text->length, characters - tail);
    CLEANUP_BUFFER struct buffer rest;
    buffer_init(&rest, BUFFER_DEFAULT_LIMIT);
    buffer_append(&rest, text->data + tail_start, text->length - tail_start);
    buffer_truncate(text, head_bytes);
    buffer_append_format(text, "\n[truncated: %zu characters omitted]\n",
                         characters - ANSWER_CHARACTERS);
    buffer_append_span(text, buffer_span(&rest));
    return true;
}

void program_answer_render(struct tools *tools, int64_t number, value step, struct buffer *text)
{
    program_step_render(text, step, number);
    if (utf8_count(buffer_text(text), text->length) <= ANSWER_CHARACTERS &&
        !program_step_has_more(step))
        return;
    struct kept_output *output = kept_output_new();
    CLEANUP_BUFFER struct buffer more;
    buffer_init(&more, BUFFER_DEFAULT_LIMIT);
    program_step_render_more(&more, step);
    kept_output_add(output, buffer_span(text));
    kept_output_add(output, buffer_span(&more));
    kept_output_store(tools, output, "", number, SPAN(""), cut_text(text) ? text : NULL);
}
