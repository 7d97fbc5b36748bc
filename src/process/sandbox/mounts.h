// A mount namespace of its own, in which a process and everything it starts can change nothing but
// what it is given: Landlock lets it change modes, owners, times and attributes of all files of its
// user. In it `protect` is read-only, too, and the terminals are its own: it can read none of the
// user's. So are System V's shared memory, semaphores and queues.
#pragma once

// Real paths; each list ends in NULL.
struct mounts {
    const char *const *write;
    const char *const *protect;  // below `write`
};

// Where its terminals are, for Landlock; ends in NULL.
extern const char *const mounts_terminals[];

// 0 or negative errno: then this process may be halfway in. Paths that are gone are skipped. The
// working directory has to be entered again. Async-signal-safe.
int mounts_enter(const struct mounts *mounts);
