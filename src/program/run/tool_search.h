// Finds tools by words: BM25 over name, parameter names and description. No index: a few thousand
// tools are read faster than an index is kept right.
#pragma once

#include "base/region.h"
#include "base/span.h"

struct tool_text {
    struct span name, signature, description;
};

// The tools that share a word with the query, best first: their numbers in `tools`, at most `limit`,
// go to ret_found, whose length is returned. Scratch memory is of the region.
size_t tool_search(struct region *region, const struct tool_text *tools, size_t count,
                   struct span query, size_t limit, size_t *ret_found);
