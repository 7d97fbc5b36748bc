// Changes a file of another program: shows what changes, keeps a backup, replaces it at once.
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "base/buffer.h"
#include "base/error.h"

// All of the file; an absent one is empty. *ret_exists says which. The buffer is initialised.
bool file_change_read(const char *path, struct buffer *ret_text, bool *ret_exists,
                      struct error *error);
// The lines that differ, with some around them.
void file_change_print(FILE *out, const char *path, struct span old_text, struct span new_text);
// Writes the new text, with the mode of the old file or, for a new one, `mode`; a symbolic link stays
// one. *ret_backup is the path of the copy of the old file, owned by the caller, or NULL when there
// was none; without ret_backup no copy is made. False with a message, and the file as it was.
bool file_change_write(const char *path, struct span new_text, unsigned mode, char **ret_backup,
                       struct error *error);
