// The text that run-program answers with, cut where it is too long; what it does not show, calls of
// tools and memory too, is kept for read-output.
#pragma once

#include "tools/tools.h"

void program_answer_render(struct tools *tools, int64_t number, value step, struct buffer *text);
