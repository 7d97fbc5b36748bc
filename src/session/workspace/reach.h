// What the processes of sessions may reach (docs/security.md): the workspace, the directories a
// session may read and write, its environment, and the confinement that holds it there.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "process/sandbox/confinement.h"
#include "session/workspace/temporary.h"
#include "session/workspace/workspace.h"
#include "value/value.h"

struct session;
struct session_manager;

enum { REACH_PATHS_MAX = 512 };

// Strings that are its own; ends in NULL.
struct path_list {
    const char *paths[REACH_PATHS_MAX + 1];
    size_t count;
};

// Of a manager: settled when its first process starts.
struct reach {
    bool settled;
    struct confinement confinement;
    struct workspace workspace;
    char *directory;               // where Lisp processes start
    struct temporary temporary;    // none: SANDBOX_OFF
    char *cache;                   // of the workspace; NULL: none, or the user's
    struct path_list read, write;  // what the user allows: real paths
    struct root_watch *watch;      // of the workspace, while sessions that may write it run
    bool announced;
    bool ending;  // all goes at once
};

// All that one start of a process needs.
struct reach_plan {
    struct path_list write;  // real paths, none below another
    struct path_list protect;
    struct path_list variables;  // set in the environment
    char **environment;
    int ruleset;  // negative: none
};

// Finds the workspace and makes the directories. False with a message for the client.
bool reach_settle(struct session_manager *manager, struct error *error);
void reach_release(struct reach *reach);

// 0 or negative errno.
int reach_plan(struct session *session, const char *sbcl, const char *core,
               struct reach_plan *ret_plan);
void reach_plan_release(struct reach_plan *plan);

// The session's temporary directory, made when it is not there; NULL in SANDBOX_OFF.
char *reach_temporary(const struct session *session);
// Moves aside what has appeared under a protected name, and tells the sessions.
void reach_look(struct session_manager *manager);
// No session is left: what appears from now on is the user's.
void reach_rest(struct session_manager *manager);
// The session is gone, and its temporary directory with it.
void reach_forget(const struct session *session);

// For session-info: a map {mode, workspace, scratch, network, unix_sockets, landlock,
// missing [sentences]}.
value reach_info(struct session_manager *manager, struct region *region);
// Tells the session's client what does not hold here, and where a scratch workspace is.
void reach_announce(struct session *session);

// Sessions that start from now on may read the directory of this Lisp file, because the user has
// named it; only the file, where the directory is never a workspace.
void session_allow_file(struct session_manager *manager, const char *path);
// Where relative paths begin, and where compiled files of load-file go (made when it is not there).
// False with a message when there is no workspace.
bool session_directory(struct session_manager *manager, char **ret_path, struct error *error);
bool session_fasl_directory(struct session_manager *manager, const char *name, char **ret_path,
                            struct error *error);
