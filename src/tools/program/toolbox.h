// The tools of programs, read from a JSON file once: name → what it does and how it is described.
//
//     {"search": {"lisp": {"function": "shop:search", "session": "main", "file": "shop.lisp"}},
//      "wc":     {"command": {"argv": ["wc", "-c"], "timeout_ms": 2000, "max_output": 65536},
//                 "signature": "(text :string) -> :int"},
//      "rates":  {"constant": {"eur": 1.1}}}
//
// `lisp` and `command` run in the server, on behalf of the program; the other behaviours
// (docs/language.md) run where the program runs. `signature`, `description`, `skip` and `cache` go
// with every one of them. What a Lisp function lacks is taken from its docstring and its declared
// type. `file`, relative to the tools file, is loaded into the session when the function is not
// there yet.
#pragma once

#include <stdbool.h>
#include <sys/queue.h>

#include "base/buffer.h"
#include "base/error.h"
#include "program_host/program_pool.h"
#include "session/session.h"
#include "tools/program/policy.h"
#include "value/value.h"

enum toolbox_kind { TOOLBOX_LOCAL, TOOLBOX_LISP, TOOLBOX_COMMAND };

enum { TOOLBOX_TOOLS_MAX = 256, TOOLBOX_ARGUMENTS_MAX = 64, TOOLBOX_FILE_MAX = 8 << 20 };

// The last description of a Lisp function, and the state of the session it comes from. Serves while
// the session is busy or unchanged.
struct toolbox_cache {
    bool known;
    pid_t process;       // the image that gave it
    int64_t evaluation;  // that image's state
    char *signature;     // NULL: none can be given
    char *description;   // NULL: no docstring
    char *problem;       // NULL, or why there is no such function
};

void toolbox_cache_release(struct toolbox_cache *cache);

struct toolbox_tool {
    const char *name;
    enum toolbox_kind kind;
    value record;                 // as in the file
    const char *function;         // lisp
    const char *session;          // lisp; "main" by default
    const char *file;             // lisp; absolute path of what defines the function, or NULL
    struct toolbox_cache *cache;  // lisp
    const char *const *argv;      // command; ends in NULL
    const char *const *pass;      // command: variables that look like secrets; ends in NULL
    int64_t timeout_ms;           // command
    size_t max_output;            // command
};

struct toolbox;

// The tools of a JSON text; relative files are below `directory`. ERROR_SYNTAX or ERROR_INVALID,
// naming the tool.
bool toolbox_read(struct span text, const char *directory, struct toolbox **ret_toolbox,
                  struct error *error);
bool toolbox_load(const char *path, struct toolbox **ret_toolbox, struct error *error);
struct toolbox *toolbox_new(void);  // no tools
void toolbox_free(struct toolbox *toolbox);

size_t toolbox_count(const struct toolbox *toolbox);
const struct toolbox_tool *toolbox_at(const struct toolbox *toolbox, size_t index);
const struct toolbox_tool *toolbox_find(const struct toolbox *toolbox, struct span name);
// Lets sessions read the files of the tools in Lisp.
void toolbox_allow_files(const struct toolbox *toolbox, struct session_manager *sessions);
bool toolbox_needs_host(const struct toolbox *toolbox);  // some tool is not local
// Some tool may have no answer yet, or be asked about by default: a command, one of a server.
bool toolbox_may_pause(const struct toolbox *toolbox);

// The user's MCP servers, whose tools programs may call too: from files (upstream_config.h), ready to
// start between open and close. `environment` is whose variables they have and name, and outlives
// the toolbox; NULL: that of this process. So does `workspace`; NULL: the working directory.
struct upstreams;
struct toolbox_place {
    char *const *environment;
    const char *workspace;
};
// `files` end in NULL. Then those that the clients of the names in `imports` have, which cannot fail: what
// was taken and what was not goes to the log.
bool toolbox_add_servers(struct toolbox *toolbox, const char *const *files,
                         const char *const *imports, const struct toolbox_place *place,
                         struct error *error);
void toolbox_open_servers(struct toolbox *toolbox, struct reaper *reaper, const char *root);
void toolbox_close_servers(struct toolbox *toolbox);
void toolbox_start_servers(const struct toolbox *toolbox);           // those that never ran
struct upstreams *toolbox_upstreams(const struct toolbox *toolbox);  // NULL: none
struct tool_policies *toolbox_policies(const struct toolbox *toolbox);

// Who wants to know when the tools of servers have changed.
struct toolbox_listener {
    LIST_ENTRY(toolbox_listener) link;
    void (*changed)(void *data);
    void *data;
};
void toolbox_listen(const struct toolbox *toolbox, struct toolbox_listener *listener,
                    void (*changed)(void *data), void *data);
void toolbox_unlisten(struct toolbox_listener *listener);  // also one that never listened

// --- toolbox_resolve.c: what a program is told about its tools -----------------------------------

// Which tools to describe, and how much it may cost.
struct toolbox_query {
    value allowed;         // vector of names; nil = all
    struct span texts[3];  // describe only the Lisp functions of tools that these name
    size_t text_count;     // 0: describe all
    bool wait_for_busy;    // wait for sessions that are evaluating; else leave out what is unknown
    bool with_problems;    // ask for all functions, also those that the file describes
};

// Does a program look tools up by words or by names that it computes?
bool toolbox_is_searched(struct span source);
// The `tools` member of a batch record for the allowed tools: local ones as they are, the others as
// {"remote":true} with signature and description, and "problem" when there is no such function.
// Lisp functions are asked for theirs, so `done` is called now or later, from the loop.
typedef void toolbox_resolved_fn(void *data, value tools);
struct toolbox_resolution;
// NULL: `done` was called already.
struct toolbox_resolution *toolbox_resolve_start(const struct toolbox *toolbox,
                                                 struct session_manager *sessions,
                                                 struct region *region,
                                                 const struct toolbox_query *query,
                                                 toolbox_resolved_fn *done, void *data);
void toolbox_resolve_cancel(struct toolbox_resolution *resolution);  // `done` will not be called
// The parameters of requests about a Lisp function.
value toolbox_function_params(struct region *region, const struct toolbox_tool *tool);

// --- toolbox_call.c: calls of tools --------------------------------------------------------------

// Answers a program's call of a tool that is not local.
struct toolbox_run;
void toolbox_call(const struct toolbox *toolbox, struct toolbox_run *run,
                  struct session_manager *sessions, struct reaper *reaper,
                  struct program_call *call, struct span name, struct span arguments);
// Appends why there is no such function, from the agent's answer.
void toolbox_describe_missing(struct buffer *text, const struct toolbox_tool *tool, value answer);
