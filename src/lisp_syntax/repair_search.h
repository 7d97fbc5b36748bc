// The search behind repair.h: which parentheses to add or leave out so that a run of top-level forms is
// balanced and agrees with its indentation. A shortest path over the tokens: a state is the stack of
// open lists, an edit costs, and so does each line that stands where its list would not put it. The
// second-best path says whether the best one can be believed.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "lisp_syntax/lisp_tokens.h"

enum repair_edit_kind { REPAIR_ADD_CLOSE, REPAIR_ADD_OPEN, REPAIR_DROP };

enum { REPAIR_EDITS_MAXIMUM = 6 };

struct repair_edit {
    enum repair_edit_kind kind;
    size_t
        token;  // the one that goes, or before which one is added; the count of tokens: at the end
};

// What an earlier, balanced version says of the parentheses before each token (and at the end).
enum repair_hint {
    REPAIR_HINT_NONE,
    REPAIR_HINT_SAME,  // they stood so before: leave them
    REPAIR_HINT_MORE,  // there were more
    REPAIR_HINT_LESS,  // there were fewer
};

struct repair_hints {
    unsigned char open, close;  // enum repair_hint, for each kind of parenthesis
};

struct repair_path {
    struct repair_edit edits[REPAIR_EDITS_MAXIMUM];
    size_t count;
    unsigned cost;
};

struct repair_paths {
    struct repair_path best, second;
    bool has_best, has_second;
};

// `hints` has an entry per token and one for the end, or is NULL.
void repair_search(const struct lisp_tokens *tokens, struct span text,
                   const struct repair_hints *hints, struct repair_paths *ret_paths);

// What the text costs without edits: 0 when it is indented as its parentheses say. UINT_MAX when it is not
// balanced.
unsigned repair_disagreement(const struct lisp_tokens *tokens, struct span text);
