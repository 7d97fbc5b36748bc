// Values in messages: their kind and a bounded part of what they are.
//
// The text has a fixed size and owns nothing: while a message is written the region may run out and
// leave by a jump, which would leak memory of malloc's.
#pragma once

#include "base/span.h"
#include "value/value.h"

enum {
    DESCRIPTION_CHARACTERS = 40,      // of a string, number or keyword
    DESCRIPTION_KEY_CHARACTERS = 80,  // of a map key in a path
    DESCRIPTION_SIZE = 512,
};

struct description {
    char data[DESCRIPTION_SIZE];
    size_t length;
};

// `string "abc"`, `int 7`, `nil`, `map`.
void describe_value(struct description *description, value v);
// A map key as part of a path: a name as it is, anything else as canonical text.
void describe_key(struct description *description, value key);

static inline struct span description_span(const struct description *description)
{
    return (struct span){description->data, description->length};
}
