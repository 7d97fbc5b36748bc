// Arithmetic on 64-bit integers, in line.
#pragma once

#include "program/builtin/builtin.h"

// Each gives false when the builtin has to do it.
static inline bool add_integers(int64_t a, int64_t b, int64_t *ret_result)
{
    return !__builtin_add_overflow(a, b, ret_result);
}

static inline bool subtract_integers(int64_t a, int64_t b, int64_t *ret_result)
{
    return !__builtin_sub_overflow(a, b, ret_result);
}

static inline bool multiply_integers(int64_t a, int64_t b, int64_t *ret_result)
{
    return !__builtin_mul_overflow(a, b, ret_result);
}

static inline bool maximum_integers(int64_t a, int64_t b, int64_t *ret_result)
{
    *ret_result = a > b ? a : b;
    return true;
}

static inline bool minimum_integers(int64_t a, int64_t b, int64_t *ret_result)
{
    *ret_result = a < b ? a : b;
    return true;
}

// Division by 0 is an error, and INT64_MIN / -1 has 65 bits.
static inline bool is_divisor(int64_t b)
{
    return b != 0 && b != -1;
}

// Division is slow, and slower the more bits a processor is asked for.
static inline bool are_short(int64_t a, int64_t b)
{
    return ((uint64_t)(a | b) >> 32) == 0;
}

static inline bool quotient_integers(int64_t a, int64_t b, int64_t *ret_result)
{
    if (!is_divisor(b))
        return false;
    *ret_result = are_short(a, b) ? (uint32_t)a / (uint32_t)b : a / b;
    return true;
}

static inline bool remainder_integers(int64_t a, int64_t b, int64_t *ret_result)
{
    if (!is_divisor(b))
        return false;
    *ret_result = are_short(a, b) ? (uint32_t)a % (uint32_t)b : a % b;
    return true;
}

// The sign is that of b.
static inline bool modulo_integers(int64_t a, int64_t b, int64_t *ret_result)
{
    if (b > 0 && (b & (b - 1)) == 0) {  // a power of two
        *ret_result = a & (b - 1);
        return true;
    }
    if (!is_divisor(b))
        return false;
    if (are_short(a, b)) {
        *ret_result = (uint32_t)a % (uint32_t)b;
        return true;
    }
    int64_t remainder = a % b;
    *ret_result = remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
    return true;
}

// The same by its operation, of those that give an integer.
static inline bool operation_on_integers(enum operation operation, int64_t a, int64_t b,
                                         int64_t *ret_result)
{
    switch (operation) {
    case OPERATION_ADD: return add_integers(a, b, ret_result);
    case OPERATION_SUBTRACT: return subtract_integers(a, b, ret_result);
    case OPERATION_MULTIPLY: return multiply_integers(a, b, ret_result);
    case OPERATION_MAXIMUM: return maximum_integers(a, b, ret_result);
    case OPERATION_MINIMUM: return minimum_integers(a, b, ret_result);
    case OPERATION_QUOTIENT: return quotient_integers(a, b, ret_result);
    case OPERATION_REMAINDER: return remainder_integers(a, b, ret_result);
    case OPERATION_MODULO: return modulo_integers(a, b, ret_result);
    default: return false;
    }
}
