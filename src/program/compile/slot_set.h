// A set of the slots of one function. It knows the first SLOT_SET_SIZE slots only and counts all others
// as members, which is the safe answer for "may it still be read?".
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { SLOT_SET_SIZE = 512 };

struct slot_set {
    uint64_t bits[SLOT_SET_SIZE / 64];
};

static inline bool slot_set_has(const struct slot_set *set, uint32_t slot)
{
    return slot >= SLOT_SET_SIZE || (set->bits[slot / 64] >> (slot % 64) & 1);
}

static inline void slot_set_add(struct slot_set *set, uint32_t slot)
{
    if (slot < SLOT_SET_SIZE)
        set->bits[slot / 64] |= (uint64_t)1 << (slot % 64);
}

static inline void slot_set_remove(struct slot_set *set, uint32_t slot)
{
    if (slot < SLOT_SET_SIZE)
        set->bits[slot / 64] &= ~((uint64_t)1 << (slot % 64));
}

static inline void slot_set_merge(struct slot_set *set, const struct slot_set *other)
{
    for (unsigned i = 0; i < SLOT_SET_SIZE / 64; i++)
        set->bits[i] |= other->bits[i];
}

static inline void slot_set_keep_below(struct slot_set *set, uint32_t limit)
{
    for (uint32_t slot = limit; slot < SLOT_SET_SIZE; slot++)
        slot_set_remove(set, slot);
}
