// Did you mean …? The closest of several names, by edit distance.
#pragma once

#include "base/span.h"

struct diagnostic;

struct suggestion {
    struct span name;  // empty: nothing is close
    unsigned distance;
    unsigned prefix;  // bytes with which both names begin
};

// Takes the candidate when it is close to the name and closer than the best so far.
void suggest_closer(struct suggestion *best, struct span name, struct span candidate);
enum { SUGGESTION_TEXT = 80 };

// Notes it in the diagnostic, unless empty.
void suggest_add(struct diagnostic *diagnostic, struct suggestion best);
// The same, and "did you mean x?"; NULL when empty.
const char *suggest_text(struct diagnostic *diagnostic, struct suggestion best,
                         char text[SUGGESTION_TEXT]);
// Looks at all builtins and special forms.
void suggest_builtin(struct suggestion *best, struct span name);
