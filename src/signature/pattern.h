// Patterns that strings have to fit: regular expressions as JSON Schema has them (ECMA-262), found
// anywhere in the string unless they are anchored.
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/span.h"

struct region;
struct signature_pattern;

// Compiled in the arena, where it may be used by several threads. NULL: ERROR_SYNTAX, ERROR_LIMIT or
// ERROR_MEMORY.
const struct signature_pattern *signature_pattern_new(struct arena *arena, struct span text,
                                                      struct error *error);
struct span signature_pattern_text(const struct signature_pattern *pattern);
// Within bounded time; a string that needs more does not fit.
bool signature_pattern_fits(const struct signature_pattern *pattern, struct region *region,
                            struct span text);
