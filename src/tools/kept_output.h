// Output that was too long for its answer, whole, for the tool read-output: of each session the
// newest 64 MB, in unlinked files.
#pragma once

#include "base/span.h"
#include "tools/tools.h"

struct kept_output;

// The output of one evaluation while it comes. Small output stays in memory.
struct kept_output *kept_output_new(void);
void kept_output_free(struct kept_output *output);
// Keeps the beginning when there is more than 64 MB.
void kept_output_add(struct kept_output *output, struct span text);
size_t kept_output_characters(const struct kept_output *output);

// Keeps it as the output of an evaluation, or with "" for the session of a program; the oldest may
// have to go. Appends the line that says how to read it, unless `text` is NULL. `shown` is what the
// answer has of it, or empty.
void kept_output_store(struct tools *tools, struct kept_output *output, const char *session,
                       int64_t evaluation, struct span shown, struct buffer *text);
void kept_output_free_all(struct tools *tools);
