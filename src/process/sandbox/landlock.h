// Landlock: which files a process and everything it starts may use, and what lies outside its
// domain: signals to other processes, their memory and descriptors, abstract Unix sockets. A
// kernel knows a version of the interface (ABI) from 1 to 6 and more; what it does not know is
// left out, and landlock_abi() tells.
#pragma once

#include <stdbool.h>

enum landlock_version {
    LANDLOCK_ABI_REFER = 2,     // files may be moved from directory to directory
    LANDLOCK_ABI_TRUNCATE = 3,  // truncate(2) is refused, too
    LANDLOCK_ABI_NETWORK = 4,   // TCP
    LANDLOCK_ABI_IOCTL = 5,     // of devices
    LANDLOCK_ABI_SCOPE = 6,     // signals and abstract Unix sockets
};

// What this kernel has, 0 = nothing. CADRE_LANDLOCK_ABI in the environment lowers it, for tests.
int landlock_abi(void);

struct landlock_rules {
    bool files;               // false: no limit on files; the domain only keeps others out
    bool network;             // false: no TCP
    const char *const *read;  // paths, ends in NULL: read and execute; absent ones are skipped
    // The same, but real paths: where something on the way is a link by now there is no right, because
    // others could have put it there.
    const char *const *read_real;
    const char *const *write;    // real paths: all but making devices
    const char *const *devices;  // the same: read, write, ioctl
};

// A ruleset, as a close-on-exec descriptor for landlock_enter(); negative errno; -EOPNOTSUPP: this
// kernel has no Landlock.
int landlock_open(const struct landlock_rules *rules);
// Adds devices that the server cannot name. Async-signal-safe.
int landlock_add_devices(int ruleset, const char *const *devices);
// Puts this thread into a domain. It must have no-new-privileges. Async-signal-safe.
int landlock_enter(int ruleset);
