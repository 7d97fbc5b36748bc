// The tools of the user's MCP servers, for programs: (github/list-issues {…}). The namespace is the
// server's name, or mcp-NAME where the language has a namespace of that name.
#pragma once

#include "tools/program/toolbox.h"
#include "upstream/upstream.h"

// The time limits of programs that call servers, where none is given: in all, and for their own work.
enum {
    TOOLBOX_SERVERS_TIMEOUT_MS = 60000,
    TOOLBOX_SERVERS_COMPUTE_MS = 1000,
    TOOLBOX_NAMESPACE_SIZE = UPSTREAM_NAME_MAX + 8,
};

// Adds these limits to options (a map) that say nothing of time. Consumes.
value toolbox_put_server_limits(struct region *region, value options);

// The namespace in which programs find the server's tools.
struct span toolbox_upstream_namespace(const struct upstream_server *server,
                                       char text[TOOLBOX_NAMESPACE_SIZE]);

// Does the query ask for tools of this server?
bool toolbox_upstream_is_wanted(const struct upstream_server *server,
                                const struct toolbox_query *query);
// Does a text name a tool of any server?
bool toolbox_upstream_is_used(const struct upstreams *upstreams, struct span text);
// Adds records of the server's tools that the query asks for: those its texts name, as they spell
// them, or all. A server that is not ready gives tools that fail and say why.
value toolbox_upstream_add(struct region *region, value tools, const struct upstream_server *server,
                           const struct toolbox_query *query);
// The server of a name "namespace/tool", and the rest of the name; NULL: there is none.
struct upstream_server *toolbox_upstream_find(const struct upstreams *upstreams, struct span name,
                                              struct span *ret_tool);
// What is known of a tool by the name that programs write: github/list-issues, wc.
struct tool_facts toolbox_upstream_facts(const struct upstreams *upstreams, struct span name);
