// The options of `cadre context`, read into one struct for all its commands.
#pragma once

#include "base/buffer.h"
#include "value/value.h"

enum { CONTEXT_READ_LIMIT = 64 << 20 };  // a larger input is refused unread

enum context_option {
    CONTEXT_OPTION_STORE = 1 << 0,
    CONTEXT_OPTION_JSON = 1 << 1,
    CONTEXT_OPTION_TYPE = 1 << 2,
    CONTEXT_OPTION_META = 1 << 3,
    CONTEXT_OPTION_META_JSON = 1 << 4,
    CONTEXT_OPTION_FILE = 1 << 5,
    CONTEXT_OPTION_ID = 1 << 6,
    CONTEXT_OPTION_PIN = 1 << 7,
    CONTEXT_OPTION_UNPIN = 1 << 8,
    CONTEXT_OPTION_TYPES = 1 << 9,
    CONTEXT_OPTION_LIMIT = 1 << 10,
    CONTEXT_OPTION_MAX_CHARS = 1 << 11,
    CONTEXT_OPTION_STYLE = 1 << 12,
    CONTEXT_OPTION_ALL = 1 << 13,
    CONTEXT_OPTION_HELP = 1 << 14,
};

struct context_options {
    unsigned given;  // the options that were (enum context_option)
    bool help;
    const char *store;
    bool json;
    const char *type;
    struct buffer metadata;  // members of a JSON object, without its braces
    bool has_metadata;
    value odd_metadata;  // --meta-json that is not an object; the store refuses it
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

// 0, or the exit status after a message on standard error. Values live in the region. Must be
// released in both cases.
int context_options_parse(struct context_options *ret_options, struct region *region, int argc,
                          char **argv);
void context_options_release(struct context_options *options);
// The name of an option that was given and is neither allowed nor common to all commands, or NULL.
const char *context_options_stray(const struct context_options *options, unsigned allowed);

// "5" as a number; other text unchanged, which the store refuses.
value context_number_or_text(struct region *region, const char *text);

// Prints a message about wrong usage and returns EXIT_USAGE.
int context_usage(const char *format, ...) __attribute__((format(printf, 1, 2)));
