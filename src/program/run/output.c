#include "program/run/output.h"

#include "base/utf8.h"
#include "program/builtin/support.h"
#include "program/run/run_state.h"
#include "value/text/sink.h"

// What is captured is saved as two values: the prints before and whether their last line is open.
enum { SAVED = 2 };

static bool is_captured(const struct branch_state *branch)
{
    return branch->captures.tag == VALUE_VECTOR && vector_count(branch->captures) > 0;
}

// The line cut to the limit; consumes it.
static value cut_line(struct run *run, value line)
{
    struct span text = value_text(line);
    size_t end = utf8_offset(text.data, text.length, run->limits.max_print_length);
    if (end == text.length)
        return line;
    struct sink sink;
    sink_to_region(&sink, run->region);
    sink_span(&sink, (struct span){text.data, end});
    sink_text(&sink, "...");
    value_release(run->region, line);
    return sink_string(&sink);
}

void output_write(struct run *run, value text, bool ends)
{
    struct branch_state *branch = &run->state->branch;
    struct span bytes = value_text(text);
    if (!ends && bytes.length == 0 && !branch->line_open)
        return;
    if (!ends && bytes.length > 0 && bytes.data[bytes.length - 1] == '\n') {
        text = string_cut(run->region, text, 0, bytes.length - 1);
        ends = true;
    }
    size_t count = vector_count(branch->prints);
    if (branch->line_open) {
        value line = value_retain(vector_at(branch->prints, count - 1));
        branch->prints = vector_put(run->region, branch->prints, count - 1, value_nil());
        text = string_append(run->region, line, text);
    }
    run_spend(run, 1 + value_text(text).length / 256);
    if (!is_captured(branch))
        text = cut_line(run, text);
    branch->prints = branch->line_open ? vector_put(run->region, branch->prints, count - 1, text)
                                       : vector_push(run->region, branch->prints, text);
    branch->line_open = !ends;
}

void output_capture(struct run *run)
{
    struct branch_state *branch = &run->state->branch;
    if (branch->captures.tag != VALUE_VECTOR)
        branch->captures = vector_new(run->region, SAVED);
    value open = value_boolean(branch->line_open);
    branch->captures = vector_push(run->region, branch->captures, branch->prints);
    branch->captures = vector_push(run->region, branch->captures, open);
    branch->prints = vector_new(run->region, 0);
    branch->line_open = false;
}

// Back to what was printed before the innermost capture.
static void restore(struct run *run)
{
    struct branch_state *branch = &run->state->branch;
    size_t count = vector_count(branch->captures);
    value_release(run->region, branch->prints);
    branch->prints = value_retain(vector_at(branch->captures, count - SAVED));
    branch->line_open = vector_at(branch->captures, count - 1).boolean;
    branch->captures = vector_slice(run->region, branch->captures, 0, count - SAVED);
}

value output_captured(struct run *run)
{
    struct branch_state *branch = &run->state->branch;
    struct sink sink;
    sink_to_region(&sink, run->region);
    size_t count = vector_count(branch->prints);
    for (size_t i = 0; i < count; i++) {
        struct span line = value_text(vector_at(branch->prints, i));
        run_spend(run, 1 + line.length / 256);
        sink_span(&sink, line);
        if (i + 1 < count || !branch->line_open)
            sink_byte(&sink, '\n');
    }
    value text = sink_string(&sink);
    restore(run);
    return text;
}

size_t output_depth(const struct run *run)
{
    const struct branch_state *branch = &run->state->branch;
    return is_captured(branch) ? vector_count(branch->captures) / SAVED : 0;
}

void output_unwind(struct run *run, size_t depth)
{
    while (output_depth(run) > depth)
        restore(run);
}
