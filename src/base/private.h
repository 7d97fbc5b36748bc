// Directories and files that only the user may write. Cadre's own directories ("cadre" in the
// user's state, cache and runtime directories, and all below) may lie in a place where others write:
// one that somebody else made, or a link, is not used.
#pragma once

#include <stdbool.h>

#include "base/error.h"

// "$XDG_STATE_HOME/cadre/NAME" and relatives, see base/path.h, are made where they are missing, mode
// 0700. From "cadre" on each must be a directory, no link, of this user; one that others may look
// into is closed to them. Other paths are made and not checked. False with a message.
bool private_make_directory(const char *directory, struct error *error);
// The same for the directory of a file.
bool private_make_parent(const char *file, struct error *error);

// A regular file that nobody but the user and root can have written: owned by one of them, not
// writable by group and others. False with a message.
bool private_check_file(const char *path, struct error *error);

// A new file, mode 0600, in the place of `path` once it is complete: private_create_commit() or
// private_create_abandon() ends it. A link that lies there is replaced, never followed.
struct private_file {
    char *path, *temporary;
    int descriptor;
};
bool private_create(const char *path, struct private_file *ret_file, struct error *error);
// With `replace` false the file stays as it is when another process was first; then *ret_made is
// false. False with a message; the file is released in any case.
bool private_create_commit(struct private_file *file, bool replace, bool *ret_made,
                           struct error *error);
void private_create_abandon(struct private_file *file);
