// Predicates made by (where field op value), docs/reference/language.md 7.
#pragma once

#include "program/builtin/builtin.h"

enum where_operator {
    WHERE_TRUE,  // (where field)
    WHERE_EQUAL,
    WHERE_NOT_EQUAL,
    WHERE_GREATER,
    WHERE_LESS,
    WHERE_GREATER_EQUAL,
    WHERE_LESS_EQUAL,
    WHERE_INCLUDES,
    WHERE_IN,
    WHERE_OPERATOR_COUNT,
};

// -1 when there is no such operator.
int where_operator_find(struct span name);

// Consumes path (a vector) and value.
value where_predicate(struct run *run, enum where_operator operator, value path, value operand);
