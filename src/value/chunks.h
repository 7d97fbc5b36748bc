// Operations on long runs of bytes, done in chunks that spend fuel between them: 100 MB must not
// delay a deadline.
#pragma once

#include <string.h>

#include "base/hash.h"
#include "base/span.h"
#include "base/utf8.h"
#include "value/fuel.h"

enum {
    CHUNK_BYTES = 1 << 18,
    CHUNK_BYTES_PER_UNIT = 64,
};

static inline size_t chunk_size(size_t left)
{
    return left < CHUNK_BYTES ? left : CHUNK_BYTES;
}

// The size of the next chunk of `left` bytes; spends the fuel for it.
static inline size_t chunk_next(size_t left)
{
    size_t chunk = chunk_size(left);
    fuel_spend(chunk / CHUNK_BYTES_PER_UNIT);
    return chunk;
}

static inline void chunks_copy(void *to, const void *from, size_t size)
{
    for (size_t done = 0, chunk; done < size; done += chunk) {
        chunk = chunk_next(size - done);
        memcpy((char *)to + done, (const char *)from + done, chunk);
    }
}

static inline int chunks_compare(const void *a, const void *b, size_t size)
{
    int order = 0;
    for (size_t done = 0, chunk; done < size && order == 0; done += chunk) {
        chunk = chunk_next(size - done);
        order = memcmp((const char *)a + done, (const char *)b + done, chunk);
    }
    return order;
}

static inline uint64_t chunks_hash(struct span text, uint64_t seed)
{
    size_t done = 0;
    while (text.length - done > CHUNK_BYTES) {
        seed = hash_bytes(text.data + done, chunk_next(text.length - done), seed);
        done += CHUNK_BYTES;
    }
    fuel_spend((text.length - done) / CHUNK_BYTES_PER_UNIT);
    return hash_bytes(text.data + done, text.length - done, seed);
}

// utf8_valid_prefix() of a long text.
static inline size_t chunks_valid_prefix(struct span text)
{
    size_t done = 0;
    while (done < text.length) {
        size_t chunk = chunk_next(text.length - done);
        if (done + chunk < text.length)
            chunk = utf8_cut(text.data + done, chunk);
        size_t valid = utf8_valid_prefix(text.data + done, chunk);
        done += valid;
        if (valid < chunk || chunk == 0)
            break;
    }
    return done;
}

// Where the decimal digits that begin at `at` end.
static inline size_t chunks_skip_digits(struct span text, size_t at)
{
    enum { DIGITS_PER_BATCH = 4096, DIGITS_PER_UNIT = 16 };
    size_t start = at;
    while (at < text.length && (unsigned char)(text.data[at] - '0') < 10) {
        if ((++at - start) % DIGITS_PER_BATCH == 0)
            fuel_spend(DIGITS_PER_BATCH / DIGITS_PER_UNIT);
    }
    return at;
}
