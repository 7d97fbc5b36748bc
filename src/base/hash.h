// Keyed hashing for tables whose keys come from outside: keys that collide cannot be built without
// the seed. Not for cryptography.
#pragma once

#include <stddef.h>
#include <stdint.h>

// A seed from the kernel's random source, drawn once per process.
uint64_t hash_seed(void);

uint64_t hash_bytes(const void *data, size_t length, uint64_t seed);

// 128-bit multiply and fold: every input bit reaches every output bit.
static inline uint64_t hash_mix(uint64_t a, uint64_t b)
{
    unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t hash_u64(uint64_t number, uint64_t seed)
{
    return hash_mix(number ^ 0x9e3779b97f4a7c15, seed ^ 0xd6e8feb86659fd93);
}

static inline uint64_t hash_combine(uint64_t a, uint64_t b)
{
    return hash_u64(a, b);
}
