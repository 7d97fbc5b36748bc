// STARTING: a fresh worker, and before it the core when there is none of this heap size yet.
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/memory.h"
#include "process/cgroup.h"
#include "process/proc.h"
#include "process/sandbox/signal_guard.h"
#include "session/core.h"
#include "session/image/image_file.h"
#include "session/session_internal.h"
#include "session/spawn.h"
#include "session/state/actions.h"
#include "session/worker_data.h"

#define CORE_MISSING_TEXT                                                             \
    "The Lisp core is missing and could not be built; it goes to $XDG_CACHE_HOME or " \
    "$HOME/.cache. cadre doctor says more."
#define SBCL_MISSING_TEXT                                                                        \
    "This Cadre was built without SBCL, and none is in PATH. Install the package sbcl (Debian: " \
    "apt-get install sbcl) or name one with --sbcl, then try again."

static enum session_state fail_start(struct session *session, const char *code, const char *message)
{
    session_set_timer(session, -1);
    job_refuse_queued(session, code, message);
    session->restore.exhausted = false;  // what failed may have been the machine, not the images
    return STATE_DOWN;
}

// Refuses with what the process has written last; `beginning` says what did not work.
static enum session_state fail_with_output(struct session *session, const char *code,
                                           const char *beginning)
{
    CLEANUP_BUFFER struct buffer last;
    CLEANUP_FREE char *sbcl = NULL, *core = NULL;
    buffer_init(&last, BUFFER_DEFAULT_LIMIT);
    capture_last(&session->errors, &last);
    while (last.length > 0 && buffer_text(&last)[last.length - 1] == '\n')
        buffer_truncate(&last, last.length - 1);
    session_find_sbcl(&session->manager->config, &sbcl);
    session_find_core(&session->manager->config, &core);
    CLEANUP_FREE char *message = memory_format("%s: %s\nSBCL: %s%s%s. cadre doctor says more.",
                                               beginning, buffer_text(&last), sbcl ? sbcl : "none",
                                               core ? "; core: " : "", core ? core : "");
    return fail_start(session, code, message);
}

// A descriptor, or -1 where signals need no guard. False with errno.
static bool guard_signals(struct session *session, int *ret_fd)
{
    struct session_manager *manager = session->manager;
    *ret_fd = -1;
    if (!confinement_guards(&manager->reach.confinement))
        return true;
    int fd = signal_guard_add(&manager->signal_guards, manager->base, session_mark(session));
    *ret_fd = fd;
    errno = fd < 0 ? -fd : 0;
    return fd >= 0;
}

// What the kernel lets a session have: its children, and its threads and parked processes.
static unsigned session_tasks(const struct session *session)
{
    enum { THREADS = 1024 };
    return session->manager->config.max_processes + THREADS;
}

void session_make_cgroup(struct session *session)
{
    struct session_manager *manager = session->manager;
    if (session->cgroup)
        return;
    if (manager->last_cgroup++ == 0)
        manager->cgroups = cgroup_tree_new();
    session->cgroup = cgroup_new(manager->cgroups, manager->last_cgroup, session_tasks(session));
}

static int start_worker(struct session *session, const char *sbcl, const char *core)
{
    struct reach_plan plan;
    int result = reach_plan(session, sbcl, core, &plan);
    if (result < 0)
        return result;
    session_make_cgroup(session);
    int guard_fd;
    struct link *link = link_new(session, true);
    if (!link || !guard_signals(session, &guard_fd)) {
        result = -errno;
        if (link)
            link_free(link);
        reach_plan_release(&plan);
        return result;
    }
    struct spawn_worker worker = {
        .sbcl = sbcl,
        .core = core,
        .heap_mb = session->manager->config.heap_mb,
        .reach = &session->manager->reach,
        .plan = &plan,
        .mark = session_mark(session),
        .cgroup = session->cgroup,
        .tasks = session_tasks(session),
        .guard_fd = guard_fd,
        .channel_fd = link->channel.worker_fd,
        .output_fd = link->output.worker_fd,
        .error_fd = link->errors.worker_fd,
    };
    pid_t pid;
    result = spawn_worker(&worker, &pid);
    reach_plan_release(&plan);
    if (guard_fd >= 0)
        close(guard_fd);
    if (result == 0) {
        session_remember_kernel_session(session, pid);
        session->head = worker_add_started(session, pid, ROLE_HEAD, link);
        result = session->head ? 0 : -ENOMEM;
    } else {
        link_free(link);
    }
    if (result < 0)
        return result;
    session->unit_tick = proc_tick_now();
    return 0;
}

static void remember_origin(struct session *session, const char *sbcl, const char *base)
{
    memory_free(session->runtime);
    memory_free(session->base);
    session->runtime = memory_copy_string(sbcl);
    session->base = memory_copy_string(base);
}

// From the core, or from the image that has been unpacked, whose base is kept with it.
// Images of a session that began with a project core have the core of Cadre as their base, which
// does not change with each edit of the project.
static int start_from(struct session *session, const char *sbcl, const char *core)
{
    if (!session->restore.active) {
        const char *project = project_core(session);
        remember_origin(session, sbcl, core);
        return start_worker(session, sbcl, project ? project : core);
    }
    value description = session->restore.description;
    CLEANUP_FREE char *base = image_base_path(map_get_string(description, "base"));
    const char *runtime = session->restore.runtime ? session->restore.runtime : sbcl;
    remember_origin(session, runtime, base);
    return start_worker(session, runtime, session->restore.core);
}

static int start_builder(struct session *session)
{
    struct core_build build;
    pid_t pid = 0;
    int result = core_build_plan(&session->manager->config, &build);
    struct link *link = result == 0 ? link_new(session, true) : NULL;
    if (result == 0 && !link)
        result = -errno;
    if (link) {
        log_progress("building the Lisp core for %s with a heap of %s MB; this is done once",
                     build.sbcl, build.heap);
        result = spawn_program(build.argv, session->environment_entry, session_mark(session),
                               link->errors.worker_fd, &pid);
    }
    core_build_release(&build);
    if (result < 0) {
        link_free(link);
        return result;
    }
    session_remember_kernel_session(session, pid);
    if (!worker_add_started(session, pid, ROLE_BUILDER, link))
        return -ENOMEM;
    session->unit_tick = proc_tick_now();
    return 0;
}

static enum session_state fail_without_sbcl(struct session *session)
{
    const char *wanted = session->manager->config.sbcl;
    if (!wanted)
        return fail_start(session, "sbcl-missing", SBCL_MISSING_TEXT);
    CLEANUP_FREE char *message =
        memory_format("There is no program %s (--sbcl). Without this option Cadre uses the SBCL it "
                      "brings.",
                      wanted);
    return fail_start(session, "sbcl-missing", message);
}

static enum session_state refuse_core(struct session *session)
{
    struct error error;
    core_explain_refusal(&session->manager->config, &error);
    return fail_start(session, "core-unsafe", error.message);
}

enum session_state starting_begin(struct session *session)
{
    struct session_manager *manager = session->manager;
    CLEANUP_FREE char *sbcl = NULL;
    CLEANUP_FREE char *core = NULL;
    if (session_find_sbcl(&manager->config, &sbcl) < 0)
        return fail_without_sbcl(session);
    struct error error;
    if (!reach_settle(manager, &error))
        return fail_start(session, "start-failed", error.message);
    manager_start_guardian(manager);
    int found = session_find_core(&manager->config, &core);
    if (found == -EPERM)
        return refuse_core(session);
    if (found < 0) {
        found = start_builder(session);
        if (found == -EPERM)
            return refuse_core(session);
        if (found < 0)
            return fail_start(session, "core-missing", CORE_MISSING_TEXT);
        session->start.building = true;
        session_set_timer(session, TIME_BUILD_MS);
        return STATE_STARTING;
    }
    if (project_begin_check(session, core)) {
        session_set_timer(session, PROJECT_CHECK_MS);
        return STATE_STARTING;
    }
    int result = start_from(session, sbcl, core);
    if (result < 0)
        return fail_start(session, "start-failed", strerror(-result));
    session_set_timer(session,
                      session->restore.active ? restoring_start_ms(session) : TIME_START_MS);
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

static void begin_afresh(struct session *session)
{
    session->lineage.current = 0;
    project_on_start(session);
}

enum session_state starting_on_message(struct session *session, const struct session_event *event)
{
    enum { PROTOCOL_VERSION = 2 };
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
    reach_announce(session);
    if (session->restore.active)
        restoring_done(session);
    else
        begin_afresh(session);
    return snapshotting_begin(session, session->lineage.current, NULL);
}

// It ended before Lisp did anything, and the next one may start.
static bool starts_again(const struct process_exit *exit)
{
    return exit->known && !exit->signaled && exit->code == SPAWN_EXIT_AGAIN;
}

enum session_state starting_on_head_exit(struct session *session, const struct session_event *event)
{
    if (session->project.is_checking) {
        project_end_check(session);
        return starting_begin(session);
    }
    if (session->start.building) {
        session->start.building = false;
        bool made = event->exit->known && !event->exit->signaled && event->exit->code == 0;
        return made ? starting_begin(session)
                    : fail_with_output(session, "core-missing", "The Lisp core was not built");
    }
    session->project.is_checked = false;
    if (!starts_again(event->exit))
        project_reject_core(session);
    if (++session->start.tries < SESSION_START_TRIES)
        return starting_begin(session);
    session->start.tries = 0;
    if (session->restore.active)
        return restoring_next(session);
    return fail_with_output(session, "start-failed", "The Lisp process did not start");
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
