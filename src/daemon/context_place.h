// Where the context items and the named memories of a workspace are.
#pragma once

#include "base/error.h"

// The store that an option or $CADRE_CONTEXT_DB names, else that of the workspace, whose home is made
// where it is missing. `workspace` NULL: found from the working directory. NULL with a message.
char *context_place(const char *given, const char *workspace, struct error *error);
// The directory of its named memories, which may not be there yet. NULL with a message.
char *memories_place(const char *workspace, struct error *error);
