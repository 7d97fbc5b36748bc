#include "cli/kept/context_place.h"

#include <stdlib.h>

#include "base/memory.h"
#include "session/workspace/home.h"
#include "session/workspace/workspace.h"

char *context_place(const char *given, const char *workspace, struct error *error)
{
    const char *chosen = getenv("CADRE_CONTEXT_DB");
    if (given || (chosen && *chosen))
        return memory_copy_string(given ? given : chosen);
    struct workspace found;
    if (!workspace_resolve(workspace, NULL, &found, error))
        return NULL;
    char *home = NULL;
    bool ok = workspace_home_open(found.path, &home, error);
    workspace_release(&found);
    char *path = ok ? memory_format("%s/context.db", home) : NULL;
    memory_free(home);
    return path;
}
