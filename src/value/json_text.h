// Strings in JSON text: finding their end, checking them, and making values of them.
#pragma once

#include "value/value.h"

struct json_string {
    size_t length;        // bytes between the quotes, as they stand in the text
    bool escaped;         // there are backslashes
    bool simple;          // the raw bytes are ASCII; see VALUE_SIMPLE
    bool invalid_utf8;    // what `problem` is about
    const char *problem;  // NULL, or what is wrong
};

// `p` is behind the opening quote. Returns the position behind the closing one, or of the problem.
const char *json_scan_string(const char *p, const char *end, struct json_string *ret_string);

value json_plain_string(struct region *region, struct span text, bool simple, bool borrow);
value json_unescape(struct region *region, struct span text);  // text was scanned
