// The last balanced version of a file that git knows: that of the index, else that of the last commit.
#pragma once

#include <stdbool.h>

#include "base/buffer.h"

// False: there is none, or no git. The buffer is initialised either way. Waits for git, at most some
// seconds; git runs no program that the repository names.
bool earlier_version_read(const char *path, struct buffer *ret_text);
