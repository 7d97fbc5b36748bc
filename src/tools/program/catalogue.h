// What a model is told about the tools of programs before it asks: names with short signatures, within
// a bound, fairly shared among the servers. Descriptions stay out: text of a server never reaches it.
#pragma once

#include "base/buffer.h"
#include "tools/program/toolbox.h"

enum { CATALOGUE_CHARACTERS = 8000 };  // 2,000 tokens of four characters

// Appends nothing where there are no tools.
void catalogue_append(struct buffer *out, const struct toolbox *toolbox);
