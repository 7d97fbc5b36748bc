// A workspace from the claim of its lease to the end of it: its journal is read, its files are made from
// that, its images are fetched; then it is served as on one machine, by a tenant of its own, until it is
// left in order or the lease is lost.
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/private.h"
#include "context/store.h"
#include "daemon/daemon_internal.h"
#include "daemon/fleet/fleet_internal.h"
#include "session/session.h"
#include "session/workspace/home.h"

// A node that wants to be told when it is open.
struct fleet_asker {
    TAILQ_ENTRY(fleet_asker) link;
    char *reply;
};

struct fleet_workspace *fleet_workspace_find(const struct fleet *fleet, const char *name)
{
    struct fleet_workspace *workspace;
    TAILQ_FOREACH (workspace, &fleet->workspaces, link)
        if (strcmp(workspace->name, name) == 0)
            break;
    return workspace;
}

// --- what is known of sessions -------------------------------------------------------------------

struct fleet_session *fleet_session_obtain(struct fleet_workspace *workspace, struct span name)
{
    struct fleet_session *session;
    size_t count = 0;
    TAILQ_FOREACH (session, &workspace->sessions, link) {
        if (span_equal_text(name, session->name))
            return session;
        count++;
    }
    if (!session_name_valid(name) || count == FLEET_SESSIONS_MAX)
        return NULL;
    session = memory_alloc_zero(sizeof(*session));
    session->name = memory_copy_text(name.data, name.length);
    buffer_init(&session->replay, BUFFER_DEFAULT_LIMIT);
    TAILQ_INSERT_TAIL(&workspace->sessions, session, link);
    return session;
}

void fleet_session_free(struct fleet_workspace *workspace, struct fleet_session *session)
{
    fleet_images_forget(workspace, session);
    TAILQ_REMOVE(&workspace->sessions, session, link);
    buffer_release(&session->replay);
    memory_free(session->started);
    memory_free(session->name);
    memory_free(session);
}

// --- who asks for it -----------------------------------------------------------------------------

void fleet_workspace_ask(struct fleet_workspace *workspace, const char *reply)
{
    struct fleet_asker *asker = memory_alloc_zero(sizeof(*asker));
    asker->reply = memory_copy_string(reply);
    TAILQ_INSERT_TAIL(&workspace->askers, asker, link);
    fleet_hurry(workspace->fleet);
}

// Who the owner is, as far as it is known here.
static void answer_askers(struct fleet_workspace *workspace)
{
    const struct fleet *fleet = workspace->fleet;
    const struct owner *owner = owners_find(fleet->owners, workspace->name);
    CLEANUP_FREE char *record = owner ? owner_record_write(&owner->record) : NULL;
    struct fleet_asker *asker;
    while ((asker = TAILQ_FIRST(&workspace->askers))) {
        const struct bus_message message = {.subject = asker->reply,
                                            .body = span_from(record ? record : "{}")};
        bus_publish(fleet->bus, &message);
        TAILQ_REMOVE(&workspace->askers, asker, link);
        memory_free(asker->reply);
        memory_free(asker);
    }
}

// --- the end -------------------------------------------------------------------------------------

void fleet_workspace_give_up(struct fleet_workspace *workspace, const char *why)
{
    if (workspace->state == WORKSPACE_OVER)
        return;
    log_info("workspace %s: %s", workspace->name, why);
    workspace->state = WORKSPACE_OVER;
    snprintf(workspace->why, sizeof(workspace->why), "%.150s", why);
    fleet_hurry(workspace->fleet);
}

bool fleet_workspace_may_answer(struct fleet_workspace *workspace)
{
    if (workspace->state == WORKSPACE_OVER)
        return false;
    if (lease_is_held(workspace->lease))
        return true;
    workspace->fleet->counters.losses++;
    fleet_workspace_give_up(workspace, "no refresh of the lease was acknowledged in time");
    return false;
}

// The processes end first: nothing of what they do is kept any more.
static void end_service(struct fleet_workspace *workspace)
{
    struct daemon_workspace *shared = workspace->has_tenant ? workspace->tenant.shared : NULL;
    bus_unsubscribe(workspace->requests);
    workspace->requests = NULL;
    mcp_http_free(workspace->http);
    workspace->http = NULL;
    if (workspace->programs)
        program_pool_free(workspace->programs);
    workspace->programs = NULL;
    if (shared) {
        session_manager_free(shared->sessions);
        shared->sessions = NULL;
    }
    if (workspace->has_tenant)
        tenant_release(&workspace->tenant);
    workspace->has_tenant = false;
    if (shared)
        workspaces_close(workspace->fleet->daemon, shared);
}

void fleet_workspace_free(struct fleet_workspace *workspace)
{
    struct fleet *fleet = workspace->fleet;
    CLEANUP_FREE char *why = memory_format(
        "This node is not the owner of the workspace any more (%s): what has become of the request "
        "is not known",
        *workspace->why ? workspace->why : "it stops");
    workspace->state = WORKSPACE_OVER;
    fleet_calls_fail(workspace, why);
    end_service(workspace);
    answer_askers(workspace);
    fleet_images_free(workspace);
    context_store_free(workspace->replayed);
    record_log_free(workspace->log);
    lease_free(workspace->lease);
    while (!TAILQ_EMPTY(&workspace->sessions))
        fleet_session_free(workspace, TAILQ_FIRST(&workspace->sessions));
    struct fleet_memory *memory;
    while ((memory = TAILQ_FIRST(&workspace->memories))) {
        TAILQ_REMOVE(&workspace->memories, memory, link);
        memory_free(memory->name);
        memory_free(memory->content);
        memory_free(memory);
    }
    TAILQ_REMOVE(&fleet->workspaces, workspace, link);
    fleet->workspace_count--;
    memory_free(workspace->directory);
    memory_free(workspace->home);
    memory_free(workspace->store);
    memory_free(workspace->name);
    memory_free(workspace);
}

// --- in order ------------------------------------------------------------------------------------

// Nothing runs any more.
static void on_http_end(void *data)
{
    struct fleet_workspace *workspace = data;
    workspace->has_ended = true;
    fleet_hurry(workspace->fleet);
}

void fleet_workspace_leave(struct fleet_workspace *workspace, int64_t grace_ms)
{
    if (workspace->state != WORKSPACE_OPEN)
        return;
    workspace->state = WORKSPACE_LEAVING;
    workspace->leave_until_ms = clock_now_ms() + grace_ms;
    mcp_server_shutdown(workspace->tenant.service.mcp, (unsigned)grace_ms);
}

static void save_and_release(struct fleet_workspace *workspace, int64_t now)
{
    struct session_manager *sessions = workspace->tenant.sessions;
    bool is_late = now >= workspace->leave_until_ms;
    if (workspace->state == WORKSPACE_LEAVING && (workspace->has_ended || is_late)) {
        workspace->state = WORKSPACE_SAVING;
        workspace->leave_until_ms = now + FLEET_DRAIN_MS;
        session_save_all(sessions);
        return;
    }
    bool is_saved = !session_is_busy(sessions) && !session_is_saving(sessions) &&
                    record_log_stored(workspace->log) == record_log_appended(workspace->log) &&
                    fleet_images_are_idle(workspace);
    if (workspace->state != WORKSPACE_SAVING || (!is_saved && !is_late))
        return;
    fleet_calls_fail(workspace, "The workspace moves to another node");
    end_service(workspace);
    workspace->state = WORKSPACE_RELEASING;
    lease_release(workspace->lease);
}

void fleet_workspace_tick(struct fleet_workspace *workspace)
{
    if (workspace->state == WORKSPACE_OVER) {
        fleet_workspace_free(workspace);
        return;
    }
    if (workspace->log && workspace->state >= WORKSPACE_OPEN)
        lease_describe(workspace->lease, record_log_sequence(workspace->log),
                       workspace->image_count);
    if (workspace->state == WORKSPACE_OPEN)
        answer_askers(workspace);
    if (workspace->state == WORKSPACE_OPEN || workspace->state == WORKSPACE_SAVING)
        fleet_images_upload(workspace);
    if (workspace->state == WORKSPACE_LEAVING || workspace->state == WORKSPACE_SAVING)
        save_and_release(workspace, clock_now_ms());
}

// --- opening: 4. the service ---------------------------------------------------------------------

static bool open_tenant(struct fleet_workspace *workspace, struct error *error)
{
    struct fleet *fleet = workspace->fleet;
    struct tenant_setup setup = fleet->setup;
    const struct tenant_identity identity = {
        .name = "", .workspace = workspace->directory, .is_other = true};
    workspace->programs = program_pool_new(fleet->daemon->reaper, "/proc/self/exe");
    setup.programs = workspace->programs;
    setup.ledger = &workspace->ledger;
    workspace->has_tenant = true;
    return tenant_open(&workspace->tenant, &setup, &identity, error) == 0;
}

static bool open_service(struct fleet_workspace *workspace, struct error *error)
{
    if (!open_tenant(workspace, error))
        return false;
    const struct mcp_http_carry_options options = {.key = fleet_key(workspace->fleet),
                                                   .label = workspace->name};
    workspace->http =
        mcp_http_start_carried(workspace->tenant.service.mcp, &options, on_http_end, workspace);
    return true;
}

void fleet_workspace_use_images(struct fleet_workspace *workspace)
{
    struct error error = {0};
    if (workspace->state != WORKSPACE_FETCHING)
        return;
    if (!open_service(workspace, &error)) {
        log_error("workspace %s: %s", workspace->name, error.message);
        fleet_workspace_give_up(workspace, error.message);
        return;
    }
    workspace->state = WORKSPACE_OPEN;
    fleet_calls_subscribe(workspace);
    log_info("workspace %s: owned, epoch %llu", workspace->name,
             (unsigned long long)lease_epoch(workspace->lease));
    fleet_hurry(workspace->fleet);
}

// --- opening: 2. the journal, 3. the images ------------------------------------------------------

static void on_record(void *data, struct span record, uint64_t sequence)
{
    struct fleet_workspace *workspace = data;
    struct error error = {0};
    if (workspace->state != WORKSPACE_READING)
        return;
    if (!fleet_records_replay(workspace, record, sequence, &error)) {
        log_error("workspace %s: %s", workspace->name, error.message);
        fleet_workspace_give_up(workspace, error.message);
    }
}

static void on_ready(void *data)
{
    struct fleet_workspace *workspace = data;
    struct error error = {0};
    if (workspace->state != WORKSPACE_READING)
        return;
    if (!fleet_records_end(workspace, &error)) {
        log_error("workspace %s: %s", workspace->name, error.message);
        fleet_workspace_give_up(workspace, error.message);
        return;
    }
    workspace->state = WORKSPACE_FETCHING;
    fleet_images_fetch(workspace);
}

static void on_stored(void *data)
{
    struct fleet_workspace *workspace = data;
    struct fleet_counters *counters = &workspace->fleet->counters;
    counters->stored++;
    counters->stored_seconds += record_log_latency_ms(workspace->log) / 1000;
    fleet_calls_release(workspace);
}

static void on_broken(void *data, const char *why)
{
    struct fleet_workspace *workspace = data;
    workspace->fleet->counters.losses += workspace->state >= WORKSPACE_OPEN;
    fleet_workspace_give_up(workspace, why);
}

static bool prepare(struct fleet_workspace *workspace, struct error *error)
{
    CLEANUP_FREE char *name = memory_format("fleet/%s", workspace->name);
    workspace->directory = path_in_state(name);
    if (!workspace->directory)
        return error_set(error, ERROR_SYSTEM, "no state directory: set HOME or XDG_STATE_HOME");
    if (!private_make_directory(workspace->directory, error) ||
        !workspace_home_open(workspace->directory, &workspace->home, error))
        return false;
    workspace->store = memory_format("%s/sessions", workspace->home);
    return fleet_records_begin(workspace, error);
}

static void on_claimed(void *data, enum lease_result result)
{
    struct fleet_workspace *workspace = data;
    struct error error = {0};
    if (result != LEASE_HELD) {
        fleet_workspace_give_up(workspace, result == LEASE_TAKEN ? "another node has it"
                                                                 : "its owner cannot be found out");
        return;
    }
    workspace->fleet->counters.claims++;
    if (!prepare(workspace, &error)) {
        log_error("workspace %s: %s", workspace->name, error.message);
        fleet_workspace_give_up(workspace, error.message);
        return;
    }
    const struct record_log_setup setup = {.base = workspace->fleet->daemon->base,
                                           .jetstream = workspace->fleet->jetstream,
                                           .workspace = workspace->name,
                                           .node = workspace->fleet->options->node,
                                           .epoch = lease_epoch(workspace->lease),
                                           .on_record = on_record,
                                           .on_ready = on_ready,
                                           .on_stored = on_stored,
                                           .on_broken = on_broken,
                                           .data = workspace};
    workspace->state = WORKSPACE_READING;
    workspace->log = record_log_new(&setup);
}

// --- opening: 1. the lease -----------------------------------------------------------------------

static void on_lost(void *data, const char *why)
{
    struct fleet_workspace *workspace = data;
    if (workspace->state != WORKSPACE_OVER)
        workspace->fleet->counters.losses++;
    fleet_workspace_give_up(workspace, why);
}

static void on_released(void *data)
{
    fleet_workspace_give_up(data, "it has moved");
}

struct fleet_workspace *fleet_workspace_open(struct fleet *fleet, const char *name)
{
    struct fleet_workspace *workspace = fleet_workspace_find(fleet, name);
    if (workspace || fleet->workspace_count == FLEET_WORKSPACES_MAX)
        return workspace;
    workspace = memory_alloc_zero(sizeof(*workspace));
    workspace->fleet = fleet;
    workspace->name = memory_copy_string(name);
    TAILQ_INIT(&workspace->sessions);
    TAILQ_INIT(&workspace->memories);
    TAILQ_INIT(&workspace->calls);
    TAILQ_INIT(&workspace->askers);
    TAILQ_INSERT_TAIL(&fleet->workspaces, workspace, link);
    fleet->workspace_count++;
    fleet_records_init(workspace);
    const struct lease_setup setup = {.base = fleet->daemon->base,
                                      .jetstream = fleet->jetstream,
                                      .owners = fleet->owners,
                                      .workspace = name,
                                      .node = fleet->options->node,
                                      .instance = fleet->instance,
                                      .on_claimed = on_claimed,
                                      .on_lost = on_lost,
                                      .on_released = on_released,
                                      .data = workspace};
    workspace->lease = lease_new(&setup);
    return workspace;
}
