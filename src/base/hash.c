#include "base/hash.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/random.h>

#include "base/assert.h"

static const uint64_t MULTIPLIER_A = 0x9e3779b97f4a7c15, MULTIPLIER_B = 0xd6e8feb86659fd93;

uint64_t hash_seed(void)
{
    static _Atomic uint64_t seed;
    uint64_t current = atomic_load_explicit(&seed, memory_order_relaxed);
    if (current)
        return current;
    uint64_t drawn = 0;
    CHECK(getrandom(&drawn, sizeof(drawn), 0) == sizeof(drawn));
    drawn |= 1;  // zero means "not drawn yet"
    uint64_t expected = 0;
    return atomic_compare_exchange_strong(&seed, &expected, drawn) ? drawn : expected;
}

static inline uint64_t load_u32(const unsigned char *bytes)
{
    uint32_t word;
    memcpy(&word, bytes, sizeof(word));
    return word;
}

// 1 to 7 bytes, without a call of memcpy(): loads that overlap, so that every byte is in one of them.
static inline uint64_t load_tail(const unsigned char *bytes, size_t length)
{
    if (length >= 4)
        return load_u32(bytes) | load_u32(bytes + length - 4) << 32;
    return (uint64_t)bytes[0] | (uint64_t)bytes[length / 2] << 8 |
           (uint64_t)bytes[length - 1] << 16;
}

uint64_t hash_bytes(const void *data, size_t length, uint64_t seed)
{
    const unsigned char *bytes = data;
    uint64_t state = hash_mix(seed ^ MULTIPLIER_A, (uint64_t)length ^ MULTIPLIER_B);
    size_t left = length;
    for (; left >= 8; left -= 8, bytes += 8) {
        uint64_t word;
        memcpy(&word, bytes, 8);
        state = hash_mix(state ^ word, MULTIPLIER_A);
    }
    if (left)
        state = hash_mix(state ^ load_tail(bytes, left), MULTIPLIER_B);
    return hash_mix(state ^ seed, MULTIPLIER_A);
}
