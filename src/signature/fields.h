// Field lists inside signatures: built once, then searched by any spelling of a name.
#pragma once

#include "base/arena.h"
#include "base/ascii.h"
#include "signature/signature.h"

// A list under construction; nodes live in the arena.
struct field_node {
    struct field_node *next;
    struct signature_field field;
    size_t offset;  // of the name in the text, for messages
};

struct field_list {
    struct field_node *first;
    struct field_node *last;
    size_t count;
};

// NULL when the arena is full. The name is copied.
struct field_node *field_list_add(struct field_list *list, struct arena *arena, struct span name);

// False when the arena is full, or when two names are the same but for `-` and `_`: then
// *ret_duplicate is the later one, else NULL.
bool field_list_finish(const struct field_list *list, struct arena *arena,
                       struct signature_fields *ret_fields, struct field_node **ret_duplicate);

bool field_name_is_valid(struct span name);
static inline bool field_name_starts_with(char byte)
{
    return ascii_is_letter(byte) || byte == '_';
}
static inline bool field_name_has(char byte)
{
    return field_name_starts_with(byte) || ascii_is_digit(byte) || byte == '-';
}

// The index of the field that `name` spells, or SIZE_MAX.
size_t signature_fields_find(const struct signature_fields *fields, struct span name);

// "string", "int", … "list": the words of texts and messages. A record is a "map".
const char *signature_kind_word(enum signature_kind kind);
