// JSON-RPC 2.0: parsing and writing messages. A message borrows from the value it was read from.
#pragma once

#include "base/buffer.h"
#include "base/error.h"
#include "value/value.h"

enum message_kind { MESSAGE_REQUEST, MESSAGE_NOTIFICATION, MESSAGE_RESPONSE, MESSAGE_INVALID };

struct message {
    enum message_kind kind;
    bool has_id;  // a valid one
    value id;
    struct span method;
    value params;  // a map, or nil
    value whole;
    const char *problem;  // of MESSAGE_INVALID
};

// Strict parsing: no duplicate names, depth and memory limited.
bool jsonrpc_read(struct region *region, struct span text, value *ret_value, struct error *error);
struct message message_classify(value whole);

// The id member of an error response to a request without a readable id: null or absent.
enum message_id_form { MESSAGE_ID_NULL, MESSAGE_ID_ABSENT, MESSAGE_ID_GIVEN };

void jsonrpc_write_error(struct buffer *out, enum message_id_form form, struct span id_json,
                         int code, struct span text, struct span data_json);
// A request (id given) or notification; `params` are the members of params without braces.
void jsonrpc_write_call(struct buffer *out, const char *id, const char *method,
                        const struct buffer *params);
// Appends a part; if the part has overflowed its buffer, `out` fails too.
void json_append_part(struct buffer *out, const struct buffer *part);

// `"name":` with a comma before it where one is needed.
void json_name(struct buffer *out, const char *name);
void json_comma(struct buffer *out);  // before the next element
void json_put_text(struct buffer *out, const char *name, const char *text);  // NULL: nothing
void json_put_span(struct buffer *out, const char *name, struct span text);
void json_put_raw(struct buffer *out, const char *name, struct span json);
void json_put_value(struct buffer *out, const char *name, value v);
void json_put_boolean(struct buffer *out, const char *name, bool b);
void json_put_integer(struct buffer *out, const char *name, int64_t number);
// A string of arbitrary bytes: invalid UTF-8 becomes U+FFFD.
void json_write_bytes(struct buffer *out, struct span bytes);
value json_bytes_value(struct region *region, struct span bytes);
// The JSON text of a value as a C string in the region.
const char *json_region_text(struct region *region, value v);
