// Keyed hashing for tables whose keys come from outside: without the seed nobody can build keys
// that collide. Not for cryptography.
#pragma once

#include <stddef.h>
#include <stdint.h>

// A seed from the kernel's random source, drawn once per process.
uint64_t hash_seed(void);

uint64_t hash_bytes(const void *data, size_t length, uint64_t seed);
uint64_t hash_u64(uint64_t number, uint64_t seed);

static inline uint64_t hash_combine(uint64_t a, uint64_t b)
{
    return hash_u64(a, b);
}
