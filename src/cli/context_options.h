// The options of `cadre context`, read into one struct for all its commands.
#pragma once

#include "base/buffer.h"
#include "value/value.h"

enum { CONTEXT_READ_LIMIT = 64 << 20 };  // a larger input is refused before it is looked at

struct context_options {
    bool help;
    const char *store;
    bool json;
    const char *type;
    struct buffer metadata;  // members of a JSON object, without its braces
    bool has_metadata;
    value odd_metadata;  // --meta-json that is no object, for the store to refuse
    const char *file;
    const char *id;
    const char *types;
    const char *limit;
    const char *max_chars;
    const char *style;
    bool pin;
    bool unpin;
    bool all;
    char **words;  // what is not an option
    int word_count;
};

// 0, or the exit status after a message on standard error. Values live in the region. Release in both
// cases.
int context_options_parse(struct context_options *ret_options, struct region *region, int argc,
                          char **argv);
void context_options_release(struct context_options *options);

// "5" as a number; other text as it is, for the store to refuse.
value context_number_or_text(struct region *region, const char *text);

// Prints a message about wrong usage and returns EXIT_USAGE.
int context_usage(const char *format, ...) __attribute__((format(printf, 1, 2)));
