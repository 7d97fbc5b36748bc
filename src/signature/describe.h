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
    DESCRIPTION_SIZE = 1024,
};

struct description {
    char data[DESCRIPTION_SIZE];
    size_t length;
};

// `string "abc"`, `int 7`, `nil`, `map`.
void describe_value(struct description *description, value v);
// A map key as part of a path: a name as it is, anything else as canonical text.
void describe_key(struct description *description, value key);

// Parts of a text, for those who write one of their own; it must fit.
void description_append(struct description *description, struct span text);
// The first `characters` code points, then "..." if there are more.
void description_append_cut(struct description *description, struct span text, size_t characters);
void description_append_quoted(struct description *description, struct span text,
                               size_t characters);
void description_append_value(struct description *description, value v);

static inline struct span description_span(const struct description *description)
{
    return (struct span){description->data, description->length};
}
