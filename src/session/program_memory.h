// The memory of a program as text, so that it outlives processes: values as literals, functions as the
// source they were defined by. A function that captured local values, or was composed from others, has
// no source of its own and is not kept.
#pragma once

#include "base/buffer.h"
#include "program/step.h"

// Takes definitions kept by earlier runs out of a finished step: `prefix` bytes and `lines` lines of the
// source were put before the program. Positions and memory_delta are then those of the program alone.
void program_memory_hide_prefix(struct step *step, size_t prefix, unsigned lines);

// Appends {"data":"{:a 1}","definitions":"(defn f …)","lost":["g"]}.
void program_memory_write(const struct step *step, struct buffer *buffer);
