// The memory of a program as text, so that it outlives runs and processes: values as literals,
// functions as the source they were defined by, regexes and symbols as definitions of their literals. A
// function that captured local values, or was composed from others, has no source and is not kept.
#pragma once

#include "base/buffer.h"
#include "program/run/step.h"

// Definitions put before a program, on separate lines.
struct definitions_prefix {
    size_t length;
    unsigned lines;
};

// Appends the definitions and the program that is to see them.
struct definitions_prefix saved_memory_prepend(struct buffer *source, struct span definitions,
                                               struct span program);
// Removes the definitions from a finished step: its position, 0 when it lies in them, and memory_delta
// are then those of the program alone.
void saved_memory_hide_prefix(struct step *step, struct definitions_prefix prefix);

// Appends {"data":"{:a 1}","definitions":"(defn f …)","lost":["g"]}. A failed step keeps the
// definitions as they were before it.
void saved_memory_write(const struct step *step, struct span definitions_before,
                        struct buffer *buffer);
// The form that starts with a bracket at `offset` of a valid program.
struct span source_form(struct span source, size_t offset);

// Reads `data` of such an object; nil is an empty memory.
bool saved_memory_read_data(struct region *region, struct span data, value *ret_memory,
                            struct error *error);
