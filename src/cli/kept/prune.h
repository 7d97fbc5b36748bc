// Removes what is kept for nobody: sessions of workspaces that are gone, images above a quota, and
// bases and runtimes that no image needs.
#pragma once

#include <stdint.h>

// The exit status; says what it removed.
int sessions_prune(int64_t quota_mb);
