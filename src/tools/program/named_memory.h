// Memories of programs that the server keeps under a name: one JSON file each in the state
// directory, replaced whole after a successful run. A name in use by one run, here or in another
// process, is locked for the others.
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "value/value.h"

enum { NAMED_MEMORY_FILE_MAX = 64 << 20 };

struct named_memory;

// Names are those of sessions. ERROR_BUSY: another run uses it. ERROR_SYSTEM: the directory or file
// cannot be used. *ret_content is {"data","definitions"} in `region`, nil when there is none yet.
bool named_memory_open(const char *name, struct region *region, struct named_memory **ret_memory,
                       value *ret_content, struct error *error);
// Durable when it returns true; the file is the old one when it returns false.
bool named_memory_save(struct named_memory *memory, value content, struct error *error);
void named_memory_close(struct named_memory *memory);
