// Work on long runs of bytes, done in pieces with a look at the fuel between them: 100 MB must not
// keep a deadline waiting.
#pragma once

#include <string.h>

#include "base/hash.h"
#include "base/span.h"
#include "base/utf8.h"
#include "value/fuel.h"

enum {
    PIECE_BYTES = 1 << 18,
    PIECE_BYTES_PER_UNIT = 64,
};

static inline size_t piece_of(size_t left)
{
    return left < PIECE_BYTES ? left : PIECE_BYTES;
}

// The size of the next piece of what is left; spends the fuel for it.
static inline size_t piece_next(size_t left)
{
    size_t piece = piece_of(left);
    fuel_spend(piece / PIECE_BYTES_PER_UNIT);
    return piece;
}

static inline void pieces_copy(void *to, const void *from, size_t size)
{
    for (size_t done = 0, piece; done < size; done += piece) {
        piece = piece_next(size - done);
        memcpy((char *)to + done, (const char *)from + done, piece);
    }
}

static inline int pieces_compare(const void *a, const void *b, size_t size)
{
    int order = 0;
    for (size_t done = 0, piece; done < size && order == 0; done += piece) {
        piece = piece_next(size - done);
        order = memcmp((const char *)a + done, (const char *)b + done, piece);
    }
    return order;
}

static inline uint64_t pieces_hash(struct span text, uint64_t seed)
{
    size_t done = 0;
    while (text.length - done > PIECE_BYTES) {
        seed = hash_bytes(text.data + done, piece_next(text.length - done), seed);
        done += PIECE_BYTES;
    }
    fuel_spend((text.length - done) / PIECE_BYTES_PER_UNIT);
    return hash_bytes(text.data + done, text.length - done, seed);
}

// utf8_valid_prefix() of a long text.
static inline size_t pieces_valid_prefix(struct span text)
{
    size_t done = 0;
    while (done < text.length) {
        size_t piece = piece_next(text.length - done);
        if (done + piece < text.length)
            piece = utf8_cut(text.data + done, piece);
        size_t valid = utf8_valid_prefix(text.data + done, piece);
        done += valid;
        if (valid < piece || piece == 0)
            break;
    }
    return done;
}

// Where the decimal digits that begin at `at` end.
static inline size_t pieces_skip_digits(struct span text, size_t at)
{
    enum { DIGITS_PER_LOOK = 4096, DIGITS_PER_UNIT = 16 };
    size_t start = at;
    while (at < text.length && (unsigned char)(text.data[at] - '0') < 10) {
        if ((++at - start) % DIGITS_PER_LOOK == 0)
            fuel_spend(DIGITS_PER_LOOK / DIGITS_PER_UNIT);
    }
    return at;
}
