#include "session/project/project.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/path.h"
#include "session/project/project_core.h"
#include "session/session_internal.h"
#include "session/spawn.h"
#include "session/state/actions.h"
#include "session/workspace/home.h"
#include "value/text/json.h"

static void forget_plan(struct project *project)
{
    if (project->region)
        region_clear(project->region);
    project->plan = value_nil();
    memory_free(project->core);
    project->core = NULL;
    project->layer = PROJECT_NONE;
    project->jobs_left = 0;
    project->has_failed = false;
}

void project_release(struct session *session)
{
    struct project *project = &session->project;
    forget_plan(project);
    if (project->is_checking)
        close(project->answer_fd);
    memory_free(project->directory);
    if (project->region)
        region_free(project->region);
    *project = (struct project){0};
}

// --- asking --------------------------------------------------------------------------------------

static const char *variable(const struct session *session, const char *name)
{
    size_t length = strlen(name);
    if (!session->environment)
        return getenv(name);
    for (char **each = session->environment; *each; each++)
        if (strncmp(*each, name, length) == 0 && (*each)[length] == '=')
            return *each + length + 1;
    return NULL;
}

// Sessions that would find other systems, or may read other files, do not share cores.
static char *core_directory(const struct session *session)
{
    static const char *const variables[] = {
        "HOME",           "CL_SOURCE_REGISTRY", "ASDF_OUTPUT_TRANSLATIONS",
        "QUICKLISP_HOME", "XDG_CONFIG_HOME",    "XDG_DATA_HOME"};
    const struct session_manager *manager = session->manager;
    CLEANUP_BUFFER struct buffer key;
    buffer_init(&key, 1 << 16);
    buffer_append_format(&key, "%u %d %d %s", manager->config.heap_mb,
                         (int)manager->config.sandbox.mode, manager->config.sandbox.no_network,
                         manager->reach.directory);
    for (size_t i = 0; i < COUNT_OF(variables); i++) {
        const char *text = variable(session, variables[i]);
        buffer_append_format(&key, "\n%s", text ? text : "");
    }
    CLEANUP_FREE char *label = workspace_label(manager->reach.workspace.path);
    CLEANUP_FREE char *name = memory_format(
        "projects/%s/%016llx", label, (unsigned long long)hash_bytes(key.data, key.length, 1));
    return path_in_cache(name);
}

static bool has_project(const struct session *session)
{
    static const char *const files[] = {"config.json", "init.lisp"};
    const struct workspace *workspace = &session->manager->reach.workspace;
    for (size_t i = 0; workspace->origin != WORKSPACE_SCRATCH && i < COUNT_OF(files); i++) {
        CLEANUP_FREE char *path = memory_format("%s/.cadre/%s", workspace->path, files[i]);
        if (access(path, F_OK) == 0)
            return true;
    }
    return false;
}

static int start_worker(struct session *session, const char *base)
{
    struct project *project = &session->project;
    const char *const argv[] = {"/proc/self/exe",
                                "project-worker",
                                "check",
                                session->manager->reach.workspace.path,
                                project->directory,
                                base,
                                NULL};
    pid_t pid = 0;
    project->answer_fd = memfd_create("cadre-project", MFD_CLOEXEC);
    struct link *link = project->answer_fd < 0 ? NULL : link_new(session, true);
    int result =
        link ? spawn_image_worker(argv, project->answer_fd, link->errors.worker_fd, &pid) : -errno;
    if (result == 0 && !worker_add_started(session, pid, ROLE_BUILDER, link))
        result = -ENOMEM;
    else if (result < 0)
        link_free(link);
    if (result < 0 && project->answer_fd >= 0)
        close(project->answer_fd);
    return result;
}

const char *session_workspace(struct session_manager *manager)
{
    struct error ignored;
    if (!reach_settle(manager, &ignored) || manager->reach.workspace.origin == WORKSPACE_SCRATCH)
        return NULL;
    return manager->reach.workspace.path;
}

const char *session_project_workspace(struct session_manager *manager, const char *name,
                                      bool is_reset)
{
    struct error ignored;
    struct session *session = manager_knows(manager, name) ? manager_find(manager, name) : NULL;
    bool is_fresh = !session || is_reset ||
                    (session->state == STATE_DOWN &&
                     lineage_nearest_snapshot(session, session->lineage.current) < 0 &&
                     !restoring_is_possible(session));
    if (!is_fresh || !reach_settle(manager, &ignored) ||
        manager->reach.workspace.origin == WORKSPACE_SCRATCH)
        return NULL;
    return manager->reach.workspace.path;
}

bool project_begin_check(struct session *session, const char *base)
{
    struct project *project = &session->project;
    if (project->is_checked || session->restore.active || project_build_core(session))
        return false;
    forget_plan(project);
    if (!has_project(session))
        return false;
    memory_free(project->directory);
    project->directory = core_directory(session);
    if (!project->directory)
        return false;
    int result = start_worker(session, base);
    if (result < 0)
        session_notice(session, "the project of the workspace is not loaded: %s",
                       strerror(-result));
    project->is_checking = result == 0;
    return project->is_checking;
}

static void tell_notes(struct session *session)
{
    value notes = map_get(session->project.plan, "notes");
    if (session->manager->project.is_told)
        return;
    session->manager->project.is_told = true;
    for (size_t i = 0; value_is_vector(notes) && i < vector_count(notes); i++) {
        struct span note = value_text(vector_at(notes, i));
        session_notice(session, "%.*s", (int)note.length, note.data);
    }
}

void project_end_check(struct session *session)
{
    struct project *project = &session->project;
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, PROJECT_ANSWER_MAX);
    project->is_checking = false;
    project->is_checked = true;
    if (!project->region)
        project->region = region_new((size_t)2 * PROJECT_ANSWER_MAX);
    bool is_read = lseek(project->answer_fd, 0, SEEK_SET) == 0 &&
                   buffer_append_descriptor(&text, project->answer_fd) == 0;
    close(project->answer_fd);
    if (!is_read || !session_read(session, project->region, buffer_span(&text), &project->plan)) {
        project->plan = value_nil();
        return;
    }
    struct span core = map_get_string(project->plan, "core");
    struct span layer = map_get_string(project->plan, "layer");
    project->core = core.length > 0 ? memory_copy_text(core.data, core.length) : NULL;
    project->layer = !project->core                      ? PROJECT_NONE
                     : span_equal_text(layer, "project") ? PROJECT_ALL
                                                         : PROJECT_DEPENDENCIES;
    tell_notes(session);
}

const char *project_core(const struct session *session)
{
    const char *built_on = project_build_core(session);
    return built_on ? built_on : session->project.core;
}

void project_reject_core(struct session *session)
{
    struct project *project = &session->project;
    if (!project->core)
        return;
    CLEANUP_FREE char *description =
        memory_format("%s/%s.json", project->directory,
                      project->layer == PROJECT_ALL ? "project" : "dependencies");
    log_info("session %s: no process starts from %s", session->name, project->core);
    unlink(description);
}

// --- loading what the core lacks -----------------------------------------------------------------

static size_t system_count(const struct project *project)
{
    value systems = map_get(project->plan, "systems");
    return value_is_vector(systems) ? vector_count(systems) : 0;
}

void project_on_start(struct session *session)
{
    struct project *project = &session->project;
    project->is_checked = false;
    struct span init = map_get_string(project->plan, "init");
    if (project->layer == PROJECT_ALL || project_build_core(session) ||
        (init.length == 0 && system_count(project) == 0))
        return;
    project->began_ms = clock_now_ms();
    if (system_count(project) > 0) {
        job_requeue(session, job_new_project("the systems of the project", PROJECT_SYSTEMS_S,
                                             "systems", map_get(project->plan, "systems")));
        project->jobs_left++;
    }
    if (init.length > 0) {
        job_requeue(session, job_new_project(".cadre/init.lisp", -1, "init",
                                             map_get(project->plan, "init")));
        project->jobs_left++;
    }
}

bool project_is_job(const struct job *job)
{
    return job->internal && strcmp(job->op, "load-project") == 0;
}

static void append_names(struct buffer *text, const struct project *project)
{
    value systems = map_get(project->plan, "systems");
    for (size_t i = 0; i < system_count(project); i++) {
        struct span name = value_text(vector_at(systems, i));
        buffer_append_format(text, "%s%.*s", i > 0 ? ", " : "", (int)name.length, name.data);
    }
    if (map_get_string(project->plan, "init").length > 0)
        buffer_append_format(text, "%s.cadre/init.lisp", system_count(project) > 0 ? ", " : "");
}

static void tell_loaded(struct session *session)
{
    const struct project *project = &session->project;
    struct span stale = map_get_string(project->plan, "stale");
    struct span unsavable = map_get_string(project->plan, "unsavable");
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, BUFFER_DEFAULT_LIMIT);
    buffer_append_text(&text, "the project was loaded (");
    append_names(&text, project);
    buffer_append_format(
        &text, ") in %.1f s%s", (double)(clock_now_ms() - project->began_ms) / 1000,
        project->layer == PROJECT_DEPENDENCIES ? ", its dependencies from their core" : "");
    if (stale.length > 0)
        buffer_append_format(&text, "; its core is stale: %.*s", (int)stale.length, stale.data);
    if (unsavable.length > 0)
        buffer_append_format(&text, "; it cannot be kept as a core: %.*s", (int)unsavable.length,
                             unsavable.data);
    else if (session->manager->config.is_brief)
        buffer_append_text(&text, "; cadre sessions warm keeps it as a core");
    else
        buffer_append_text(&text, "; a core of it is made in the background");
    session_notice(session, "%s", buffer_text(&text));
}

void project_on_job(struct session *session, const struct job *job, const char *message)
{
    struct project *project = &session->project;
    struct span printed = map_get_string(job->result, "printed");
    if (message) {
        project->has_failed = true;
        session_notice(session, "%s could not be loaded, and the session starts without it: %s",
                       job->label, message);
    } else if (printed.length > 0 && strcmp(job->label, ".cadre/init.lisp") == 0) {
        session_notice(session, "%s printed: %.*s", job->label, (int)printed.length, printed.data);
    }
    if (project->jobs_left == 0 || --project->jobs_left > 0 || project->has_failed)
        return;
    tell_loaded(session);
    if (map_get_string(project->plan, "unsavable").length == 0 &&
        !session->manager->config.is_brief)
        project_build_begin(session, session->base);
}

// --- telling -------------------------------------------------------------------------------------

value project_info(const struct session *session, struct region *region)
{
    static const char *const layers[] = {"none", "dependencies", "project"};
    static const char *const members[] = {"systems", "init", "stale", "unsavable"};
    const struct project *project = &session->project;
    if (!value_is_map(project->plan))
        return value_nil();
    value map = map_put_text(region, map_new(region), "core",
                             value_string_text(region, layers[project->layer]));
    for (size_t i = 0; i < COUNT_OF(members); i++) {
        value item = map_get(project->plan, members[i]);
        if (!value_is_nil(item))
            map = map_put_text(region, map, members[i], value_copy(region, item));
    }
    const char *failure = session->manager->project.failure;
    if (failure)
        map = map_put_text(region, map, "failure", value_string_format(region, "%s", failure));
    map = map_put_text(region, map, "failed", value_boolean(project->has_failed));
    return map_put_text(region, map, "saving",
                        value_boolean(session->manager->project.build != NULL));
}
