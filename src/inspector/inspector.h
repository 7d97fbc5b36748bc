// The inspector: what a person sees of a workspace. It records what sessions and programs do, offers the
// records as resources and announces them on the stream of events; the page in page/ shows them. All
// that the page does goes through the tools, as for any client.
//
// Nothing is made of an event while nobody reads. Records are bounded: the newest 20,000 evaluations
// of a session, with 32 MiB of their details, and the newest 200 runs of programs.
#pragma once

#include "mcp/mcp.h"
#include "session/session.h"
#include "tools/tools.h"

struct inspector;

// Becomes the observer of the sessions.
struct inspector *inspector_new(struct event_base *base, struct session_manager *sessions);
// After the sessions, the programs and the servers were freed.
void inspector_free(struct inspector *inspector);
const struct tools_observer *inspector_observer(struct inspector *inspector);

// --- inspector_resources.c: the records as resources ---------------------------------------------

// Its resources and events become those of the server.
void inspector_register(struct inspector *inspector, struct mcp_server *server);

// --- page/, embedded by scripts/embed-pages ------------------------------------------------------

// The files of the page, at "/".
extern const struct mcp_http_page inspector_pages[];
