// The section [Backtrace] of a failed evaluation. Frames that repeat, alone or in a cycle of a few
// functions, are folded into one line, and so are frames of ASDF and the compiler; what called them
// is shown. Numbers stay those of get-backtrace, which shows every frame.
#include <inttypes.h>

#include "base/array.h"
#include "tools/result/result_text.h"

enum {
    CYCLE_MAX = 4,         // functions that call each other in turn
    REPEATS_SHOWN = 2,     // cycles before a fold
    REPEATS_FOLDED = 100,  // cycles that are worth a fold: arguments of fewer calls may tell a lot
    MACHINERY_FOLDED = 3,
};

struct frames {
    value all;
    size_t count;
};

static value frame_at(const struct frames *frames, size_t index)
{
    return vector_at(frames->all, index);
}

static int64_t number_at(const struct frames *frames, size_t index)
{
    return map_get_integer(frame_at(frames, index), "number", 0);
}

static bool is_machinery(const struct frames *frames, size_t index)
{
    return map_get_boolean(frame_at(frames, index), "machinery");
}

static bool same_function(const struct frames *frames, size_t a, size_t b)
{
    return span_equal(map_get_string(frame_at(frames, a), "function"),
                      map_get_string(frame_at(frames, b), "function"));
}

// The index after the frames that repeat the `cycle` functions from `start` on. Frames that were not
// captured are taken for part of it when both sides are.
static size_t cycle_end(const struct frames *frames, size_t start, size_t cycle)
{
    size_t end = start + cycle;
    while (end < frames->count) {
        int64_t distance = number_at(frames, end) - number_at(frames, start);
        if (!same_function(frames, end, start + (size_t)(distance % (int64_t)cycle)))
            break;
        end++;
    }
    return end;
}

// The length of the cycle from `start` on that repeats often enough to be folded; 0: there is none.
static size_t folded_cycle(const struct frames *frames, size_t start, size_t *ret_end)
{
    for (size_t cycle = 1; cycle <= CYCLE_MAX && start + cycle < frames->count; cycle++) {
        size_t end = cycle_end(frames, start, cycle);
        if (end - start >= cycle * REPEATS_FOLDED) {
            *ret_end = end;
            return cycle;
        }
    }
    return 0;
}

static size_t machinery_end(const struct frames *frames, size_t start)
{
    size_t end = start;
    while (end < frames->count && is_machinery(frames, end))
        end++;
    return end;
}

static void append_grouped(struct buffer *text, int64_t number)
{
    if (number >= 1000) {
        append_grouped(text, number / 1000);
        buffer_append_format(text, ",%03" PRId64, number % 1000);
    } else {
        buffer_append_format(text, "%" PRId64, number);
    }
}

static void append_frame(struct buffer *text, const struct frames *frames, size_t index)
{
    buffer_append_format(text, "\n%" PRId64 ": ", number_at(frames, index));
    buffer_append_span(text, map_get_string(frame_at(frames, index), "call"));
}

// `… 41,233 × (F …)`
static void append_repeats(struct buffer *text, const struct frames *frames, size_t start,
                           size_t cycle, int64_t repeats)
{
    buffer_append_text(text, "\n… ");
    append_grouped(text, repeats);
    buffer_append_text(text, " ×");
    for (size_t i = 0; i < cycle; i++) {
        buffer_append_text(text, i ? ", (" : " (");
        buffer_append_span(text, map_get_string(frame_at(frames, start + i), "function"));
        buffer_append_text(text, " …)");
    }
}

// Appends what begins at `start`, a frame or a fold; returns how many lines that took, and where the
// next begins.
static int64_t append_next(struct buffer *text, const struct frames *frames, size_t start,
                           size_t *ret_next)
{
    size_t end = machinery_end(frames, start);
    if (end - start >= MACHINERY_FOLDED) {
        buffer_append_format(text, "\n… %zu frames of ASDF and the compiler", end - start);
        *ret_next = end;
        return 1;
    }
    size_t cycle = folded_cycle(frames, start, &end);
    if (cycle == 0) {
        append_frame(text, frames, start);
        *ret_next = start + 1;
        return 1;
    }
    size_t shown = cycle * REPEATS_SHOWN;
    for (size_t i = 0; i < shown; i++)
        append_frame(text, frames, start + i);
    int64_t covered = number_at(frames, end - 1) + 1 - number_at(frames, start + shown);
    append_repeats(text, frames, start + shown, cycle, covered / (int64_t)cycle);
    // What is left of the last cycle belongs to it, too.
    *ret_next = end;
    return (int64_t)shown + 1;
}

static bool all_machinery(const struct frames *frames)
{
    // The last is the evaluation itself.
    return frames->count > 1 && machinery_end(frames, 0) >= frames->count - 1;
}

void render_backtrace(struct buffer *text, const struct session_reply *reply)
{
    value all = map_get(reply->error, "frames");
    struct frames frames = {all, value_is_vector(all) ? vector_count(all) : 0};
    if (all_machinery(&frames))
        return;
    render_gap(text);
    buffer_append_text(text, "[Backtrace]");
    size_t next = 0;
    for (int64_t lines = 0; next < frames.count && lines < reply->limits.max_frames;)
        lines += append_next(text, &frames, next, &next);
    int64_t depth = map_get_integer(reply->error, "depth", (int64_t)frames.count),
            seen = next < frames.count ? number_at(&frames, next) : depth;
    if (frames.count == 0) {
        buffer_append_text(text, "\n(no Lisp frames available)");
    } else if (depth > seen) {
        buffer_append_text(text, "\n... ");
        render_counted(text, depth - seen, "more frame");
        const char *way = reply->advice.more_frames;
        if (!way || *way)
            buffer_append_format(text, " (%s)", way ? way : "get-backtrace");
    }
}
