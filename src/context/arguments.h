// Reading the arguments of operations, with the messages of the store. Absent and null are the same
// for every argument that may be left out; *ret_x then keeps the default the caller put there.
#pragma once

#include "context/markdown.h"
#include "context/store.h"

// The argument, or NULL when it is absent. `storage` holds what is pointed to.
const value *argument_find(value arguments, const char *name, value *storage);
bool argument_is_given(value arguments, const char *name);  // there, and not null

bool argument_boolean(value arguments, const char *name, bool *ret_boolean,
                      struct context_error *error);
// `types` and `limit`.
bool argument_types(value arguments, unsigned *ret_types, struct context_error *error);
bool argument_filter(value arguments, struct context_filter *ret_filter,
                     struct context_error *error);
bool argument_max_chars(value arguments, size_t *ret_max_chars, struct context_error *error);
bool argument_style(value arguments, enum context_style *ret_style, struct context_error *error);
// An id as clients give it; NULL = not given.
bool context_id_check(const value *id, int64_t *ret_number, struct context_error *error);
