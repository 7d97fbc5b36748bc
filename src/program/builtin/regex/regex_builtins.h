// What the builtins do with regexes: matches as values, splitting, replacing
// (docs/reference/language.md 8.9, 8.10). Strings and patterns are borrowed; results are owned.
#pragma once

#include "program/builtin/regex/regex.h"

// A match in progress over one string.
struct regex_scan {
    struct run *run;
    const struct builtin *self;
    value pattern;
    struct regex *regex;
    value string;
    struct regex_subject subject;
    size_t position;  // where the next search starts; behind the text when there is nothing left
    size_t group_count;
    struct regex_group *groups;  // of the last match; groups[0] is the whole
    struct regex_group own_groups[8];
};

void regex_scan_start(struct run *run, const struct builtin *self, value pattern, value string,
                      struct regex_scan *ret_scan);
// The next match. After an empty one the search goes on one code point later.
bool regex_scan_next(struct regex_scan *scan);
void regex_scan_end(struct regex_scan *scan);

// A group of the last match as a string, nil when it took no part.
value regex_scan_group(struct regex_scan *scan, size_t group);
// The last match: a string, or the vector [whole g1 …] when the pattern has groups.
value regex_scan_match(struct regex_scan *scan);

value regex_split(struct run *run, const struct builtin *self, value pattern, value string,
                  size_t limit);  // 0 = no limit
// The replacement is a string with $0 … $9, or a function of the match.
value regex_replace(struct run *run, const struct builtin *self, value pattern, value string,
                    value replacement, bool only_first);

// --- matcher.c ---
// The next match of the matcher that is the first argument, or nil.
value matcher_find(struct run *run, const struct builtin *self, value *arguments);
