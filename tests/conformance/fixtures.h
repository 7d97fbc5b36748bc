// The fixtures that the official conformance suite expects of a server. Each file registers its own
// tools, resources and prompts.
#pragma once

#include "mcp/mcp.h"

#define PNG                                                                                        \
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJg" \
    "gg=="
#define WAV "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
#define NO_ARGUMENTS "{\"type\":\"object\",\"properties\":{},\"additionalProperties\":false}"

// A flat object schema with one required member.
#define FORM(name, type)                                                  \
    "{\"type\":\"object\",\"properties\":{\"" name "\":{\"type\":\"" type \
    "\"}},\"required\":[\"" name "\"]}"

// --- fixtures_content.c: content of every kind, progress, logging, and helpers of all fixtures ---

void fixtures_add_content(struct mcp_server *server);
// A tool without output schema.
void fixtures_add_tool(struct mcp_server *server, const char *name, const char *description,
                       const char *input_schema, unsigned flags, mcp_handler_fn *handler);
void reply_text(struct mcp_call *call, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
struct span argument_text(struct mcp_call *call, const char *name);  // "" when it is not a string
// The JSON text of a value, in the call's region.
const char *json_text(struct mcp_call *call, value v);

// --- fixtures_questions.c: tools that ask the client ---------------------------------------------

void fixtures_add_questions(struct mcp_server *server);

// --- fixtures_resources.c: resources, prompts and completion -------------------------------------

void fixtures_add_resources(struct mcp_server *server);

// --- fixtures_tasks.c: tools of the tasks extension ----------------------------------------------

void fixtures_add_tasks(struct mcp_server *server);

// --- delay.c: handlers that reply later ----------------------------------------------------------

void delay_init(struct event_base *base);
// Runs `next` from the loop after this time; a cancelled call gets a reply at once instead.
void delay(struct mcp_call *call, unsigned ms, mcp_handler_fn *next);
void delay_release(void);  // drops those that still wait
