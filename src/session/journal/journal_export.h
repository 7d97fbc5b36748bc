// A session as text, from its journal: its definitions as a Lisp file, or all that was evaluated as
// Markdown.
#pragma once

#include "base/buffer.h"
#include "value/value.h"

// `entries` is what journal_read() gives. Packages first, then systems, then the last version of
// every definition of the current state in the order of their first appearance, as they were typed.
void export_lisp(struct buffer *text, const char *session, value entries);
// Those of the state after evaluation `state` (negative: of the current one); `guarded`, to be
// evaluated in a fresh session: a definition that fails leaves the others alone.
// *ret_count is how many there are, *ret_skipped how many evaluations have more than definitions.
void export_definitions(struct buffer *text, value entries, int64_t state, bool guarded,
                        size_t *ret_count, size_t *ret_skipped);
void export_transcript(struct buffer *text, const char *session, value entries);
