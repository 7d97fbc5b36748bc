// The server: its life, its transports, the regions of its messages, and how it describes itself.
#include "base/assert.h"
#include "base/memory.h"
#include "mcp/mcp_internal.h"

enum { REGISTRY_LIMIT = 64 << 20 };

struct mcp_server *mcp_server_new(struct event_base *base, const struct mcp_server_info *info)
{
    struct mcp_server *server = memory_alloc_zero(sizeof(*server));
    server->base = base;
    arena_init(&server->arena, REGISTRY_LIMIT);
    server->schemas = region_new(REGISTRY_LIMIT);
    server->shapes = region_new(SIZE_MAX);
    server->info = *info;
    server->info.name = registry_text(server, info->name);
    server->info.title = registry_text(server, info->title);
    server->info.version = registry_text(server, info->version);
    server->info.instructions = registry_text(server, info->instructions);
    STAILQ_INIT(&server->tools);
    STAILQ_INIT(&server->resources);
    STAILQ_INIT(&server->templates);
    STAILQ_INIT(&server->prompts);
    STAILQ_INIT(&server->completers);
    TAILQ_INIT(&server->calls);
    TAILQ_INIT(&server->listeners);
    TAILQ_INIT(&server->peers);
    TAILQ_INIT(&server->tasks);
    TAILQ_INIT(&server->transports);
    server->metrics = metrics_new();
    server->states = request_states_new();
    return server;
}

void mcp_server_free(struct mcp_server *server)
{
    if (!server)
        return;
    CHECK(TAILQ_EMPTY(&server->transports) && TAILQ_EMPTY(&server->peers));
    while (!TAILQ_EMPTY(&server->calls))
        call_free(TAILQ_FIRST(&server->calls));
    while (!TAILQ_EMPTY(&server->listeners))
        call_free(TAILQ_FIRST(&server->listeners));
    task_free_all(server);
    request_states_free(server->states);
    metrics_free(server->metrics);
    for (size_t i = 0; i < server->spare_count; i++)
        region_free(server->spare[i]);
    region_free(server->shapes);
    region_free(server->schemas);
    arena_release(&server->arena);
    memory_free(server);
}

void mcp_server_shutdown(struct mcp_server *server, unsigned grace_ms)
{
    if (!server->stopping) {
        server->stopping = true;
        struct mcp_call *call, *next;
        for (call = TAILQ_FIRST(&server->listeners); call; call = next) {
            next = TAILQ_NEXT(call, link);
            listener_end(call);
        }
    }
    struct transport *transport, *next;
    for (transport = TAILQ_FIRST(&server->transports); transport; transport = next) {
        next = TAILQ_NEXT(transport, link);
        transport->shutdown(transport, grace_ms);
    }
}

static void end_calls(struct mcp_server *server, void (*end)(struct mcp_call *call), bool all)
{
    struct mcp_call *call = TAILQ_FIRST(&server->calls);
    while (call) {
        bool chosen = !call->cancelled && (all || (call->exchange && call->state != CALL_DELAYED));
        struct mcp_call *next = TAILQ_NEXT(call, link);
        if (chosen)
            end(call);
        call = chosen ? TAILQ_FIRST(&server->calls) : next;  // ending one may end others
    }
}

void server_stop_calls(struct mcp_server *server)
{
    end_calls(server, call_stop, false);
}

void server_remove_transport(struct mcp_server *server, struct transport *transport)
{
    TAILQ_REMOVE(&server->transports, transport, link);
    // No client is left to read a response. Tasks, which belong to no client, are cancelled too.
    if (TAILQ_EMPTY(&server->transports))
        end_calls(server, call_cancel, true);
}

struct region *server_region_acquire(struct mcp_server *server)
{
    struct region *region =
        server->spare_count ? server->spare[--server->spare_count] : region_new(MCP_REGION_LIMIT);
    region_set_limit(region, MCP_REGION_LIMIT);
    shapes_share(region, server->shapes);
    return region;
}

void server_region_release(struct mcp_server *server, struct region *region)
{
    if (server->spare_count == MCP_SPARE_REGIONS || region->peak > MCP_SPARE_BYTES) {
        region_free(region);
        return;
    }
    region_clear(region);
    server->spare[server->spare_count++] = region;
}

// --- description ---------------------------------------------------------------------------------

void server_write_info(const struct mcp_server *server, struct buffer *out)
{
    buffer_append_byte(out, '{');
    json_put_text(out, "name", server->info.name);
    json_put_text(out, "title", server->info.title);
    json_put_text(out, "version", server->info.version);
    buffer_append_byte(out, '}');
}

static bool offers(const struct mcp_server *server, const char *method, unsigned protocol)
{
    return method_find(server, span_from(method), protocol) != NULL;
}

void server_write_capabilities(const struct mcp_server *server, struct buffer *out, bool is_2026)
{
    unsigned protocol = is_2026 ? METHOD_2026 : METHOD_2024;
    const struct span changes = SPAN("{\"listChanged\":true}"), plain = SPAN("{}");
    buffer_append_byte(out, '{');
    if (offers(server, "tools/list", protocol))
        json_put_raw(out, "tools", server->info.tools_change ? changes : plain);
    if (offers(server, "resources/list", protocol)) {
        json_name(out, "resources");
        buffer_append_byte(out, '{');
        if (server->info.resources_change)
            json_put_boolean(out, "listChanged", true);
        if (server->info.subscribe)
            json_put_boolean(out, "subscribe", true);
        buffer_append_byte(out, '}');
    }
    if (offers(server, "prompts/list", protocol))
        json_put_raw(out, "prompts", server->info.prompts_change ? changes : plain);
    if (offers(server, "completion/complete", protocol))
        json_put_raw(out, "completions", plain);
    if (server->info.logging)
        json_put_raw(out, "logging", plain);
    if (is_2026 && server->info.tasks)
        json_put_raw(out, "extensions", SPAN("{\"" META_PREFIX "tasks\":{}}"));
    buffer_append_byte(out, '}');
}

bool mcp_server_is_idle(const struct mcp_server *server)
{
    return server->call_count == 0;
}
