// EDN as programs write it: one literal form of docs/reference/language.md 2 (no symbols, no calls)
// to a value. The way back is the canonical text (value/text/print.h).
#pragma once

#include "base/error.h"
#include "value/value.h"

struct edn_options {
    size_t max_depth;  // 0 = 128
    bool any_integer;  // also of more than 100 digits, which literals of programs may not have
    bool is_data;      // as clojure.edn: the first form of the text; symbols, lists (as vectors)
};

// Errors carry line and column: ERROR_SYNTAX, ERROR_ENCODING, ERROR_INVALID (a key or element
// twice), ERROR_LIMIT (depth). A full region is ERROR_MEMORY; values read until then stay in the
// region.
bool edn_read(struct region *region, struct span text, const struct edn_options *options,
              value *ret_value, struct error *error);
