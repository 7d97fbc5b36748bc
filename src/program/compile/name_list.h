// Names listed in a message: as many as there is room for, and how many more.
#pragma once

#include "program/compile/compilation.h"

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
