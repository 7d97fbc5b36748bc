// The workspace: the directory an agent works on. Given by an option; else the client's root; else
// the nearest ancestor of the working directory that holds `.cadre`, `.git` or a `*.asd`; else the
// working directory. Some directories are never one, whatever lies there: the root, the home
// directory and what is above it, /tmp, system directories. Then a scratch directory in Cadre's
// state is the workspace.
#pragma once

#include <stdbool.h>

#include "base/error.h"

enum workspace_origin {
    WORKSPACE_GIVEN,
    WORKSPACE_ROOT,       // of the client
    WORKSPACE_PROJECT,    // an ancestor that holds a project
    WORKSPACE_DIRECTORY,  // the working directory
    WORKSPACE_SCRATCH,
};

struct workspace {
    char *path;  // real path
    enum workspace_origin origin;
    char *refused;  // SCRATCH: the directory that is never a workspace
};

// `given` and `root` may be NULL. False, with a message: what was given cannot be the workspace, or
// there is no place for a scratch directory.
bool workspace_resolve(const char *given, const char *root, struct workspace *ret_workspace,
                       struct error *error);
void workspace_release(struct workspace *workspace);

// `path` is a real path.
bool workspace_is_forbidden(const char *path);
// Is `path` the directory or below it? Both are real paths.
bool path_is_within(const char *path, const char *directory);
