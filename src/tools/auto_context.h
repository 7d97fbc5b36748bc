// Finished evaluations become context items, where the user asked for it. A failure of the store
// never fails the evaluation: it is part of the result.
#pragma once

#include "tools/session_call.h"

struct auto_context;

// For an evaluation that begins now: whether it will be stored is decided here. In the call's
// region. NULL: it will not be.
struct auto_context *auto_context_begin(const struct tools *tools, struct mcp_call *call);

// Stores the evaluation of run->auto_context, whose text is run->result.text. `done` is called now
// or, when another process has locked the store, later from the loop.
typedef void auto_context_done_fn(struct session_call *run);
void auto_context_store(struct session_call *run, const struct session_reply *reply,
                        auto_context_done_fn *done);
