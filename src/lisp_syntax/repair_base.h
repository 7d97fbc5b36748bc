// What an earlier, balanced version of a text tells its repair.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "lisp_syntax/lisp_tokens.h"
#include "lisp_syntax/repair_search.h"

struct repair_base {
    struct span text;
    struct buffer bare;  // the text without delimiters: ( ) " | #
    size_t *offsets;     // of each byte of it in the text, and the end
};

void repair_base_init(struct repair_base *base, struct span text);
void repair_base_release(struct repair_base *base);

// Whole lines of the base that differ from `segment` in delimiters only. `line` is where the segment
// begins; of several such places the nearest counts. False: there are none.
bool repair_base_find(const struct repair_base *base, struct span segment, unsigned line,
                      struct span *ret_lines);

// The whole text differs from the base in delimiters only.
bool repair_base_is_like(const struct repair_base *base, struct span text);

// Hints for each token of the segment, and for its end, from the form of the base that begins with the same
// words. Owned by the caller; NULL when there is no such form.
struct repair_hints *repair_base_hints(const struct repair_base *base, struct span segment,
                                       const struct lisp_tokens *tokens);
