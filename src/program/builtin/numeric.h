// Arithmetic of programs (docs/reference/language.md 1.4): integers stay exact, one float makes the
// result float. Arguments must be numbers and are consumed. A float result that overflows from
// finite operands, an integer too large to become a float, and division by zero are
// arithmetic_error.
#pragma once

#include "program/builtin/builtin.h"
#include "value/number/number.h"

_Noreturn void fail_division(struct run *run, const struct builtin *self);  // by zero

value numeric_add(struct run *run, const struct builtin *self, value a, value b);
value numeric_subtract(struct run *run, const struct builtin *self, value a, value b);
value numeric_multiply(struct run *run, const struct builtin *self, value a, value b);
value numeric_divide(struct run *run, const struct builtin *self, value a, value b);  // a float

// The number that a text holds: an integer of any size or, if wanted, a float. Consumes the text.
value numeric_from_text(struct run *run, const struct builtin *self, value text, bool is_float);

int numeric_sign(value number);  // -1, 0, 1; borrows; NaN has sign 0
// Borrows the number.
double numeric_to_double(struct run *run, const struct builtin *self, value number);
