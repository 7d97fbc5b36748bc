// Texts for models that name only tools which are offered. In the source `<<TOOL: TEXT>>` stands for
// TEXT when the tool is offered, and for nothing otherwise; such parts do not nest.
#pragma once

#include "base/buffer.h"

// Appends the text; `selection` is that of `--tools`.
void offered_text_append(struct buffer *out, const char *source, const char *selection);
