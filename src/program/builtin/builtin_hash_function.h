// The hash function that the build's generator and builtin_find() share.
#pragma once

#include <stddef.h>
#include <stdint.h>

static inline uint32_t builtin_hash(const char *name, size_t length, uint32_t seed)
{
    uint32_t hash = 2166136261u ^ (seed * 2654435761u);
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)name[i]) * 16777619u;
    return hash ^ hash >> 15;
}
