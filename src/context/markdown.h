// Items as a Markdown document for a prompt. The text is exact: docs/context.md describes it, and
// the same bytes leave through MCP, the command line and the prompt.
#pragma once

#include "base/buffer.h"
#include "context/item.h"

enum context_style { CONTEXT_BLOCK, CONTEXT_INLINE };
bool context_style_from_name(struct span name, enum context_style *ret_style);

enum { CONTEXT_MAX_CHARS_LOW = 200 };

struct context_rendering {
    size_t characters;
    size_t shown;
    size_t omitted;
    bool truncated;
};

// Appends the document, nothing without items. `items` are oldest first. max_chars 0 = no limit,
// else at least CONTEXT_MAX_CHARS_LOW code points: whole items are left out and the last one is cut
// until it fits, and the document says so. `region` is for scratch.
struct context_rendering context_render(struct buffer *buffer, struct region *region,
                                        const struct context_item *items, size_t count,
                                        size_t max_chars, enum context_style style);

// "math.lisp:5-7", "math.lisp:5", "math.lisp", or nothing; control characters become spaces.
void context_append_location(struct buffer *buffer, value metadata);
// The first line, white space collapsed, at most 80 characters, then "…" if anything was left out.
void context_append_preview(struct buffer *buffer, struct span content);
