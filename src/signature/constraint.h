// What a type says beyond its kind: bounds, patterns, choices, moments in time.
#pragma once

#include "signature/describe.h"
#include "signature/signature.h"

// Of a number or string: does it fit the limits?
bool limits_hold(const struct signature_limits *limits, struct region *region, value v);
// The choice of an enum that the value is; NULL: none.
const struct signature_choice *choice_find(const struct signature_type *type, value v);
// A date and time of RFC 3339, with `T` and an offset: "2026-01-02T03:04:05.678+01:00".
bool datetime_is_valid(struct span text);
// "int from 1 to 100", `one of "a", "b"`, "int or string": for messages, cut when long.
void describe_type(struct description *description, const struct signature_type *type);
