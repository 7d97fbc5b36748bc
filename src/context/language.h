// Fence languages of items.
#pragma once

#include "base/span.h"
#include "context/item.h"

// By file name where the type allows it, else by metadata.format (custom), else the type's default.
// `filename` and `format` have no data when they are not known. The result may lie in `format`.
struct span context_language(enum context_type type, struct span filename, struct span format);
