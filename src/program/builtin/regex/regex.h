// Regular expressions of programs, by PCRE2 (docs/reference/language.md 8.10).
//
// A regex value holds its source only. The compiled form lives in the run's cache, which the first
// use makes: pattern memory and match memory come from the run's region, machine code is charged to
// it. Machine code lies outside the region, so the run must call regex_cache_free() before it drops
// its region, however it ended.
//
// The time of a match is bounded. A quick search gives each start position a few steps. Only when one
// needs more, the search is done again by code that is stopped at every item of the pattern: these
// steps are counted and the clock is read. One call of a builtin, however many matches it looks for,
// may take regex_limit steps more than QUICK_STEPS per item, start position and byte (regex_match.c). So
// whatever a quick search gets through is allowed, and with or without machine code, which count
// their steps differently there, runs end equally.
#pragma once

#include "base/error.h"
#include "program/builtin/builtin.h"

enum { REGEX_MAX_PATTERN = 256 };  // bytes

// --- regex_pattern.c: the syntax -----------------------------------------------------------------
// Is this a pattern? Needs no run: the analysis of a literal #"…".
bool regex_check(struct span pattern, struct error *error);

// --- regex.c: the value and its compiled form ----------------------------------------------------
// The value of a pattern that regex_check() has accepted.
value regex_new(struct run *run, struct span pattern);
// Ends the machine code of a run; run->regexes may be NULL.
void regex_cache_free(struct run *run);

struct regex;

// The compiled form of a regex value or of a string used as a pattern; runtime_error unless valid.
// Valid until the next call, which may evict old patterns from the cache.
struct regex *regex_compile(struct run *run, const struct builtin *self, value pattern);
unsigned regex_group_count(const struct regex *regex);  // without group 0

// --- regex_match.c: searching --------------------------------------------------------------------
// The text that one call of a builtin searches; must stay alive and unchanged.
struct regex_subject {
    struct span text;
    bool ascii;
    bool is_hopeless;   // it lacks a byte that every match has
    size_t last_start;  // no match starts behind this
    size_t steps;       // taken, beyond those that are free
};

void regex_subject_init(struct run *run, struct regex *regex, struct regex_subject *ret_subject,
                        struct span text, bool ascii);

enum { REGEX_UNSET = -1 };
struct regex_group {
    ptrdiff_t start;  // byte offsets, or REGEX_UNSET when the group took no part
    ptrdiff_t end;
};

// Searches for the first match that starts at byte offset `from` or later. `groups` gets
// regex_group_count() + 1 pairs.
bool regex_search(struct run *run, const struct builtin *self, struct regex *regex,
                  struct regex_subject *subject, size_t from, struct regex_group *groups);
// Does the whole text match?
bool regex_match_whole(struct run *run, const struct builtin *self, struct regex *regex,
                       struct regex_subject *subject, struct regex_group *groups);
