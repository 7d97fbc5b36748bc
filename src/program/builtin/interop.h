// What the files of Java-style names share.
#pragma once

#include "program/builtin/builtin.h"

// As Java says it.
_Noreturn void fail_number_format(struct run *run, const struct builtin *self, value text);
_Noreturn void fail_unreadable(struct run *run, const struct builtin *self, value text);
// The text to be parsed; nil is unreadable, anything else is a wrong kind.
struct span argument_readable(struct run *run, const struct builtin *self, const value *arguments,
                              unsigned place);
