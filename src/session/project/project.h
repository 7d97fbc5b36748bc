// The project of a workspace in its sessions: .cadre/init.lisp and the systems that
// .cadre/config.json names are loaded when a session starts, or come with the core that it starts
// from (project_core.h).
//
// A process of its own finds out, before the first Lisp process starts, what is wanted and which core
// can be used (STARTING). What no core has is loaded by requests of the supervisor that come before
// all others; one that fails is undone, and the session goes on without it. When all went well and no
// core has it, a hidden session loads it once more, records what that looks at and saves itself
// (project_build.c).
#pragma once

#include <stdbool.h>

#include "value/value.h"

struct job;
struct process_exit;
struct project_build;
struct session;
struct session_manager;
struct worker;

enum {
    PROJECT_SYSTEMS_S =
        600,  // for loading the systems; the init file has the time of an evaluation
    PROJECT_CHECK_MS = 10000,
};

enum project_layer { PROJECT_NONE, PROJECT_DEPENDENCIES, PROJECT_ALL };

// What a session knows of it. All zero at first.
struct project {
    bool is_checking;  // STARTING: the worker works
    bool is_checked;   // for the process that starts next
    int answer_fd;     // while it works
    char *directory;   // of the cores
    struct region *region;
    value plan;  // what the worker said, or nil
    char *core;  // that is to be started from, or NULL
    enum project_layer layer;
    int jobs_left;  // that load what the core lacks
    bool has_failed;
    int64_t began_ms;
};

// --- project.c -----------------------------------------------------------------------------------

void project_release(struct session *session);
// True: the answer must be waited for before a process starts from `base`.
bool project_begin_check(struct session *session, const char *base);
void project_end_check(struct session *session);
// The core to start from instead of the base; NULL: none.
const char *project_core(const struct session *session);
// The Lisp process did not start.
void project_reject_core(struct session *session);
// It has started: what its core lacks is queued.
void project_on_start(struct session *session);
bool project_is_job(const struct job *job);
// One of its requests is over. `message`: why it failed, or NULL.
void project_on_job(struct session *session, const struct job *job, const char *message);
// The workspace, as a real path. Borrowed; NULL: it is a scratch one.
const char *session_workspace(struct session_manager *manager);
// The workspace whose project the session would load at its next request: it has neither processes nor a
// saved state (`is_reset`: or loses them). Borrowed; NULL: none.
const char *session_project_workspace(struct session_manager *manager, const char *name,
                                      bool is_reset);
// For session-info: {systems, init, layer, stale, unsavable, saving}; nil without a project.
value project_info(const struct session *session, struct region *region);

// --- project_build.c: a core is made -------------------------------------------------------------

void project_build_begin(struct session *session, const char *base);
void project_build_release(struct session_manager *manager);
// A process of the session has ended, maybe that of the build.
void project_build_on_exit(struct session *session, const struct worker *worker,
                           const struct process_exit *exit);
// The core that a session starts from because it builds another one; NULL: it does not.
const char *project_build_core(const struct session *session);
