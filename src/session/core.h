// Where SBCL and the saved core are, and how a missing core is made.
//
// The core of the default heap size lies beside the program: in the build directory when the
// program runs from there, else in the installed directory. Cores of other heap sizes are made on
// first use, in the cache directory, named by SBCL's binary, the agent's sources and the heap size.
#pragma once

#include "session/session.h"

enum { CORE_DEFAULT_HEAP_MB = 2560 };

// The program, target and heap size that make the core of the configuration. -ENOENT: there is no
// builder. The program writes beside the target and renames.
struct core_build {
    char *program;
    char *target;
    char heap[16];
};
int core_build_plan(const struct session_config *config, struct core_build *ret_build);
void core_build_release(struct core_build *build);
