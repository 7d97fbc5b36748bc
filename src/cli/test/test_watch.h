// Waits until one of some files is written, removed or made.
#pragma once

#include "value/value.h"

// `files`: a vector of names. False: the user has pressed Ctrl-C.
bool test_watch_wait(value files);
