// The functions of all builtins, declared from their rows.
#pragma once

#include "program/builtin/builtin.h"

// Aliases name one function in several rows.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wredundant-decls"
#define BUILTIN(name, function, least, highest, flags, signature, doc) builtin_fn function;
#include "program/builtin/builtins.def"
#undef BUILTIN
#pragma GCC diagnostic pop
