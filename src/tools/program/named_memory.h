// Memories of programs that the server keeps under a name: one JSON file each in a directory of
// their owner, replaced whole after a successful run. A name in use by one run, here or in another
// process, is locked for the others. Files are read and written in the background.
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "base/ledger.h"
#include "value/value.h"

enum { NAMED_MEMORY_FILE_MAX = 64 << 20 };

struct background;
struct named_memory;

// `failure` is NULL when it went well.
typedef void named_memory_done_fn(void *data, const struct error *failure);

// Names are those of sessions. Begins to lock the memory and read its file; `done` is called from
// the loop. ERROR_BUSY: another run uses it. ERROR_SYSTEM: the directory or file cannot be used.
// NULL: it could not begin, also when `directory` is NULL.
struct named_memory *named_memory_open(struct background *background, const char *directory,
                                       const char *name, named_memory_done_fn *done, void *data,
                                       struct error *error);
// What was read: {"data","definitions"} in `region`, nil when there is none yet.
bool named_memory_content(struct named_memory *memory, struct region *region, value *ret_content,
                          struct error *error);
// Begins to save. Durable when `done` gets no failure; else, or on false, the file is the old one.
bool named_memory_save(struct named_memory *memory, value content, named_memory_done_fn *done,
                       void *data, struct error *error);
// Tells the ledger, or nobody where it is NULL, what was saved last.
void named_memory_tell(const struct named_memory *memory, const struct ledger *ledger);
// Not while it is being opened or saved.
void named_memory_close(struct named_memory *memory);
