// Changing the keys of all maps in nested data. Both consume the form; f is borrowed.
#pragma once

#include "program/builtin/builtin.h"

value walk_keywordize(struct run *run, const struct builtin *self, value form);
value walk_keys(struct run *run, const struct builtin *self, value f, value form);
