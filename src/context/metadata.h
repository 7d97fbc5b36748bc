// Metadata of items: the four standard keys are checked, keys that look like one of them are
// reported, everything else is free.
#pragma once

#include "context/item.h"

bool metadata_check(value metadata, struct context_error *error);
// Consumes the vector and returns it with the warnings added.
value metadata_warnings(struct region *region, value metadata, value warnings);
