// Seeded random data for the tests of value/: the same on every run.
#pragma once

#include <stdint.h>
#include <stdlib.h>

#include "value/value.h"

static uint64_t random_state = 0x2545F4914F6CDD1D;

static inline uint64_t random_u64(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state * 0x9E3779B97F4A7C15;
}

static inline size_t random_below(size_t limit)
{
    return (size_t)(random_u64() >> 11) % limit;
}

static inline double random_bits_double(void)
{
    union {
        uint64_t bits;
        double number;
    } mixed;
    do
        mixed.bits = random_u64();
    while (mixed.number - mixed.number != 0);  // finite only
    return mixed.number;
}
