// Names of Clojure that programs do not have, and what to write instead: for messages about them.
#pragma once

#include <stdbool.h>

#include "base/span.h"

// What to do without the name, a name without its namespace (but Math/ and the like) or a method;
// NULL when nothing is known.
const char *clojure_hint_find(struct span name);
// A macro that programs do not have, whose arguments are no expressions.
bool clojure_macro_is_refused(struct span name);
