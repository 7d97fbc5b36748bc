// Where SBCL and the saved core are, and how a missing core is made.
//
// The program brings its own SBCL, the runtime and contributed modules without a core, and beside it
// the core of the default heap size: in the build directory when the program runs from there, else
// in the installed directory, which may be moved. Cores of other heap sizes, or of another SBCL
// (--sbcl), are made on first use, in the cache directory, named by what they are made from.
#pragma once

#include "session/session.h"

enum { CORE_DEFAULT_HEAP_MB = 2560 };

// The command that makes the core of the configuration; it writes beside its target and renames.
struct core_build {
    const char *argv[6];  // ends in NULL
    char *program;
    char *target;
    char *sbcl;
    char *base;  // may be NULL
    char heap[16];
};

// 0 or negative errno; -ENOENT: there is no builder, no SBCL or no cache. -EPERM: the
// cache is somebody else's. To be released either way.
int core_build_plan(const struct session_config *config, struct core_build *build);
// After -EPERM: which file or directory is not used, and why.
void core_explain_refusal(const struct session_config *config, struct error *error);
char *session_find_brought(const char *name);  // a file that the packages bring; it need not exist
char *session_find_sources(void);              // the agent's directory
void core_build_release(struct core_build *build);
