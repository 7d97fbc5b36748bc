// The nodes of the cluster: each announces itself once a second, in a bucket, and hears the others.
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "cluster/boot_clock.h"
#include "daemon/fleet/fleet_internal.h"
#include "value/text/json.h"

#define NODES_SUBJECT "$KV.cadre-nodes."

enum { NODES_MAX = 1024, NODE_SILENT_MS = 3500, FORGET_MS = 600000 };

struct fleet_node *fleet_nodes_find(const struct fleet *fleet, const char *name)
{
    struct fleet_node *node;
    TAILQ_FOREACH (node, &fleet->nodes, link)
        if (strcmp(node->name, name) == 0)
            break;
    return node;
}

bool fleet_node_is_there(const struct fleet_node *node)
{
    return clock_boot_ms() - node->seen_ms < NODE_SILENT_MS;
}

static struct fleet_node *obtain(struct fleet *fleet, const char *name)
{
    struct fleet_node *node = fleet_nodes_find(fleet, name), *next;
    size_t count = 0;
    if (node)
        return node;
    for (node = TAILQ_FIRST(&fleet->nodes); node; node = next, count++) {
        next = TAILQ_NEXT(node, link);
        if (clock_boot_ms() - node->seen_ms > FORGET_MS) {
            TAILQ_REMOVE(&fleet->nodes, node, link);
            memory_free(node);
        }
    }
    if (count >= NODES_MAX)
        return NULL;
    node = memory_alloc_zero(sizeof(*node));
    memcpy(node->name, name, strlen(name));
    TAILQ_INSERT_TAIL(&fleet->nodes, node, link);
    return node;
}

static void on_announcement(void *data, const struct bus_delivery *delivery)
{
    struct fleet *fleet = data;
    const char *name = delivery->subject + sizeof(NODES_SUBJECT) - 1;
    struct error error;
    value map;
    struct region *region = region_new(1 << 20);
    struct fleet_node *node = cluster_name_valid(span_from(name)) ? obtain(fleet, name) : NULL;
    if (node && json_read(region, delivery->body, NULL, &map, &error) && value_is_map(map)) {
        node->workspaces = map_get_integer(map, "workspaces", 0);
        node->calls = map_get_integer(map, "calls", 0);
        node->latency_us = map_get_integer(map, "journal_us", 0);
        node->drains = map_get_boolean(map, "drains");
        node->seen_ms = clock_boot_ms();
        node->promised = 0;
    }
    region_free(region);
}

static void on_order(void *data, const struct bus_delivery *delivery)
{
    struct fleet *fleet = data;
    struct error error;
    value map;
    struct region *region = region_new(1 << 20);
    if (!json_read(region, delivery->body, NULL, &map, &error) || !value_is_map(map))
        map = map_new(region);
    struct span op = map_get_string(map, "op"), name = map_get_string(map, "workspace");
    if (span_equal_text(op, "drain")) {
        log_progress("the cluster has asked this node to give up its workspaces");
        fleet_drain(fleet, 0);
    } else if (span_equal_text(op, "open") && cluster_name_valid(name) && !fleet->drains &&
               fleet->serves) {
        CLEANUP_FREE char *text = memory_copy_text(name.data, name.length);
        struct fleet_workspace *workspace = fleet_workspace_open(fleet, text);
        if (workspace && *delivery->reply)
            fleet_workspace_ask(workspace, delivery->reply);
    } else if (*delivery->reply) {
        const struct bus_message refusal = {.subject = delivery->reply, .body = SPAN("{}")};
        bus_publish(fleet->bus, &refusal);
    }
    region_free(region);
}

void fleet_nodes_subscribe(struct fleet *fleet)
{
    CLEANUP_FREE char *orders = memory_format("cadre.node.%s", fleet->options->node);
    fleet->announcements =
        bus_subscribe(fleet->bus, NODES_SUBJECT "*", NULL, on_announcement, fleet);
    fleet->orders = bus_subscribe(fleet->bus, orders, NULL, on_order, fleet);
}

static int64_t count_calls(const struct fleet *fleet)
{
    int64_t count = 0;
    const struct fleet_workspace *workspace;
    TAILQ_FOREACH (workspace, &fleet->workspaces, link)
        count += (int64_t)fleet_calls_count(workspace);
    return count;
}

void fleet_nodes_announce(struct fleet *fleet)
{
    const struct fleet_counters *counters = &fleet->counters;
    double latency_us =
        counters->stored > 0 ? counters->stored_seconds * 1e6 / (double)counters->stored : 0;
    CLEANUP_FREE char *subject = memory_format(NODES_SUBJECT "%s", fleet->options->node);
    CLEANUP_FREE char *text =
        memory_format("{\"node\":\"%s\",\"workspaces\":%zu,\"calls\":%" PRId64
                      ",\"journal_us\":%.0f,\"drains\":%s}",
                      fleet->options->node, fleet->workspace_count, count_calls(fleet), latency_us,
                      fleet->drains ? "true" : "false");
    const struct bus_message message = {.subject = subject, .body = span_from(text)};
    bus_publish(fleet->bus, &message);
}

static int64_t load_of(const struct fleet_node *node)
{
    return node->workspaces + node->promised;
}

const char *fleet_nodes_choose(struct fleet *fleet)
{
    struct fleet_node *node, *best = NULL;
    TAILQ_FOREACH (node, &fleet->nodes, link)
        if (fleet_node_is_there(node) && !node->drains && (!best || load_of(node) < load_of(best)))
            best = node;
    if (!best)
        return NULL;
    best->promised++;
    return best->name;
}

void fleet_nodes_free(struct fleet *fleet)
{
    struct fleet_node *node;
    bus_unsubscribe(fleet->announcements);
    bus_unsubscribe(fleet->orders);
    while ((node = TAILQ_FIRST(&fleet->nodes))) {
        TAILQ_REMOVE(&fleet->nodes, node, link);
        memory_free(node);
    }
}
