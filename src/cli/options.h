// What the commands share in reading their arguments.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"

// A whole number within the bounds; otherwise a message on standard error and false.
bool option_integer(const char *name, const char *text, int64_t low, int64_t high,
                    int64_t *ret_number);

// All of a file, or of standard input for "-". False with a message on standard error.
bool option_read_file(const char *path, size_t limit, struct buffer *ret_content);
