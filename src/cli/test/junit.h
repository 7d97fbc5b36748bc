// The results of tests as JUnit XML, which CI servers read.
#pragma once

#include <stdbool.h>

#include "base/buffer.h"
#include "value/value.h"

// `run` as of run-tests, with the `results` of all tests.
void junit_write(struct buffer *xml, const char *system, value run);
