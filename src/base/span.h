// A borrowed run of bytes: pointer and length together. Owns nothing, need not end in NUL.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct span {
    const char *data;
    size_t length;
};

#define SPAN(literal) ((struct span){(literal), sizeof(literal) - 1})

static inline struct span span_from(const char *text)
{
    return (struct span){text, strlen(text)};
}

static inline bool span_equal(struct span a, struct span b)
{
    return a.length == b.length && (a.length == 0 || memcmp(a.data, b.data, a.length) == 0);
}

static inline bool span_equal_text(struct span a, const char *text)
{
    return span_equal(a, span_from(text));
}

// As strcmp(); the span may hold NUL.
static inline int span_compare_text(struct span a, const char *text)
{
    for (size_t i = 0; i < a.length; i++) {
        int difference = (unsigned char)a.data[i] - (unsigned char)text[i];
        if (difference || !text[i])
            return difference ? difference : 1;
    }
    return text[a.length] ? -1 : 0;
}

static inline bool span_starts_with(struct span a, struct span prefix)
{
    return a.length >= prefix.length &&
           (prefix.length == 0 || memcmp(a.data, prefix.data, prefix.length) == 0);
}
