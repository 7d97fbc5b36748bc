// Checks the headers of HTTP requests of the 2026 protocol against their bodies.
#pragma once

#include "base/buffer.h"

struct mcp_call;

// Both finish the call with error -32020 and return false where header and body disagree; on stdio,
// which has no headers, both return true.
bool headers_check_version(struct mcp_call *call, struct span version);
bool headers_check(struct mcp_call *call, struct span method);

// Decodes a header value, which may be =?base64?…?=. False: it has that form but is not valid.
bool header_decode(struct span raw, struct buffer *ret_text);
