// `cadre sessions warm`: makes the project core of the workspace beforehand.
#pragma once

#include "session/session.h"

// An exit status, after a line about what was done.
int sessions_warm(const struct session_sandbox *sandbox);
