// Exceptions: what throw throws, and what catch gets of any failure (docs/reference/language.md 4.1).
#pragma once

#include "program/eval/expression.h"

struct run;
struct failure;

enum exception_part {
    EXCEPTION_MESSAGE,  // string or nil
    EXCEPTION_DATA,     // map or nil
    EXCEPTION_CAUSE,    // exception or nil
    EXCEPTION_PARTS,
};

bool value_is_exception(value v);
// Of a class, a static text; consumes the parts.
value exception_new(struct run *run, const char *class, value message, value data, value cause);
value exception_part(value exception, enum exception_part part);  // borrowed
// Is the exception of this class, or does the class take any (Exception, Throwable, :default)?
bool exception_is(value exception, struct span class);

_Noreturn void exception_throw(struct run *run, value v);  // consumes
// What the failure of the run is as an exception; the run has none afterwards.
value exception_from_failure(struct run *run);
// Limits, return and fail end the run: nothing catches them.
bool failure_is_final(const struct run *run);
// {:kind :message …} of a failure or thrown exception, as (attempt e) gives it; borrows.
value exception_summary(struct run *run, value exception);
