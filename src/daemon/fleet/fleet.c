// The node: its connection, the streams and buckets of the cluster, and what happens now and then.
#include "daemon/fleet/fleet.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "cluster/boot_clock.h"
#include "daemon/daemon_internal.h"
#include "daemon/fleet/fleet_internal.h"
#include "daemon/http/tenants.h"
#include "process/background.h"

#define KEY_STREAM "KV_cadre-cluster"
#define KEY_SUBJECT "$KV.cadre-cluster.session-key"

enum { ANNOUNCE_MS = 1000, FLEET_LAST_MS = 8000 };

// --- what the cluster has ------------------------------------------------------------------------

// Everything is there once per cluster, made by the node that comes first.
static const struct {
    const char *name, *subjects;
    const char *more;  // of the configuration
} streams[] = {
    {JOURNAL_STREAM, JOURNAL_SUBJECT "*", ""},
    {IMAGES_STREAM, IMAGES_SUBJECT ">", ",\"max_msgs_per_subject\":1"},
    // As `nats kv` makes them.
    {OWNERS_STREAM, OWNERS_SUBJECT ">", ",\"max_msgs_per_subject\":1,\"allow_rollup_hdrs\":true"},
    {MANIFESTS_STREAM, MANIFESTS_SUBJECT ">",
     ",\"max_msgs_per_subject\":1,\"allow_rollup_hdrs\":true"},
    {"KV_cadre-nodes", "$KV.cadre-nodes.>",
     ",\"max_msgs_per_subject\":1,\"allow_rollup_hdrs\":true"},
    {KEY_STREAM, "$KV.cadre-cluster.>", ",\"max_msgs_per_subject\":1,\"allow_rollup_hdrs\":true"},
};

static void provide_next(struct fleet *fleet);

// The tick tries again.
static void is_not_ready(struct fleet *fleet, const char *what,
                         const struct jetstream_answer *answer)
{
    const char *why =
        answer->status == JETSTREAM_REFUSED && answer->text ? answer->text : "no answer in time";
    char text[sizeof(fleet->failure)];
    snprintf(text, sizeof(text), "%s: %s", what, why);
    if (strcmp(text, fleet->failure) != 0)
        log_warning("cluster: %s", text);
    memcpy(fleet->failure, text, sizeof(text));
}

static void use_key(struct fleet *fleet, struct span key)
{
    memcpy(fleet->key, key.data, sizeof(fleet->key));
    fleet->failure[0] = '\0';
    fleet->state = FLEET_READY;
    fleet_nodes_announce(fleet);
    log_progress("node %s of the cluster at %s", fleet->options->node, fleet->options->servers);
    fleet_hurry(fleet);
}

static void ask_for_key(struct fleet *fleet);

static void on_key_made(void *data, const struct jetstream_answer *answer)
{
    struct fleet *fleet = data;
    fleet->request = NULL;
    if (answer->status == JETSTREAM_DONE || answer->status == JETSTREAM_CONFLICT)
        ask_for_key(fleet);
    else
        is_not_ready(fleet, "the key of sessions", answer);
}

static void make_key(struct fleet *fleet)
{
    unsigned char key[FLEET_KEY_BYTES];
    randombytes_buf(key, sizeof(key));
    const struct jetstream_message message = {
        .subject = KEY_SUBJECT, .body = {(char *)key, sizeof(key)}, .expected = 0};
    fleet->request = jetstream_publish(fleet->jetstream, &message, on_key_made, fleet);
    sodium_memzero(key, sizeof(key));
}

static void on_key(void *data, const struct jetstream_answer *answer)
{
    struct fleet *fleet = data;
    fleet->request = NULL;
    if (answer->status == JETSTREAM_NONE)
        make_key(fleet);
    else if (answer->status == JETSTREAM_DONE && answer->body.length == sizeof(fleet->key))
        use_key(fleet, answer->body);
    else
        is_not_ready(fleet, "the key of sessions", answer);
}

static void ask_for_key(struct fleet *fleet)
{
    fleet->request = jetstream_get_last(fleet->jetstream, KEY_STREAM, KEY_SUBJECT, on_key, fleet);
}

static void on_provided(void *data, const struct jetstream_answer *answer)
{
    struct fleet *fleet = data;
    fleet->request = NULL;
    if (answer->status != JETSTREAM_DONE) {
        is_not_ready(fleet, streams[fleet->provided].name, answer);
        return;
    }
    fleet->provided++;
    provide_next(fleet);
}

static void provide_next(struct fleet *fleet)
{
    if (fleet->provided == COUNT_OF(streams)) {
        ask_for_key(fleet);
        return;
    }
    const char *name = streams[fleet->provided].name;
    CLEANUP_FREE char *configuration = memory_format(
        "{\"name\":\"%s\",\"subjects\":[\"%s\"],\"storage\":\"file\",\"retention\":\"limits\","
        "\"discard\":\"new\",\"max_consumers\":-1,\"max_msgs\":-1,\"max_bytes\":-1,\"max_age\":0,"
        "\"duplicate_window\":120000000000,\"num_replicas\":%u%s}",
        name, streams[fleet->provided].subjects, fleet->options->replicas,
        streams[fleet->provided].more);
    fleet->request =
        jetstream_provide(fleet->jetstream, name, span_from(configuration), on_provided, fleet);
}

// --- the connection ------------------------------------------------------------------------------

static void on_state(void *data, bool is_connected)
{
    struct fleet *fleet = data;
    if (is_connected) {
        log_progress("connected to the cluster");
        fleet_hurry(fleet);
        return;
    }
    log_warning("cluster: %s", bus_failure(fleet->bus));
    fleet_routes_on_disconnected(fleet);
}

struct span fleet_key(const struct fleet *fleet)
{
    return (struct span){(const char *)fleet->key, sizeof(fleet->key)};
}

// --- now and then --------------------------------------------------------------------------------

void fleet_hurry(struct fleet *fleet)
{
    event_active(fleet->tick, EV_TIMEOUT, 0);
}

static void tick_workspaces(struct fleet *fleet)
{
    struct fleet_workspace *workspace, *next;
    for (workspace = TAILQ_FIRST(&fleet->workspaces); workspace; workspace = next) {
        next = TAILQ_NEXT(workspace, link);
        // A lease that has run out ends the service also where nobody asks.
        if (workspace->state >= WORKSPACE_OPEN && workspace->state <= WORKSPACE_SAVING)
            fleet_workspace_may_answer(workspace);
        fleet_workspace_tick(workspace);
    }
}

// A few at a time, because to save takes a second of processor time each: those that wait are served.
static void leave_some(struct fleet *fleet, int64_t now)
{
    struct fleet_workspace *workspace;
    bool is_late = fleet->drain_until_ms > 0 && now >= fleet->drain_until_ms - FLEET_LAST_MS;
    size_t count = 0;
    TAILQ_FOREACH (workspace, &fleet->workspaces, link)
        count += workspace->state != WORKSPACE_OPEN;
    TAILQ_FOREACH (workspace, &fleet->workspaces, link) {
        if (workspace->state != WORKSPACE_OPEN || (!is_late && count >= FLEET_LEAVES_MAX))
            continue;
        fleet_workspace_leave(workspace, is_late ? FLEET_LAST_MS / 2 : FLEET_DRAIN_MS);
        count++;
    }
}

static void on_tick(evutil_socket_t fd, short what, void *data)
{
    (void)fd;
    (void)what;
    struct fleet *fleet = data;
    int64_t now = clock_now_ms();
    if (fleet->state == FLEET_CONNECTING && bus_is_connected(fleet->bus) && !fleet->request)
        provide_next(fleet);
    if (fleet_is_ready(fleet) && now - fleet->announced_ms >= ANNOUNCE_MS) {
        fleet->announced_ms = now;
        fleet_nodes_announce(fleet);
    }
    if (fleet->drains)
        leave_some(fleet, now);
    tick_workspaces(fleet);
    fleet_routes_tick(fleet);
}

// --- draining ------------------------------------------------------------------------------------

void fleet_drain(struct fleet *fleet, int64_t grace_ms)
{
    fleet->drains = fleet->router.leaves = true;
    fleet->drain_until_ms = grace_ms > 0 ? clock_now_ms() + grace_ms : 0;
    if (fleet_is_ready(fleet))
        fleet_nodes_announce(fleet);
}

bool fleet_is_drained(const struct fleet *fleet)
{
    return TAILQ_EMPTY(&fleet->workspaces) || !bus_is_connected(fleet->bus);
}

bool fleet_order_drain(struct fleet *fleet, const char *name)
{
    const struct fleet_node *node = fleet_nodes_find(fleet, name);
    if (!node || !fleet_node_is_there(node))
        return false;
    CLEANUP_FREE char *subject = memory_format("cadre.node.%s", name);
    const struct bus_message message = {.subject = subject, .body = SPAN("{\"op\":\"drain\"}")};
    return bus_publish(fleet->bus, &message) == 0;
}

// --- what is known -------------------------------------------------------------------------------

static value describe_nodes(const struct fleet *fleet, struct region *region)
{
    value list = vector_new(region, 0);
    const struct fleet_node *node;
    TAILQ_FOREACH (node, &fleet->nodes, link) {
        value map =
            map_put_text(region, map_new(region), "node", value_string_text(region, node->name));
        const char *state = !fleet_node_is_there(node) ? "silent" : node->drains ? "drains" : "up";
        map = map_put_text(region, map, "state", value_string_text(region, state));
        map = map_put_text(region, map, "workspaces", value_integer(node->workspaces));
        map = map_put_text(region, map, "calls", value_integer(node->calls));
        map = map_put_text(region, map, "journal_us", value_integer(node->latency_us));
        list = vector_push(region, list, map);
    }
    return list;
}

struct listing {
    struct region *region;
    value list;
};

static void describe_owner(void *data, const struct owner *owner)
{
    struct listing *listing = data;
    struct region *region = listing->region;
    bool is_free = owner_is_free(owner);
    value map = map_put_text(region, map_new(region), "workspace",
                             value_string_text(region, owner->workspace));
    map = map_put_text(region, map, "node",
                       value_string_text(region, is_free ? "" : owner->record.node));
    map = map_put_text(region, map, "epoch", value_integer((int64_t)owner->record.epoch));
    map = map_put_text(region, map, "journal", value_integer((int64_t)owner->record.journal));
    map = map_put_text(region, map, "lag_ms", value_integer(clock_boot_ms() - owner->seen_ms));
    listing->list = vector_push(region, listing->list, map);
}

value fleet_status(struct fleet *fleet, struct region *region)
{
    struct listing listing = {region, vector_new(region, 0)};
    owners_visit(fleet->owners, describe_owner, &listing);
    const char *failure = bus_is_connected(fleet->bus) ? fleet->failure : bus_failure(fleet->bus);
    value map = map_put_text(region, map_new(region), "node",
                             value_string_text(region, fleet->options->node));
    map = map_put_text(region, map, "ready", value_boolean(fleet_is_ready(fleet)));
    map = map_put_text(region, map, "failure", value_string_format(region, "%s", failure));
    map = map_put_text(region, map, "nodes", describe_nodes(fleet, region));
    return map_put_text(region, map, "workspaces", listing.list);
}

static void measure(void *data, struct buffer *out)
{
    const struct fleet *fleet = data;
    const struct fleet_counters *counters = &fleet->counters;
    buffer_append_format(
        out,
        "# TYPE cadre_cluster_connected gauge\ncadre_cluster_connected %d\n"
        "# TYPE cadre_cluster_workspaces gauge\ncadre_cluster_workspaces %zu\n"
        "# TYPE cadre_cluster_claims_total counter\ncadre_cluster_claims_total %" PRIu64 "\n"
        "# TYPE cadre_cluster_fencings_total counter\ncadre_cluster_fencings_total %" PRIu64 "\n"
        "# TYPE cadre_cluster_forwarded_total counter\ncadre_cluster_forwarded_total %" PRIu64 "\n"
        "# TYPE cadre_cluster_journal_seconds summary\n"
        "cadre_cluster_journal_seconds_sum %.6f\ncadre_cluster_journal_seconds_count %" PRIu64 "\n",
        fleet_is_ready(fleet), fleet->workspace_count, counters->claims, counters->losses,
        counters->forwarded, counters->stored_seconds, counters->stored);
}

// --- life ----------------------------------------------------------------------------------------

static void make_inbox(struct fleet *fleet)
{
    unsigned char random[12];
    char text[2 * sizeof(random) + 1];
    randombytes_buf(random, sizeof(random));
    sodium_bin2hex(text, sizeof(text), random, sizeof(random));
    snprintf(fleet->inbox, sizeof(fleet->inbox), "_INBOX.cadre.%s", text);
}

bool fleet_open(struct daemon *daemon, const struct fleet_options *options,
                struct fleet **ret_fleet, struct error *error)
{
    struct fleet *fleet = memory_alloc_zero(sizeof(*fleet));
    *fleet = (struct fleet){.daemon = daemon,
                            .options = options,
                            .router = {.route = fleet_route, .measure = measure, .data = fleet}};
    TAILQ_INIT(&fleet->nodes);
    TAILQ_INIT(&fleet->workspaces);
    TAILQ_INIT(&fleet->routes);
    const struct bus_options bus = {.servers = options->servers,
                                    .credentials = options->credentials,
                                    .ca = options->ca,
                                    .name = options->node};
    if (!bus_open(daemon->base, &bus, on_state, fleet, &fleet->bus, error)) {
        memory_free(fleet);
        return false;
    }
    make_inbox(fleet);
    randombytes_buf(&fleet->instance, sizeof(fleet->instance));
    fleet->instance >>= 1;  // an integer of JSON
    fleet->jetstream = jetstream_new(daemon->base, fleet->bus);
    fleet->owners = owners_new(fleet->bus);
    fleet->background = background_new(daemon->base);
    fleet_nodes_subscribe(fleet);
    fleet_routes_subscribe(fleet);
    fleet->tick = event_new(daemon->base, -1, EV_PERSIST, on_tick, fleet);
    CHECK(fleet->tick);
    struct timeval time = timeval_from_ms(FLEET_TICK_MS);
    event_add(fleet->tick, &time);
    *ret_fleet = fleet;
    return true;
}

const struct mcp_http_router *fleet_router(struct fleet *fleet)
{
    return &fleet->router;
}

void fleet_serve(struct fleet *fleet, const struct tenants *tenants)
{
    fleet->setup = tenants->setup;
    fleet->setup.router = NULL;
    fleet->tokens = tenants->tokens;
    fleet->serves = true;
}

void fleet_free(struct fleet *fleet)
{
    if (!fleet)
        return;
    while (!TAILQ_EMPTY(&fleet->workspaces))
        fleet_workspace_free(TAILQ_FIRST(&fleet->workspaces));
    fleet_routes_free(fleet);
    event_free(fleet->tick);
    jetstream_drop(fleet->request);
    background_free(fleet->background);
    fleet_nodes_free(fleet);
    bus_unsubscribe(fleet->answers);
    owners_free(fleet->owners);
    jetstream_free(fleet->jetstream);
    bus_free(fleet->bus);
    sodium_memzero(fleet->key, sizeof(fleet->key));
    memory_free(fleet);
}
