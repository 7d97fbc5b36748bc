// Upper and lower case of strings: the full Unicode mapping of each code point, without locale and
// without rules that depend on neighbours.
#pragma once

#include "program/builtin/builtin.h"

// Both consume the string.
value string_upper(struct run *run, value string);
value string_lower(struct run *run, value string);
