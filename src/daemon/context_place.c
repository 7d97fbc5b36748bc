#include "daemon/context_place.h"

#include <stdlib.h>

#include "base/memory.h"
#include "session/workspace/home.h"
#include "session/workspace/workspace.h"

// The home of the workspace; NULL with a message.
static char *open_home(const char *workspace, struct error *error)
{
    struct workspace found;
    if (!workspace_resolve(workspace, NULL, &found, error))
        return NULL;
    char *home = NULL;
    bool ok = workspace_home_open(found.path, &home, error);
    workspace_release(&found);
    return ok ? home : NULL;
}

char *context_place(const char *given, const char *workspace, struct error *error)
{
    const char *chosen = getenv("CADRE_CONTEXT_DB");
    if (given || (chosen && *chosen))
        return memory_copy_string(given ? given : chosen);
    CLEANUP_FREE char *home = open_home(workspace, error);
    return home ? memory_format("%s/context.db", home) : NULL;
}

char *memories_place(const char *workspace, struct error *error)
{
    CLEANUP_FREE char *home = open_home(workspace, error);
    return home ? memory_format("%s/memories", home) : NULL;
}
