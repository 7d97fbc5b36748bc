// A daemon as a node of a cluster (docs/fleet.md): workspaces that it shares with other nodes over NATS.
// A request for one of them goes to the node that owns it; the owner tells the cluster what it keeps
// before anybody is answered.
#pragma once

#include "base/error.h"
#include "mcp/http/http_carry.h"
#include "value/value.h"

struct daemon;
struct fleet;
struct tenants;

struct fleet_options {
    const char *servers;      // NULL: no cluster
    const char *credentials;  // or NULL
    const char *ca;           // or NULL
    const char *node;
    const char *workspace;  // of requests that name none; NULL: these are refused
    unsigned replicas;      // of what is stored, where it is not there yet
};

// `options` outlive the fleet. False with a message.
bool fleet_open(struct daemon *daemon, const struct fleet_options *options,
                struct fleet **ret_fleet, struct error *error);
const struct mcp_http_router *fleet_router(struct fleet *fleet);
// Whose first tenant is that of all nodes' user, with the tools that programs may call.
void fleet_serve(struct fleet *fleet, const struct tenants *tenants);
void fleet_free(struct fleet *fleet);

// Gives up its workspaces, saved, after what runs, some at a time; claims no others. At the latest after
// this time, 0: it takes as long as it takes.
void fleet_drain(struct fleet *fleet, int64_t grace_ms);
bool fleet_is_drained(const struct fleet *fleet);
// For `cadre cluster`: what is known of the cluster, and the order to another node to drain. False: there
// is no such node.
value fleet_status(struct fleet *fleet, struct region *region);
bool fleet_order_drain(struct fleet *fleet, const char *node);
