// Finds tools by words: BM25 over name, description and parameter names. No index: a few thousand
// tools are read faster than an index is kept right.
#pragma once

#include "value/value.h"

// The names of those tools (a map: name → record with signature and description) that share a word
// with the query, best first; at most `limit`. Borrows both.
value tool_search(struct region *region, value tools, struct span query, size_t limit);
