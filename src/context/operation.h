// The operations on a store as clients call them: arguments in, a structured result and its text
// out. The MCP tools and the command line are both made of these, so that they say the same.
//
// Arguments are a map with string keys; unknown ones are the caller's business. All values live in
// the region that is passed, which must be large enough for the items touched.
#pragma once

#include "context/store.h"

enum context_operation {
    CONTEXT_OPERATION_ADD,     // content type metadata pinned | id pinned
    CONTEXT_OPERATION_LIST,    // types limit ids content
    CONTEXT_OPERATION_REMOVE,  // id
    CONTEXT_OPERATION_CLEAR,   // types include_pinned
    CONTEXT_OPERATION_RENDER,  // types limit max_chars style
};

struct context_result {
    bool ok;
    value structured;  // {"ok":true,…} or {"ok":false,"error":{"code","message"}}
    value text;        // a string; of a failure "[ERROR] code", a line end, the message
    struct context_error error;
};

struct context_result context_operate(struct context_store *store, struct region *region,
                                      enum context_operation operation, value arguments);

// The whole store as {"items":[…],"max_items":50}.
bool context_store_value(struct context_store *store, struct region *region, value *ret_value,
                         struct context_error *error);
