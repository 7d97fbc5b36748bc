// The home of a workspace: the directory in which Cadre keeps what belongs to it,
// $XDG_STATE_HOME/cadre/workspaces/NAME-HASH, mode 0700:
//
//   workspace.json       the path of the workspace
//   context.db           its context items
//   memories/            named memories of its programs
//   sessions/NAME/       images and journal of a session
#pragma once

#include <stdbool.h>

#include "base/error.h"

// "project-1a2b3c4d": readable, and different for each path. `workspace` is a real path.
char *workspace_label(const char *workspace);
// Where the home is, whether it exists or not; NULL when the environment names no state directory.
char *workspace_home_path(const char *workspace);
// Makes it where it is missing. What version 0.1 kept for the user (context items, named memories)
// moves into the first home that is asked for.
bool workspace_home_open(const char *workspace, char **ret_home, struct error *error);
// Calls the function with each home that there is.
void workspace_home_each(void (*fn)(void *data, const char *home), void *data);
// With the directory of each session that is kept in the home, and the session's name.
void workspace_home_each_session(const char *home,
                                 void (*fn)(void *data, const char *place, const char *name),
                                 void *data);
// The path of the workspace whose home this is, from workspace.json; NULL when that cannot be read.
char *workspace_home_owner(const char *home);
