// Reads the files that a program is given: JSON, JSON lines (a vector of all), or EDN. The ending of
// the name decides (.json; .jsonl, .ndjson; .edn); with any other name, and on standard input, it is
// JSON, or JSON lines where the first line is a whole value.
#pragma once

#include "base/buffer.h"
#include "value/value.h"

// False after a message. `text` is initialised on success; the value borrows from it.
bool run_input_read(struct region *region, const char *path, struct buffer *text, value *ret_value);
// A context as a program sees it: anything but an object is its member `input`.
value run_input_context(struct region *region, value read);
