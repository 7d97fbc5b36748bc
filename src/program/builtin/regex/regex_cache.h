// The compiled patterns of a run: what regex.c keeps and regex_match.c searches with.
#pragma once

#include "program/builtin/regex/regex_pattern.h"

enum { REGEX_CACHE_SIZE = 32, REGEX_VARIANTS = 8 };

struct regex_variant {
    pcre2_code *code;
    bool failed;        // this variant cannot be made: use the Unicode one
    bool is_anchored;   // matches at the first start position only
    bool starts_lines;  // matches there and after newlines only
    bool jit;
    bool jit_tried;
    size_t jit_bytes;  // charged to the region
};

struct regex {
    value source;  // the regex value or string it was made from, retained
    struct regex_variant variants[REGEX_VARIANTS];
    pcre2_match_data *match;
    uint32_t groups;
    uint64_t used;      // stamp of the last use
    size_t bytes_seen;  // of subjects, as long as no machine code exists
};

struct regex_cache {
    struct regex *entries[REGEX_CACHE_SIZE];
    uint64_t clock;
    pcre2_general_context *memory;
    pcre2_match_context *context;
    pcre2_jit_stack *stack;
    struct region *region;
    struct run *run;
    bool may_raise;  // a full region leaves the run; otherwise PCRE2 gets NULL
};

// --- regex.c: the cache --------------------------------------------------------------------------
struct regex_cache *regex_cache_of(struct run *run);
// The pattern compiled for a use (enum regex_use); the Unicode one where that cannot be.
struct regex_variant *regex_variant(struct regex_cache *cache, struct regex *regex, unsigned kind);
// Translates to machine code, if the system allows it and the region has room.
void regex_translate(struct regex_cache *cache, struct regex_variant *variant);
