// Hashing inside value/: seeded once per process, so that a client cannot build colliding keys.
#pragma once

#include "value/value.h"

// The hash of a string, keyword, symbol or var with this name.
uint64_t hash_name(enum value_tag tag, struct span name);

// Tests narrow this to make collisions; all bits otherwise.
extern uint64_t hash_mask;
