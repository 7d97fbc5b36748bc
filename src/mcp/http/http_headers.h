// Checking the headers of modern HTTP requests against their bodies.
#pragma once

#include "base/buffer.h"

struct mcp_call;

// Both answer the call with -32020 and return false where header and body disagree; on stdio, which
// has no headers, both are true.
bool headers_check_version(struct mcp_call *call, struct span version);
bool headers_check(struct mcp_call *call, struct span method);

// The text behind a header value, which may be =?base64?…?=. False: looks like that but is not.
bool header_decode(struct span raw, struct buffer *ret_text);
