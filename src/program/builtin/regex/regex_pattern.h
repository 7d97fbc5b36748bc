// The syntax of patterns (docs/reference/language.md 8.10), translated to PCRE2's. Used by regex.c.
#pragma once

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/error.h"
#include "base/span.h"
#include "program/builtin/regex/regex.h"

// How the compiled pattern will be used.
enum regex_use {
    REGEX_SEARCH = 0,
    REGEX_WHOLE = 1,     // match the whole subject only
    REGEX_ASCII = 2,     // for ASCII subjects only: no UTF-8 decoding, no Unicode tables
    REGEX_STEPPING = 4,  // stop at every item of the pattern
};

// NULL and *error when the text is not a pattern. Memory comes from the context.
pcre2_code *regex_pattern_compile(struct span pattern, unsigned variant,
                                  pcre2_general_context *memory, struct error *error);
