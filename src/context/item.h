// Context items: pieces of code, text, files, history and errors that are collected for prompts.
//
// An item is plain data; its spans are borrowed: from a region when an item is returned, from a row
// of the store while it is visited. Nothing here touches the store. Limits: content 1 MiB, metadata
// 64 KiB as JSON.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"
#include "value/value.h"

enum {
    CONTEXT_CONTENT_LIMIT = 1048576,  // bytes of content
    CONTEXT_METADATA_LIMIT = 65536,   // bytes of metadata, as JSON
    CONTEXT_ID_SIZE = 32,             // "ctx-" and a number, with the final NUL
    CONTEXT_PREVIEW_CHARACTERS = 80,
};

// --- errors --------------------------------------------------------------------------------------

enum context_code {
    CONTEXT_INVALID_TYPE,
    CONTEXT_INVALID_CONTENT,
    CONTEXT_INVALID_METADATA,
    CONTEXT_IMMUTABLE_FIELD,
    CONTEXT_CUSTOM_TYPE_REQUIRED,
    CONTEXT_TOO_LARGE,
    CONTEXT_FULL,
    CONTEXT_NOT_FOUND,
    CONTEXT_INVALID_ID,
    CONTEXT_INVALID_LIMIT,
    CONTEXT_MAX_CHARS_TOO_SMALL,
    CONTEXT_INVALID_ARGUMENT,  // any other argument of the wrong kind
    CONTEXT_STORE_BUSY,
    CONTEXT_STORE_UNAVAILABLE,
    CONTEXT_CODE_COUNT,
};

enum { CONTEXT_MESSAGE_SIZE = 768 };

struct context_error {
    enum context_code code;
    char message[CONTEXT_MESSAGE_SIZE];
};

const char *context_code_name(enum context_code code);  // "invalid-type"
// Fills *error and returns false.
bool context_fail(struct context_error *error, enum context_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

// --- types ---------------------------------------------------------------------------------------

enum context_type {
    CONTEXT_CODE,
    CONTEXT_TEXT,
    CONTEXT_FILE,
    CONTEXT_REPL_HISTORY,
    CONTEXT_ERROR,
    CONTEXT_CUSTOM,
    CONTEXT_TYPE_COUNT,
};

const char *context_type_name(enum context_type type);     // "repl-history"
const char *context_type_heading(enum context_type type);  // "Repl-History"
bool context_type_from_name(struct span name, enum context_type *ret_type);

// --- the item ------------------------------------------------------------------------------------

struct context_item {
    int64_t number;
    enum context_type type;
    struct span content;   // UTF-8, may hold U+0000
    struct span metadata;  // JSON text of an object; data is NULL when there is none
    int64_t timestamp;     // universal time
    bool pinned;
    bool automatic;  // put there by auto-feed
};

void context_id_format(int64_t number, char id[CONTEXT_ID_SIZE]);
// "ctx-12" exactly: no sign, no leading zero, no more than 18 digits.
bool context_id_parse(struct span id, int64_t *ret_number);

int64_t context_universal_time(int64_t unix_seconds);

// The item with exactly its five members, in order.
value context_item_value(struct region *region, const struct context_item *item);
value context_item_metadata(struct region *region, const struct context_item *item);  // map or nil
struct context_item context_item_copy(struct region *region, const struct context_item *item);

// --- checks, before anything is stored -----------------------------------------------------------

// A checked item that has no number yet. Its spans live in the region of the check.
struct context_draft {
    enum context_type type;
    struct span content;
    struct span metadata;
    value warnings;  // vector of {"code", "message", …}
};

// Each argument as a client gave it; NULL where it gave nothing.
struct context_fields {
    const value *content;
    const value *type;
    const value *metadata;
};

// All rules of an item (INV-001, INV-002, INV-005, standard keys, sizes). Borrows the fields, which
// must outlive the draft.
bool context_draft_check(struct region *region, const struct context_fields *fields,
                         struct context_draft *ret_draft, struct context_error *error);
bool context_type_check(value type, enum context_type *ret_type, struct context_error *error);

// {"code":…,"message":…}
value context_warning(struct region *region, const char *code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

// What a message says it got: a string in quotes and cut, a number, or "nothing", "null", "an
// array".
enum { CONTEXT_GOT_SIZE = 400 };
const char *context_got(const value *v, char text[CONTEXT_GOT_SIZE]);
