// Numbers of programs (docs/reference/language.md 1.4, 8.1): integers of any size and floats
// together.
#pragma once

#include "value/number/bignum.h"
#include "value/value.h"

static inline bool value_is_number(value v)
{
    return v.tag == VALUE_INTEGER || v.tag == VALUE_FLOAT || v.tag == VALUE_BIGNUM;
}

// By value, exact also between integer and float; VALUE_INCOMPARABLE when one is NaN.
enum value_order number_compare(value a, value b);
