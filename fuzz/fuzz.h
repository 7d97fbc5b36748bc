// What a fuzz target defines; see meson.build. A target aborts where the code under test is wrong.
#pragma once

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
