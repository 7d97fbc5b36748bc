// The coercion table of inputs: which values of other kinds a scalar type accepts.
#pragma once

#include "signature/signature.h"

// The value that `v` (borrowed) becomes as a `kind`; owned. False when the table has no such row.
bool signature_coerce(struct region *region, enum signature_kind kind, value v, value *ret_coerced);
