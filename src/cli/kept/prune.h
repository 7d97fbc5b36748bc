// Removes what is kept for nobody: sessions of workspaces that are gone, images above a quota, and
// bases and runtimes that no image needs.
#pragma once

#include <stdbool.h>
#include <stdint.h>

// The exit status; says what it removed. `keeps_gone`: sessions of workspaces that are gone are only the
// first to go above the quota.
int sessions_prune(int64_t quota_mb, bool keeps_gone);
