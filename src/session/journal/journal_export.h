// A session as text, from its journal: its definitions as a Lisp file, or all that was evaluated as
// Markdown.
#pragma once

#include "base/buffer.h"
#include "value/value.h"

// `entries` is what journal_read() gives. Packages first, then systems, then the last version of
// every definition of the current state in the order of their first appearance, as they were typed.
void export_lisp(struct buffer *text, const char *session, value entries);
// How many definitions the state after evaluation `state` has (negative: the current one), and their
// text; `guarded`, to be evaluated in a fresh session: one that fails leaves the others alone.
// *ret_skipped is a vector of the entries that have more than definitions.
size_t export_definitions(struct buffer *text, struct region *region, value entries, int64_t state,
                          bool guarded, value *ret_skipped);
void export_transcript(struct buffer *text, const char *session, value entries);
