// Capabilities: the parts of root's power. A session has none, whoever its user is.
#pragma once

// Gives up all capabilities of this thread for ever, those that exec would give root included, and
// lets no program it starts gain any. 0 or negative errno. Async-signal-safe.
int capabilities_drop(void);
