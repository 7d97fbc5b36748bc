// Where the context items of a workspace are.
#pragma once

#include "base/error.h"

// The store that an option or $CADRE_CONTEXT_DB names, else that of the workspace, whose home is made
// where it is missing. `workspace` NULL: found from the working directory. NULL with a message.
char *context_place(const char *given, const char *workspace, struct error *error);
