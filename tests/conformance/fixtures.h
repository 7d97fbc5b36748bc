// The fixtures that the official conformance suite expects of a server. Handlers of the same kind share
// a file; each file registers its own.
#pragma once

#include "mcp/mcp.h"

#define PNG                                                                                        \
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJg" \
    "gg=="
#define WAV "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
#define NO_ARGUMENTS "{\"type\":\"object\",\"properties\":{},\"additionalProperties\":false}"

void fixtures_add_content(struct mcp_server *server);
void fixtures_add_input(struct mcp_server *server);
void fixtures_add_tasks(struct mcp_server *server);
void fixtures_add_resources_and_prompts(struct mcp_server *server);

// A tool without output schema.
void fixtures_add_tool(struct mcp_server *server, const char *name, const char *description,
                       const char *input_schema, unsigned flags, mcp_handler_fn *handler);
void reply_text(struct mcp_call *call, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
struct span argument_text(struct mcp_call *call, const char *name);  // "" when it is no string
// The JSON text of a value, in the call's region.
const char *json_text(struct mcp_call *call, value v);

// Runs `next` in the loop after some time; a cancelled call is answered at once instead.
void delay_init(struct event_base *base);
void delay(struct mcp_call *call, unsigned ms, mcp_handler_fn *next);
void delay_release(void);  // those still waiting are forgotten
