// The Step of a program: its text, and the one that the server makes for a run that timed out
// before it could make its own.
#pragma once

#include "base/buffer.h"
#include "value/value.h"

// Value, prints, warnings, the error, and under the program's number a line per tool it called.
void program_step_render(struct buffer *text, value step, int64_t number);
// Whether there is more to know of it than its text has; and that: calls of tools with arguments and
// results, memory, usage.
bool program_step_has_more(value step);
void program_step_render_more(struct buffer *text, value step);

// The failure of a Step as tools report errors: {code, message}.
value program_step_error(struct region *region, value fail);

struct timed_out_step {
    const char *what;  // "evaluation exceeded"; the limit follows
    int64_t timeout_ms;
    int64_t duration_ms;  // negative: evaluation had not begun
    value memory;         // as before the run; consumed
};
value program_step_timed_out(struct region *region, const struct timed_out_step *timed_out);
