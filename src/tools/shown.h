// What code has shown by (cadre:show x), as content blocks of its answer. SVG stays here and is read as
// a resource: as an image it makes providers of models refuse the conversation.
#pragma once

#include "tools/session_call.h"

// Adds blocks to the call of `run` and the member `shown` to its structured result.
void shown_add(struct session_call *run, const struct session_reply *reply);
void shown_free_all(struct tools *tools);
