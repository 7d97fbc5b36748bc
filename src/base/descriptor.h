// Writing to descriptors.
#pragma once

#include <stdbool.h>
#include <stddef.h>

// Writes all of it, in as many pieces as it takes. False with errno.
bool descriptor_write(int descriptor, const void *data, size_t length);
