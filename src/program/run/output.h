// What a program prints. The prints of a Step are lines; print may leave the last one open, and the next
// text goes on in it.
#pragma once

#include "program/run/run.h"

// Adds a text, which is consumed; `ends` closes the line.
void output_write(struct run *run, value text, bool ends);

// From here on until output_captured() what is printed is kept as one text, uncut. Nests.
void output_capture(struct run *run);
value output_captured(struct run *run);
// How many captures are open; and to drop those above a depth, when a failure was caught outside them.
size_t output_depth(const struct run *run);
void output_unwind(struct run *run, size_t depth);
