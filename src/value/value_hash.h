// Hashing inside value/: seeded once per process, so that a client cannot build colliding keys.
#pragma once

#include "value/value.h"

// The hash of a string, keyword, symbol or var with this name.
uint64_t hash_name(enum value_tag tag, struct span name);

// Is it a whole number of 64 bits? A float hashes and compares as the integer that it equals.
static inline bool float_is_whole(double number, int64_t *ret_integer)
{
    if (!(number >= -9223372036854775808.0 && number < 9223372036854775808.0) ||
        (double)(int64_t)number != number)
        return false;
    *ret_integer = (int64_t)number;
    return true;
}

// Tests narrow this to make collisions; all bits otherwise.
extern uint64_t hash_mask;
