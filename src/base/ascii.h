// Classes of ASCII characters, the same in every locale. Bytes above 127 belong to none.
#pragma once

#include <stdbool.h>

static inline bool ascii_is_digit(char c)
{
    return (unsigned char)(c - '0') < 10;
}

static inline bool ascii_is_upper(char c)
{
    return (unsigned char)(c - 'A') < 26;
}

static inline bool ascii_is_lower(char c)
{
    return (unsigned char)(c - 'a') < 26;
}

static inline bool ascii_is_letter(char c)
{
    return ascii_is_lower((char)(c | 0x20));
}

static inline bool ascii_is_space(char c)  // as isspace() in the C locale
{
    return c == ' ' || (unsigned char)(c - '\t') < 5;
}

static inline char ascii_to_lower(char c)
{
    return ascii_is_upper(c) ? (char)(c | 0x20) : c;
}

static inline char ascii_to_upper(char c)
{
    return ascii_is_lower(c) ? (char)(c & ~0x20) : c;
}

// The value of a hexadecimal digit, or -1.
static inline int ascii_hex_digit(char c)
{
    if (ascii_is_digit(c))
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}
