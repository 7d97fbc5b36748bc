// Repairs the parentheses of Common Lisp text: from its indentation, and from an earlier version that was
// balanced. Works on one top-level form after the other: a line that begins with ( at the margin
// begins one. What is balanced stays as it is; where two repairs are as likely, nothing is changed.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "base/span.h"

enum repair_outcome {
    REPAIR_BALANCED,  // nothing to do
    REPAIR_DOUBTFUL,  // balanced, but a form is not where its indentation says
    REPAIR_REPAIRED,
    REPAIR_REFUSED,  // text is the original
};

enum { REPAIR_NOTES_MAXIMUM = 16, REPAIR_NOTE_SIZE = 160, REPAIR_TEXT_MAXIMUM = 16 << 20 };

// One sentence about one place.
struct repair_note {
    unsigned line;  // 1-based
    char text[REPAIR_NOTE_SIZE];
};

struct repair {
    enum repair_outcome outcome;
    struct buffer text;
    struct repair_note notes[REPAIR_NOTES_MAXIMUM];
    size_t note_count;  // those beyond the maximum are not kept
};

// `base` is the earlier version; empty when there is none. The caller releases the outcome.
void repair_init(struct repair *repair, struct span text, struct span base);
void repair_release(struct repair *repair);

// What the repair changes, as a unified diff. Both texts have the same lines.
void repair_diff(struct buffer *out, const char *name, struct span before, struct span after);
