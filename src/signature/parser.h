// What the parts of the parser of signatures share.
#pragma once

#include "signature/signature.h"

struct parser {
    struct arena *arena;
    struct span text;
    size_t position;
    unsigned depth;
    struct error *error;
};

// --- parse.c -------------------------------------------------------------------------------------

bool parser_fail(struct parser *parser, size_t offset, enum error_code code, const char *message);
bool parser_fail_memory(struct parser *parser);
// "expected a type, found ')'"
bool parser_fail_expected(struct parser *parser, const char *expected);
char parser_peek(const struct parser *parser);  // NUL at the end
bool parser_at_end(const struct parser *parser);
bool parser_accept(struct parser *parser, char byte);
void parser_skip_space(struct parser *parser);
struct span parser_name(struct parser *parser);  // empty: there is none
bool parser_type(struct parser *parser, struct signature_type *ret_type);

// --- parse_constraint.c: what stands in brackets beside lists ------------------------------------

// Reads ":word" if it is next.
bool parser_word(struct parser *parser, const char *word);
// Behind ":enum" and ":or".
bool parser_enum(struct parser *parser, struct signature_type *ret_type);
bool parser_union(struct parser *parser, struct signature_type *ret_type);
// Behind the word of a kind: do bounds or a pattern follow?
bool parser_at_limits(const struct parser *parser, const struct signature_type *type);
bool parser_limits(struct parser *parser, struct signature_type *type);
