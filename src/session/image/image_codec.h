// The state in an image: frames of zstd, one after the other, of equal parts of a core, each with
// a checksum and the whole base core as its prefix. Parts are unpacked side by side.
#pragma once

#include <stdbool.h>
#include <stddef.h>

// A file in memory, read only.
struct mapping {
    void *data;
    size_t size;
};

// Appends the core to the file. False with errno.
bool image_compress(int fd, const struct mapping *core, const struct mapping *base);
// Writes the core that `frames` hold from the start of the file. False with errno: 0 = they are
// damaged.
bool image_decompress(int fd, struct mapping frames, const struct mapping *base, size_t core_size);
