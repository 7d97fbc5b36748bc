// The temporary directory of a server, in which each session has its own. Its server holds a lock on
// it; one without a lock is what a server that was killed has left, and the next one removes it.
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

struct temporary {
    char *path;  // NULL: none
    int lock;
};

// Makes one in $TMPDIR, else in /tmp, and removes what others left there. False with a message.
bool temporary_make(struct temporary *temporary, struct error *error);
// Removes it, and waits a moment for that.
void temporary_release(struct temporary *temporary);

// User code may have left any number of files: another process removes them, and is not waited for.
// Its number, or negative.
pid_t temporary_remove_tree(const char *path);
