// Top-level forms of Lisp text, and what they define.
#pragma once

#include <stdbool.h>

#include "base/span.h"

// The next form of *code, which is moved behind it; false: there is none left, or it does not end.
bool export_next_form(struct span *code, struct span *ret_form);
// The operator of a form, as it is written, without a package prefix; empty: it has none.
struct span export_operator(struct span form);
// What tells one definition from another: operator and name; of a method also its qualifiers and
// lambda list. False: the form defines nothing.
bool export_definition_key(struct span form, struct span *ret_key);
