// What the files of the fleet share.
#pragma once

#include <event2/event.h>
#include <sys/queue.h>

#include "base/buffer.h"
#include "base/ledger.h"
#include "cluster/lease.h"
#include "cluster/object_store.h"
#include "cluster/parcel.h"
#include "cluster/record_log.h"
#include "daemon/fleet/fleet.h"
#include "daemon/http/tenant.h"
#include "daemon/http/tokens.h"

enum {
    FLEET_TICK_MS = 100,
    FLEET_OPEN_MS = 12000,        // for a workspace to be opened somewhere
    FLEET_UNREACHABLE_MS = 3000,  // for the connection to come back
    FLEET_ACCEPT_MS = 3000,       // for the owner to accept a request
    FLEET_RETRY_MS = 100,
    FLEET_DRAIN_MS = 25000,       // for a workspace to be left
    FLEET_LEAVES_MAX = 2,         // workspaces that are left at a time
    FLEET_WORKSPACES_MAX = 4096,  // owned by a node
    FLEET_KEY_BYTES = 32,
    FLEET_PROGRAMS_MAX = 8,  // a node that runs so many takes none of other nodes
    FLEET_SESSIONS_MAX = 1000,
};

struct fleet_node {
    TAILQ_ENTRY(fleet_node) link;
    char name[CLUSTER_NAME_MAX + 1];
    int64_t workspaces, calls, latency_us;
    bool drains;
    int64_t seen_ms;
    int64_t promised;  // workspaces that it was asked to open since it was seen
};

struct fleet_counters {
    uint64_t claims, losses, forwarded, stored, programs;
    double stored_seconds;
};

struct fleet {
    struct daemon *daemon;
    const struct fleet_options *options;
    struct mcp_http_router router;
    struct tenant_setup setup;  // of the tenants that it opens
    struct tokens *tokens;
    bool serves;
    struct bus *bus;
    struct jetstream *jetstream;
    struct owners *owners;
    struct background *background;
    struct event *tick;
    enum { FLEET_CONNECTING, FLEET_READY } state;
    size_t provided;  // streams that are there
    struct jetstream_request *request;
    char failure[256];  // why it is not ready
    unsigned char key[FLEET_KEY_BYTES];
    int64_t announced_ms;
    TAILQ_HEAD(, fleet_node) nodes;
    TAILQ_HEAD(, fleet_workspace) workspaces;
    size_t workspace_count;
    TAILQ_HEAD(fleet_route_list, fleet_route) routes;
    struct bus_subscription *announcements, *orders, *answers;
    char inbox[80];
    uint64_t last_call;
    uint64_t instance;  // of this process, in its leases
    bool drains;
    int64_t drain_until_ms;
    struct fleet_counters counters;
};

// --- fleet.c: the node ---------------------------------------------------------------------------

static inline bool fleet_is_ready(const struct fleet *fleet)
{
    return fleet->state == FLEET_READY && bus_is_connected(fleet->bus);
}
// The loop comes to all workspaces and routes soon.
void fleet_hurry(struct fleet *fleet);
struct span fleet_key(const struct fleet *fleet);

// --- fleet_nodes.c: the other nodes --------------------------------------------------------------

void fleet_nodes_subscribe(struct fleet *fleet);
void fleet_nodes_announce(struct fleet *fleet);
// The one with the fewest workspaces of those that take more; this one's name, or another's. NULL: none.
const char *fleet_nodes_choose(struct fleet *fleet);
struct fleet_node *fleet_nodes_find(const struct fleet *fleet, const char *name);
bool fleet_node_is_there(const struct fleet_node *node);
void fleet_nodes_free(struct fleet *fleet);

// --- fleet_workspace.c: a workspace that this node owns, or is about to --------------------------

struct fleet_session {
    TAILQ_ENTRY(fleet_session) link;
    char *name;
    char *started;     // the line of the evaluation that runs
    uint64_t unsaved;  // sequence of the record that said so
    bool wants_upload;
    struct buffer replay;  // lines of its journal, to be written
};

struct fleet_memory {
    TAILQ_ENTRY(fleet_memory) link;
    char *name, *content;
};

struct context_store;
struct fleet_images;

struct fleet_workspace {
    TAILQ_ENTRY(fleet_workspace) link;
    struct fleet *fleet;
    char *name;
    enum {
        WORKSPACE_CLAIMING,
        WORKSPACE_READING,   // its journal
        WORKSPACE_FETCHING,  // its images
        WORKSPACE_OPEN,
        WORKSPACE_LEAVING,    // what runs may end
        WORKSPACE_SAVING,     // its sessions
        WORKSPACE_RELEASING,  // the lease
        WORKSPACE_OVER,       // to be freed
    } state;
    char why[160];  // OVER
    struct lease *lease;
    struct record_log *log;
    struct ledger ledger;
    char *directory, *home, *store;
    struct context_store *replayed;  // READING: the context store
    TAILQ_HEAD(, fleet_session) sessions;
    TAILQ_HEAD(, fleet_memory) memories;
    struct fleet_images *images;
    uint64_t image_count;
    struct tenant tenant;
    bool has_tenant, has_ended;
    struct program_pool *programs;
    struct mcp_http *http;
    struct bus_subscription *requests;
    TAILQ_HEAD(fleet_call_list, fleet_call) calls;
    TAILQ_HEAD(fleet_asker_list, fleet_asker) askers;  // nodes that want it opened
    int64_t leave_until_ms;
};

struct fleet_workspace *fleet_workspace_find(const struct fleet *fleet, const char *name);
struct fleet_workspace *fleet_workspace_open(struct fleet *fleet, const char *name);
// Tells `reply` when it is open, or why not.
void fleet_workspace_ask(struct fleet_workspace *workspace, const char *reply);
void fleet_workspace_leave(struct fleet_workspace *workspace, int64_t grace_ms);
// Ends it from the loop, soon; nothing is answered any more.
void fleet_workspace_give_up(struct fleet_workspace *workspace, const char *why);
bool fleet_workspace_may_answer(struct fleet_workspace *workspace);
// Its images are here: it opens.
void fleet_workspace_use_images(struct fleet_workspace *workspace);
void fleet_workspace_tick(struct fleet_workspace *workspace);
void fleet_workspace_free(struct fleet_workspace *workspace);
struct fleet_session *fleet_session_obtain(struct fleet_workspace *workspace, struct span name);
void fleet_session_free(struct fleet_workspace *workspace, struct fleet_session *session);

// --- fleet_records.c: what is kept, as records of the journal ------------------------------------

// The ledger of the workspace's services.
void fleet_records_init(struct fleet_workspace *workspace);
// What is on this disk of an earlier time is dropped; then come the records.
bool fleet_records_begin(struct fleet_workspace *workspace, struct error *error);
bool fleet_records_replay(struct fleet_workspace *workspace, struct span record, uint64_t sequence,
                          struct error *error);
bool fleet_records_end(struct fleet_workspace *workspace, struct error *error);

// --- fleet_images.c: images of sessions ----------------------------------------------------------

// Fetches those that are newer than what is here; then fleet_workspace_use_images().
void fleet_images_fetch(struct fleet_workspace *workspace);
// Stores those that are wanted to be.
void fleet_images_upload(struct fleet_workspace *workspace);
bool fleet_images_are_idle(const struct fleet_workspace *workspace);
// The session is gone.
void fleet_images_forget(struct fleet_workspace *workspace, const struct fleet_session *session);
void fleet_images_free(struct fleet_workspace *workspace);

// --- fleet_call.c: requests that this node answers -----------------------------------------------

struct fleet_call;
// For a route of this node, which is answered from the start on.
struct fleet_call *fleet_call_new(struct fleet_workspace *workspace, struct fleet_route *route);
void fleet_call_start(struct fleet_call *call, struct span request);
// Its client has gone.
void fleet_call_lose(struct fleet_call *call);
void fleet_calls_subscribe(struct fleet_workspace *workspace);
// More is stored: answers that waited for it go out.
void fleet_calls_release(struct fleet_workspace *workspace);
size_t fleet_calls_count(const struct fleet_workspace *workspace);
// All get an error.
void fleet_calls_fail(struct fleet_workspace *workspace, const char *why);

// --- fleet_route.c: requests of this node's clients ----------------------------------------------

struct fleet_route;
void fleet_route(void *data, struct http_reply *reply);
void fleet_routes_subscribe(struct fleet *fleet);
void fleet_routes_tick(struct fleet *fleet);
// The connection was lost: what other nodes answer does not come any more.
void fleet_routes_on_disconnected(struct fleet *fleet);
void fleet_routes_free(struct fleet *fleet);
// The answer of a call, in the pieces in which it is made; the last two end the route.
struct fleet_piece {
    enum { PIECE_SEND, PIECE_BEGIN, PIECE_EVENT, PIECE_END, PIECE_FAILED } kind;
    int status;           // SEND
    const char *type;     // SEND
    struct span headers;  // SEND, BEGIN
    struct span body;     // SEND, EVENT; FAILED: why
};
void fleet_route_answer(struct fleet_route *route, const struct fleet_piece *piece);
// The owner gives it up before it has done anything: another one is looked for.
void fleet_route_again(struct fleet_route *route);
