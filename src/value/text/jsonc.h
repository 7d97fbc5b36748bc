// JSON as people write it into configuration files: with comments and trailing commas.
#pragma once

#include "base/error.h"
#include "base/span.h"
#include "value/value.h"

// Comments and trailing commas count as blanks. A text of blanks alone is an empty object.
bool jsonc_read(struct region *region, struct span text, value *ret_value, struct error *error);

// For those who edit such a text. All positions are at most its length.
bool jsonc_is_blank(char c);
// Behind the comment that begins here, or `at` when none does.
size_t jsonc_skip_comment(struct span text, size_t at);
// Behind blanks and comments. *ret_last, unless NULL, is set behind the last comment, if there is one.
size_t jsonc_skip_blanks(struct span text, size_t at, size_t *ret_last);
size_t jsonc_skip_string(struct span text, size_t at);  // behind the string that begins here
