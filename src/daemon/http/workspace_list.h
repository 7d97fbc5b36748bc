// The resource cadre://workspaces: where the holder of a token may look beside its own workspace. The
// page goes there with the header Cadre-Workspace.
#pragma once

#include "daemon/http/tenant.h"

// Offers it to the tenant's clients.
void workspace_list_register(struct tenant *tenant);
