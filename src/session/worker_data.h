// The form of a RESULT (docs/session-protocol.md 5): user code shares its process with the agent and
// may send anything. What passes has the right type wherever this layer and the tools look, so that
// they need not ask; whether it is there at all they must ask. Unknown members may be anything.
#pragma once

#include "value/value.h"

bool result_is_well_formed(value result);  // a map
