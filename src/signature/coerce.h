// The coercion table of inputs: what else than its own kind a scalar type takes.
#pragma once

#include "signature/signature.h"

// The value that `v` (borrowed) becomes as a `kind`; owned. False when the table has no such row.
bool signature_coerce(struct region *region, enum signature_kind kind, value v, value *ret_coerced);
