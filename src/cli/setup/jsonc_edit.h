// Edits JSON with comments and trailing commas as text: what is not changed stays byte for byte.
#pragma once

#include "base/buffer.h"
#include "base/error.h"
#include "value/value.h"

// Both take a text that jsonc_read() has read as an object whose member `outer` is absent or an
// object, and append the changed text.
//
// Sets outer.name to the value.
void jsonc_set(struct span text, const char *outer, const char *name, value v,
               struct buffer *ret_text);
// Removes outer.name, and outer when nothing else is in it.
void jsonc_remove(struct span text, const char *outer, const char *name, struct buffer *ret_text);
