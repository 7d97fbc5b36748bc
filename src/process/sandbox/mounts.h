// A mount namespace in which some paths are read-only: what Landlock cannot do below a directory
// that may be written to. Nothing changes for other processes.
#pragma once

// In a process with one thread, before its capabilities are dropped: gives it a mount namespace of
// its own (with a user namespace, in which it is the same user, unless it has the capability) where
// the paths, which end in NULL, are read-only with everything below them. Negative errno: this
// machine does not allow that; nothing is protected then. Async-signal-safe.
int mounts_protect(const char *const *paths);
