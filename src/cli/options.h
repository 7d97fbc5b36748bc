// Helpers of the commands for reading their arguments.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"

// A whole number within the bounds; otherwise a message on standard error and false.
bool option_integer(const char *name, const char *text, int64_t low, int64_t high,
                    int64_t *ret_number);

// "7433", "127.0.0.1:7433", "localhost:7433" or "[::1]:7433". No host, or localhost, is 127.0.0.1.
// False with a message on standard error.
bool option_address(const char *name, const char *text, char *ret_host, size_t size,
                    uint16_t *ret_port);

// All of a file, or of standard input for "-". False with a message on standard error.
bool option_read_file(const char *path, size_t limit, struct buffer *ret_content);
