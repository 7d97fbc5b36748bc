// A project core is made: one build at a time, in a hidden session for each layer. It loads the layer,
// with what that looks at recorded, and its head then saves itself into memory; a worker compares what
// was recorded with the disk and puts the core in its place. Nobody waits for it.
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "session/project/project.h"
#include "session/project/project_core.h"
#include "session/session_internal.h"
#include "session/spawn.h"
#include "value/text/json.h"

enum { STEP_MS = 1, SAVE_WAIT_MS = 20, SAVE_MS = 120000, COMMIT_MS = 300000 };

enum step {
    BUILD_LOAD_DEPENDENCIES,
    BUILD_LOAD_INIT,
    BUILD_LOAD_SYSTEMS,
    BUILD_SAVE,    // the head is to save itself
    BUILD_COMMIT,  // it has
    BUILD_NEXT,    // the layer is done
    BUILD_FAILED,
};

struct project_build {
    struct session_manager *manager;
    struct event *timer;
    struct region *region;
    value systems;  // vector
    value init;     // text or nil
    char *directory;
    char *base;    // core of Cadre
    char *core;    // that the hidden session starts from
    char *origin;  // name of the session that it is for
    enum project_layer layer;
    enum step step;
    char name[SESSION_NAME_MAX + 1];  // of the hidden session; "": none
    uint64_t id;                      // of it
    uint64_t ticket;
    value inputs;     // vector of all that was recorded
    value unsavable;  // text or nil
    bool is_saving;   // its head was asked to
    struct worker *packer;
    int core_fd;
    char *core_name;  // of the core that is put in its place
    bool is_saved;    // the layer was
};

static void on_step(evutil_socket_t fd, short what, void *data);

static struct session *session_of(const struct project_build *build)
{
    return build->name[0] ? manager_find(build->manager, build->name) : NULL;
}

static const char *layer_name(const struct project_build *build)
{
    return build->layer == PROJECT_ALL ? "project" : "dependencies";
}

static void go_on(struct project_build *build, enum step step, int64_t wait_ms)
{
    struct timeval time = timeval_from_ms(wait_ms);
    build->step = step;
    evtimer_add(build->timer, &time);
}

const char *project_build_core(const struct session *session)
{
    const struct project_build *build = session->manager->project.build;
    return build && build->id == session->id ? build->core : NULL;
}

// --- life ----------------------------------------------------------------------------------------

static void free_build(struct project_build *build)
{
    build->manager->project.build = NULL;
    if (build->core_fd >= 0)
        close(build->core_fd);
    event_free(build->timer);
    region_free(build->region);
    memory_free(build->directory);
    memory_free(build->base);
    memory_free(build->core);
    memory_free(build->core_name);
    memory_free(build->origin);
    memory_free(build);
}

static void fail(struct project_build *build, struct span why)
{
    struct session_manager *manager = build->manager;
    log_info("the project is not saved as a core: %.*s", (int)why.length, why.data);
    memory_free(manager->project.failure);
    manager->project.failure = memory_copy_text(why.data, why.length);
    go_on(build, BUILD_FAILED, 0);
}

void project_build_release(struct session_manager *manager)
{
    memory_free(manager->project.failure);
    manager->project.failure = NULL;
    if (manager->project.build)
        free_build(manager->project.build);
}

static void close_hidden(struct project_build *build)
{
    struct session *session = session_of(build);
    build->name[0] = '\0';
    build->id = 0;
    build->packer = NULL;
    if (build->core_fd >= 0)
        close(build->core_fd);
    build->core_fd = -1;
    if (session)
        session_close(build->manager, session->name);
}

// --- loading -------------------------------------------------------------------------------------

static void on_loaded(void *data, const struct session_reply *reply)
{
    struct project_build *build = data;
    build->ticket = 0;
    if (!reply->ok) {
        fail(build, map_get_string(reply->error, "message"));
        return;
    }
    value inputs = map_get(reply->result, "inputs");
    for (size_t i = 0; value_is_vector(inputs) && i < vector_count(inputs); i++)
        build->inputs = vector_push(build->region, build->inputs,
                                    value_copy(build->region, vector_at(inputs, i)));
    if (value_is_string(map_get(reply->result, "unsavable")))
        build->unsavable = value_copy(build->region, map_get(reply->result, "unsavable"));
    bool is_empty = build->step == BUILD_LOAD_DEPENDENCIES &&
                    map_get_count(reply->result, "systems_loaded") == 0;
    bool is_last = build->step != BUILD_LOAD_INIT || vector_count(build->systems) == 0;
    go_on(build, is_empty ? BUILD_NEXT : !is_last ? BUILD_LOAD_SYSTEMS : BUILD_SAVE, STEP_MS);
}

static value load_params(const struct project_build *build)
{
    struct region *region = build->region;
    value params = map_put_text(region, map_new(region), "record", value_boolean(true));
    if (build->step == BUILD_LOAD_INIT)
        return map_put_text(region, params, "init", value_retain(build->init));
    if (build->step == BUILD_LOAD_DEPENDENCIES)
        params = map_put_text(region, params, "dependencies", value_boolean(true));
    return map_put_text(region, params, "systems", value_retain(build->systems));
}

static void load(struct project_build *build)
{
    struct session_request request = {
        .session = build->name,
        .kind = SESSION_EVALUATE,
        .op = "load-project",
        .params = load_params(build),
        .timeout = build->step == BUILD_LOAD_INIT ? -1 : PROJECT_SYSTEMS_S,
        .reply = on_loaded,
        .data = build,
    };
    build->ticket = session_submit(build->manager, &request);
}

static void begin_layer(struct project_build *build, enum project_layer layer)
{
    struct session_manager *manager = build->manager;
    struct session *origin = manager_find(manager, build->origin);
    snprintf(build->name, sizeof(build->name), "#%" PRIu64, manager->last_session + 1);
    struct session *session = manager_add(manager, build->name);
    session->is_hidden = true;
    keeping_close(session);
    if (origin)
        session_take_environment(session, origin->environment);
    build->layer = layer;
    build->id = session->id;
    build->is_saving = false;
    build->inputs = vector_new(build->region, 0);
    build->unsavable = value_nil();
    build->is_saved = false;
    build->step = layer == PROJECT_DEPENDENCIES  ? BUILD_LOAD_DEPENDENCIES
                  : value_is_string(build->init) ? BUILD_LOAD_INIT
                                                 : BUILD_LOAD_SYSTEMS;
    load(build);
}

void project_build_begin(struct session *session, const char *base)
{
    struct session_manager *manager = session->manager;
    const struct project *project = &session->project;
    if (manager->project.build || !base)
        return;
    struct project_build *build = memory_alloc_zero(sizeof(*build));
    build->manager = manager;
    build->timer = evtimer_new(manager->base, on_step, build);
    build->region = region_new(SIZE_MAX);
    build->core_fd = -1;
    build->systems = value_copy(build->region, map_get(project->plan, "systems"));
    build->init = value_copy(build->region, map_get(project->plan, "init"));
    build->directory = memory_copy_string(project->directory);
    build->base = memory_copy_string(base);
    build->origin = memory_copy_string(session->name);
    manager->project.build = build;
    memory_free(manager->project.failure);
    manager->project.failure = NULL;
    bool has_layer = project->layer == PROJECT_DEPENDENCIES;
    build->core = memory_copy_string(has_layer ? project->core : base);
    build->layer =
        has_layer || vector_count(build->systems) == 0 ? PROJECT_DEPENDENCIES : PROJECT_NONE;
    go_on(build, BUILD_NEXT, STEP_MS);
}

// --- saving --------------------------------------------------------------------------------------

static void save(struct project_build *build)
{
    struct session *session = session_of(build);
    if (value_is_string(build->unsavable)) {
        build->core_fd = memfd_create("cadre-project", MFD_CLOEXEC);
        go_on(build, BUILD_COMMIT, 0);
        return;
    }
    if (!session || !session->head || session->state == STATE_DOWN) {
        fail(build, SPAN("its process ended"));
        return;
    }
    if (session->state != STATE_IDLE) {
        go_on(build, BUILD_SAVE, SAVE_WAIT_MS);
        return;
    }
    build->core_fd = memfd_create("cadre-project", MFD_CLOEXEC);
    if (build->core_fd < 0 || channel_send_descriptors(&session->head->link->channel, CHANNEL_SAVE,
                                                       1, SPAN("{}"), &build->core_fd, 1) < 0) {
        fail(build, SPAN("its process cannot save itself"));
        return;
    }
    build->is_saving = true;
    go_on(build, BUILD_FAILED, SAVE_MS);  // unless it ends before
}

static bool append_description(const struct project_build *build)
{
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, SESSION_MESSAGE_MAX);
    struct region *region = build->region;
    value map = map_put_text(region, map_new(region), "systems", value_retain(build->systems));
    map = map_put_text(region, map, "inputs", value_retain(build->inputs));
    if (build->layer == PROJECT_ALL && value_is_string(build->init))
        map = map_put_text(region, map, "init", value_retain(build->init));
    if (value_is_string(build->unsavable))
        map = map_put_text(region, map, "unsavable", value_retain(build->unsavable));
    json_write(&text, map, 0, NULL);
    uint64_t length = text.length;
    return !text.failed && lseek(build->core_fd, 0, SEEK_END) >= 0 &&
           write(build->core_fd, text.data, text.length) == (ssize_t)text.length &&
           write(build->core_fd, &length, sizeof(length)) == (ssize_t)sizeof(length);
}

// "project-ID.core"
static char *new_core_name(const struct project_build *build)
{
    uint64_t id = 0;
    if (getrandom(&id, sizeof(id), 0) != sizeof(id))
        log_warning("no random number for a core");
    return memory_format("%s-%016" PRIx64 ".core", layer_name(build), id);
}

static void commit(struct project_build *build)
{
    struct session *session = session_of(build);
    memory_free(build->core_name);
    build->core_name = new_core_name(build);
    const char *const argv[] = {
        "/proc/self/exe",  "project-worker", "commit",         build->directory,
        layer_name(build), build->base,      build->core_name, NULL};
    pid_t pid = 0;
    struct link *link = session && append_description(build) ? link_new(session, true) : NULL;
    int result =
        link ? spawn_image_worker(argv, build->core_fd, link->errors.worker_fd, &pid) : -EIO;
    if (result < 0)
        link_free(link);
    else
        build->packer = worker_add_started(session, pid, ROLE_PACKER, link);
    if (!build->packer) {
        fail(build, SPAN("no process for it"));
        return;
    }
    setpriority(PRIO_PROCESS, (id_t)pid, 19);
    go_on(build, BUILD_FAILED, COMMIT_MS);  // unless it ends before
}

// With what the worker said.
static void fail_with_output(struct project_build *build, struct session *session)
{
    CLEANUP_BUFFER struct buffer last;
    buffer_init(&last, BUFFER_DEFAULT_LIMIT);
    session_drain_output(session);
    capture_last(&session->errors, &last);
    while (last.length > 0 && buffer_text(&last)[last.length - 1] == '\n')
        buffer_truncate(&last, last.length - 1);
    fail(build, last.length > 0 ? buffer_span(&last) : SPAN("it could not be written"));
}

void project_build_on_exit(struct session *session, const struct worker *worker,
                           const struct process_exit *exit)
{
    struct project_build *build = session->manager->project.build;
    if (!build || build->id != session->id)
        return;
    bool ok = exit->known && !exit->signaled && exit->code == 0;
    if (worker == build->packer) {
        build->packer = NULL;
        build->is_saved = ok && !value_is_string(build->unsavable);
        if (ok && value_is_string(build->unsavable))
            fail(build, value_text(build->unsavable));
        else if (ok)
            go_on(build, BUILD_NEXT, 0);
        else
            fail_with_output(build, session);
    } else if (worker == session->head && build->is_saving) {
        build->is_saving = false;
        if (ok)
            go_on(build, BUILD_COMMIT, 0);
        else
            fail(build, SPAN("its process could not save itself"));
    }
}

// --- one after the other -------------------------------------------------------------------------

static void build_on_dependencies(struct project_build *build)
{
    memory_free(build->core);
    build->core = memory_format("%s/%s", build->directory, build->core_name);
}

static void next(struct project_build *build)
{
    close_hidden(build);
    if (build->layer == PROJECT_NONE) {
        begin_layer(build, PROJECT_DEPENDENCIES);
    } else if (build->layer == PROJECT_DEPENDENCIES) {
        if (build->is_saved)
            build_on_dependencies(build);
        begin_layer(build, PROJECT_ALL);
    } else {
        free_build(build);
    }
}

static void on_step(evutil_socket_t fd, short what, void *data)
{
    (void)fd;
    (void)what;
    struct project_build *build = data;
    switch (build->step) {
    case BUILD_LOAD_DEPENDENCIES:
    case BUILD_LOAD_INIT:
    case BUILD_LOAD_SYSTEMS: load(build); break;
    case BUILD_SAVE: save(build); break;
    case BUILD_COMMIT: commit(build); break;
    case BUILD_NEXT: next(build); break;
    case BUILD_FAILED:
        close_hidden(build);
        free_build(build);
        break;
    }
}
