// Names in messages: did you mean …? (the closest of several, by edit distance), and lists of names.
#pragma once

#include "program/compile/compilation.h"

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
// Considers all builtins and special forms.
void suggest_builtin(struct suggestion *best, struct span name);

// Names listed in a message: as many as there is room for, and how many more.
struct name_list {
    char text[DIAGNOSTIC_MESSAGE_SIZE - 180];  // the rest of the message is around it
    size_t used;
    size_t count;
    size_t shown;
};

// Puts a name, with a hint (NULL: none), behind the others.
void name_list_add(struct name_list *list, const char *separator, struct span name,
                   const char *hint);
// The whole text; `count` names were to be listed, "none" when that is 0.
const char *name_list_text(struct name_list *list);
