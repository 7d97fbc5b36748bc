// STARTING: a fresh worker, and before it the core when there is none of this heap size yet.
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "process/proc.h"
#include "session/core.h"
#include "session/session_internal.h"
#include "session/spawn.h"
#include "session/state/actions.h"
#include "session/worker_data.h"

#define CORE_MISSING_TEXT                                                             \
    "The Lisp core is missing and could not be built; it goes to $XDG_CACHE_HOME or " \
    "$HOME/.cache. cadre doctor says more."

static enum session_state fail_start(struct session *session, const char *code, const char *message)
{
    session_set_timer(session, -1);
    job_refuse_queued(session, code, message);
    return STATE_DOWN;
}

static void remember_kernel_session(struct session *session, pid_t id)
{
    if (session->kernel_sessions.count == SESSION_KERNEL_SESSIONS) {
        memmove(&session->kernel_sessions.ids[0], &session->kernel_sessions.ids[1],
                (SESSION_KERNEL_SESSIONS - 1) * sizeof(id));
        session->kernel_sessions.count--;
    }
    session->kernel_sessions.ids[session->kernel_sessions.count++] = id;
}

static int start_worker(struct session *session, const char *sbcl, const char *core)
{
    int result = session_open(session);
    if (result < 0)
        return result;
    channel_forget_outgoing(&session->main);
    channel_forget_outgoing(&session->aux);
    struct spawn_worker worker = {
        .sbcl = sbcl,
        .core = core,
        .heap_mb = session->manager->config.heap_mb,
        .session_entry = session->environment_entry,
        .main_fd = session->main.worker_fd,
        .aux_fd = session->aux.worker_fd,
        .output_fd = session->output.worker_fd,
        .error_fd = session->errors.worker_fd,
    };
    pid_t pid;
    result = spawn_worker(&worker, &pid);
    if (result < 0)
        return result;
    session->head = worker_add(session, pid, ROLE_HEAD);
    if (!session->head)
        return -ENOMEM;
    remember_kernel_session(session, pid);
    session->unit_tick = proc_tick_now();
    return 0;
}

static int start_builder(struct session *session)
{
    struct core_build build;
    int result = core_build_plan(&session->manager->config, &build);
    if (result < 0)
        return result;
    result = session_open(session);
    pid_t pid = 0;
    if (result == 0) {
        const char *const argv[] = {build.program, build.target, build.heap, NULL};
        result = spawn_program(argv, session->environment_entry, session->errors.worker_fd, &pid);
    }
    core_build_release(&build);
    if (result < 0)
        return result;
    if (!worker_add(session, pid, ROLE_BUILDER))
        return -ENOMEM;
    remember_kernel_session(session, pid);
    session->unit_tick = proc_tick_now();
    return 0;
}

enum session_state starting_begin(struct session *session)
{
    struct session_manager *manager = session->manager;
    CLEANUP_FREE char *sbcl = NULL;
    CLEANUP_FREE char *core = NULL;
    if (session_find_sbcl(&manager->config, &sbcl) < 0)
        return fail_start(session, "sbcl-missing",
                          "SBCL is not installed. Install the package sbcl "
                          "(Debian: apt-get install sbcl), then try again.");
    manager_start_guardian(manager);
    if (session_find_core(&manager->config, &core) < 0) {
        if (start_builder(session) < 0)
            return fail_start(session, "core-missing", CORE_MISSING_TEXT);
        session->start.building = true;
        session_set_timer(session, TIME_BUILD_MS);
        return STATE_STARTING;
    }
    int result = start_worker(session, sbcl, core);
    if (result < 0)
        return fail_start(session, "start-failed", strerror(-result));
    session_set_timer(session, TIME_START_MS);
    return STATE_STARTING;
}

static const struct import_member probe_members[] = {
    {.name = "name"}, {.name = "ok", .kind = IMPORT_BOOLEAN}, {.name = "detail"}, {0}};
static const struct import_member hello_members[] = {
    {.name = "protocol", .kind = IMPORT_INTEGER},
    {.name = "sbcl"},
    {.name = "core_built"},
    {.name = "heap_bytes", .kind = IMPORT_INTEGER},
    {.name = "probes", .kind = IMPORT_OBJECTS, .max = 64, .items = probe_members},
    {0}};

enum session_state starting_on_message(struct session *session, const struct session_event *event)
{
    enum { PROTOCOL_VERSION = 1 };
    value hello;
    if (event->message->type != CHANNEL_HELLO)
        return STATE_STARTING;
    if (!session_read_scratch(session, event->message, &hello) ||
        map_get_integer(hello, "protocol", 0) != PROTOCOL_VERSION) {
        session_break_protocol(session, session->head);
        return STATE_STARTING;
    }
    region_clear(session->agent.hello_region);
    session->agent.hello = import_object(session->agent.hello_region, hello, hello_members);
    session_keep_state(session, hello);
    session->start.tries = 0;
    session->lineage.current = 0;
    return snapshotting_begin(session, 0, NULL);
}

enum session_state starting_on_head_exit(struct session *session, const struct session_event *event)
{
    if (session->start.building) {
        session->start.building = false;
        bool made = event->exit->known && !event->exit->signaled && event->exit->code == 0;
        return made ? starting_begin(session)
                    : fail_start(session, "core-missing", CORE_MISSING_TEXT);
    }
    if (++session->start.tries < SESSION_START_TRIES)
        return starting_begin(session);
    CLEANUP_BUFFER struct buffer last;
    buffer_init(&last, BUFFER_DEFAULT_LIMIT);
    capture_last(&session->errors, &last);
    CLEANUP_FREE char *message =
        memory_format("The Lisp process did not start: %s", buffer_text(&last));
    session->start.tries = 0;
    return fail_start(session, "start-failed", message);
}

enum session_state starting_on_timer(struct session *session, const struct session_event *event)
{
    (void)event;
    log_warning("session %s: the worker did not start in time", session->name);
    for (struct worker *worker = session->workers; worker; worker = worker->next) {
        if (worker->role == ROLE_HEAD || worker->role == ROLE_BUILDER)
            process_signal(&worker->process, SIGKILL);
    }
    session_kill_leftovers(session);  // what a builder has started
    session_set_timer(session, TIME_START_MS);
    return STATE_STARTING;
}
