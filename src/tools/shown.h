// What code has shown by (cadre:show x), as content blocks of its answer. SVG stays here and is read as
// a resource: as an image it makes providers of models refuse the conversation.
#pragma once

#include "tools/session_call.h"

// Keeps what the reply has of it in `run`.
void shown_take(struct session_call *run, const struct session_reply *reply);
// Adds blocks to the call of `run` and the member `shown` to its structured result, then calls `done`:
// at once, or, where there are images, when their pixels have been looked at (picture/picture_check.h).
// Nothing is added, and `done` is not called, when the call is cancelled meanwhile: it is answered, and
// the run freed.
void shown_add(struct session_call *run, session_call_fn *done);
// Of a run that ends.
void shown_release(struct session_call *run);
void shown_free_all(struct tools *tools);
