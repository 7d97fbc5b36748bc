// The form around the end of an unfinished text: its operator, and where the next line begins.
#pragma once

#include <stddef.h>

#include "base/span.h"

// The operator of the innermost open list, as written; empty when the text does not end inside a
// list that begins with a symbol (or ends inside a string or comment).
struct span lisp_form_operator(struct span code);

// How far the next line is indented, in columns: two for the body of a macro or special form that
// has one, else to the first argument, or one after the parenthesis. 0 outside of lists, and in
// strings and comments, whose text is not to be changed.
size_t lisp_form_indentation(struct span code);
