#include "session/workspace/reach.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/private.h"
#include "process/sandbox/environment.h"
#include "process/sandbox/landlock.h"
#include "session/core.h"
#include "session/session_internal.h"
#include "session/spawn.h"
#include "session/workspace/home.h"
#include "session/workspace/protected.h"
#include "session/workspace/root_watch.h"

static const struct session_sandbox *sandbox_of(const struct session_manager *manager)
{
    return &manager->config.sandbox;
}

// --- directories ---------------------------------------------------------------------------------

static bool make_cache(struct reach *reach)
{
    CLEANUP_FREE char *label = workspace_label(reach->workspace.path);
    CLEANUP_FREE char *name = memory_format("workspaces/%s", label);
    CLEANUP_FREE char *path = path_in_cache(name);
    char real[PATH_MAX];
    struct error ignored;
    if (!path || !private_make_directory(path, &ignored) || !realpath(path, real))
        return false;
    reach->cache = memory_copy_string(real);
    return true;
}

// The working directory, if it lies in the workspace; else the workspace.
static char *start_directory(const struct session_manager *manager, const struct reach *reach)
{
    char current[PATH_MAX];
    const char *directory = sandbox_of(manager)->directory;
    bool known = realpath(directory ? directory : ".", current) != NULL;
    bool as_it_is =
        sandbox_of(manager)->mode == SANDBOX_OFF && (directory || !sandbox_of(manager)->workspace);
    if (known && (as_it_is || path_is_within(current, reach->workspace.path)))
        return memory_copy_string(current);
    return memory_copy_string(reach->workspace.path);
}

// Real from the beginning: sessions may write some of the directories on the way, and put links there.
static void add_real(struct path_list *list, const char *const *given)
{
    char real[PATH_MAX];
    for (size_t i = 0; given && given[i]; i++)
        path_list_add(list, "%s", realpath(given[i], real) ? real : given[i]);
}

static int begin_confinement(struct session_manager *manager)
{
    const struct session_sandbox *sandbox = sandbox_of(manager);
    struct confinement_rules rules = {
        .mode = sandbox->mode,
        .network = sandbox->mode == SANDBOX_OFF ||
                   (sandbox->mode != SANDBOX_STRICT && !sandbox->no_network),
        .unix_sockets = sandbox->mode == SANDBOX_OFF || sandbox->allow_unix_sockets,
        .first_channel = SPAWN_FIRST_CHANNEL,
        .last_channel = SPAWN_LAST_CHANNEL,
        .last_pipe = SPAWN_LAST_PIPE,
    };
    return confinement_init(&manager->reach.confinement, &rules);
}

// Real paths may not be real any more, where another session may write what they are in.
static bool is_real(const char *path)
{
    char real[PATH_MAX];
    return realpath(path, real) && strcmp(path, real) == 0;
}

// Another session can do this, whose workspace this one lies in.
static bool check_place(const struct reach *reach, struct error *error)
{
    const char *path = reach->workspace.path;
    return is_real(path) ||
           error_set(error, ERROR_SYSTEM,
                     "the workspace %s is gone, or a symbolic link is in its place", path);
}

bool reach_settle(struct session_manager *manager, struct error *error)
{
    struct reach *reach = &manager->reach;
    const struct session_sandbox *sandbox = sandbox_of(manager);
    if (reach->settled)
        return check_place(reach, error);
    reach_release(reach);
    if (!workspace_resolve(sandbox->workspace, NULL, &reach->workspace, error))
        return false;
    if (sandbox->refused) {
        reach->workspace.origin = WORKSPACE_SCRATCH;
        reach->workspace.refused = memory_copy_string(sandbox->refused);
    }
    int failed = begin_confinement(manager);
    if (failed < 0)
        return error_set(error, ERROR_SYSTEM, "the sandbox could not be made: %s",
                         strerror(-failed));
    if (sandbox->mode != SANDBOX_OFF && !temporary_make(&reach->temporary, error))
        return false;
    if (sandbox->mode == SANDBOX_WORKSPACE && !make_cache(reach))
        log_warning("no cache directory: what sessions compile is not kept");
    add_real(&reach->read, sandbox->allow_read);
    add_real(&reach->write, sandbox->allow_write);
    reach->directory = start_directory(manager, reach);
    reach->settled = true;
    return true;
}

void reach_release(struct reach *reach)
{
    root_watch_free(reach->watch);
    temporary_release(&reach->temporary);
    confinement_release(&reach->confinement);
    workspace_release(&reach->workspace);
    memory_free(reach->directory);
    memory_free(reach->cache);
    path_list_release(&reach->read);
    path_list_release(&reach->write);
    *reach = (struct reach){0};
}

char *reach_temporary(const struct session *session)
{
    const struct reach *reach = &session->manager->reach;
    if (!reach->temporary.path)
        return NULL;
    char *path =
        memory_format("%s/%s", reach->temporary.path, strrchr(session->environment_entry, '-') + 1);
    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        log_warning("session %s: no temporary directory: %s", session->name, strerror(errno));
    return path;
}

void reach_forget(const struct session *session)
{
    const struct reach *reach = &session->manager->reach;
    if (!reach->temporary.path || reach->ending || session->lent_temporary)
        return;
    CLEANUP_FREE char *path =
        memory_format("%s/%s", reach->temporary.path, strrchr(session->environment_entry, '-') + 1);
    if (access(path, F_OK) == 0)
        temporary_remove_tree(path);
}

void session_allow_file(struct session_manager *manager, const char *path)
{
    struct path_list *list = &manager->tool_paths;
    char directory[PATH_MAX];
    snprintf(directory, sizeof(directory), "%s", path);
    *strrchr(directory, '/') = '\0';
    char real[PATH_MAX];
    bool whole = realpath(directory, real) && !workspace_is_forbidden(real);
    const char *added = whole || realpath(path, real) ? real : path;
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->paths[i], added) == 0)
            return;
    path_list_add(list, "%s", added);
}

bool session_directory(struct session_manager *manager, char **ret_path, struct error *error)
{
    if (!reach_settle(manager, error))
        return false;
    *ret_path = memory_copy_string(manager->reach.directory);
    return true;
}

bool session_fasl_directory(struct session_manager *manager, const char *name, char **ret_path,
                            struct error *error)
{
    struct session *session = manager_find(manager, name);
    if (!reach_settle(manager, error))
        return false;
    CLEANUP_FREE char *temporary = session ? reach_temporary(session) : NULL;
    char *path = manager->reach.cache ? memory_format("%s/fasl", manager->reach.cache)
                 : temporary          ? memory_format("%s/fasl", temporary)
                                      : path_in_cache("fasl");
    bool made = path ? private_make_directory(path, error)
                     : error_set(error, ERROR_SYSTEM,
                                 "no directory for compiled files: set HOME or XDG_CACHE_HOME");
    if (!made) {
        memory_free(path);
        return false;
    }
    *ret_path = path;
    return true;
}

// --- protected names that appear -----------------------------------------------------------------

static void tell_sessions(void *data, const char *message)
{
    struct session_manager *manager = data;
    for (struct session *session = manager->sessions; session; session = session->next)
        session_notice(session, "%s.", message);
}

static void watch_root(struct session_manager *manager, const struct path_list *write)
{
    struct reach *reach = &manager->reach;
    bool writable = false;
    for (size_t i = 0; i < write->count; i++)
        writable = writable || path_is_within(reach->workspace.path, write->paths[i]);
    if (reach->watch || !writable)
        return;
    int failed =
        root_watch_new(manager->base, reach->workspace.path, tell_sessions, manager, &reach->watch);
    if (failed < 0) {
        log_warning("%s cannot be watched: %s", reach->workspace.path, strerror(-failed));
        reach->confinement.gaps |= CONFINEMENT_GAP_WATCH;
    }
}

void reach_look(struct session_manager *manager)
{
    root_watch_look(manager->reach.watch);
}

void reach_rest(struct session_manager *manager)
{
    reach_look(manager);
    root_watch_free(manager->reach.watch);
    manager->reach.watch = NULL;
}

// --- one process ---------------------------------------------------------------------------------

// A directory that the user has named, unless it has more than Lisp.
static void add_named_home(struct path_list *read, const char *variable)
{
    char real[PATH_MAX];
    const char *path = getenv(variable);
    if (path && *path == '/' && realpath(path, real) && !workspace_is_forbidden(real))
        path_list_add(read, "%s", real);
}

static void add_lisp_homes(struct path_list *read)
{
    static const char *const homes[] = {"quicklisp",
                                        "common-lisp",
                                        ".local/share/ocicl",
                                        ".local/share/common-lisp",
                                        ".cache/common-lisp",
                                        ".config/common-lisp",
                                        ".roswell"};
    const char *home = getenv("HOME"), *cache = getenv("XDG_CACHE_HOME");
    for (size_t i = 0; home && *home == '/' && i < COUNT_OF(homes); i++)
        path_list_add(read, "%s/%s", home, homes[i]);
    if (cache && *cache == '/')
        path_list_add(read, "%s/common-lisp", cache);
    add_named_home(read, "QUICKLISP_HOME");
}

// SBCL itself, wherever it is installed, with its modules; the core; the agent's sources.
static void add_lisp(struct path_list *read, const char *sbcl, const char *core)
{
    char real[PATH_MAX];
    const char *home = getenv("SBCL_HOME");
    CLEANUP_FREE char *sources = session_find_sources();
    path_list_add(read, "%s", core);
    path_list_add(read, "%s", sources);
    if (home && *home == '/')
        path_list_add(read, "%s", home);
    if (!realpath(sbcl, real))
        return;
    path_list_add(read, "%s", real);
    *strrchr(real, '/') = '\0';
    path_list_add(read, "%s/../lib/sbcl", real);
    // Where the modules lie beside the runtime, ASDF looks for their systems from that directory on.
    CLEANUP_FREE char *modules = memory_format("%s/contrib", real);
    CLEANUP_FREE char *module = memory_format("%s/asdf.fasl", modules);
    bool is_home = access(module, F_OK) == 0 && !workspace_is_forbidden(real);
    path_list_add(read, "%s", is_home ? real : modules);
}

// What a process may reach, before it is put in order.
struct reachable {
    struct path_list read;       // only the user can change where they lead to
    struct path_list read_real;  // real paths
    struct path_list write;      // the same
};

static void collect_paths(const struct session *session, const char *temporary,
                          struct reachable *reachable, struct path_list *protect)
{
    const struct reach *reach = &session->manager->reach;
    const struct session_sandbox *sandbox = sandbox_of(session->manager);
    struct path_list *read_real = &reachable->read_real, *write = &reachable->write;
    add_lisp_homes(&reachable->read);
    path_list_append(read_real, &reach->read);
    path_list_append(read_real, &session->manager->tool_paths);
    path_list_add(read_real, "%s", reach->workspace.path);
    protected_collect(reach->workspace.path, read_real, protect);
    path_list_add(write, "%s", temporary);
    path_list_append(write, &reach->write);
    if (sandbox->mode != SANDBOX_WORKSPACE)
        return;
    path_list_add(write, "%s", reach->workspace.path);
    if (reach->cache)
        path_list_add(write, "%s", reach->cache);
}

// The user's own cache, from which compiled files are taken over.
static void add_user_cache(struct path_list *variables)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (cache && *cache == '/')
        path_list_add(variables, "CADRE_USER_CACHE=%s", cache);
    else if (home && *home == '/')
        path_list_add(variables, "CADRE_USER_CACHE=%s/.cache", home);
}

static void collect_variables(const struct session *session, const char *temporary,
                              struct path_list *variables)
{
    const struct reach *reach = &session->manager->reach;
    path_list_add(variables, "%s", session->environment_entry);
    path_list_add(variables, "CADRE_SANDBOX=%s",
                  sandbox_mode_name(sandbox_of(session->manager)->mode));
    path_list_add(variables, "CADRE_WORKSPACE=%s", reach->workspace.path);
    path_list_add(variables, "PWD=%s", reach->directory);
    path_list_add(variables, "OLDPWD");
    path_list_add(variables, "CADRE_LANDLOCK_ABI");
    if (!temporary)
        return;
    path_list_add(variables, "TMPDIR=%s", temporary);
    if (reach->cache)
        path_list_add(variables, "XDG_CACHE_HOME=%s", reach->cache);
    else
        path_list_add(variables, "XDG_CACHE_HOME=%s/cache", temporary);
    add_user_cache(variables);
    // git ends when it may not read the user's settings, which may hold secrets.
    path_list_add(variables, "GIT_CONFIG_GLOBAL=/dev/null");
}

// A path below another is written as that is, and files can be moved between them.
static void keep_outermost(const struct path_list *given, struct path_list *ret_list)
{
    for (size_t i = 0; i < given->count; i++) {
        const char *path = given->paths[i];
        bool covered = !is_real(path);
        for (size_t j = 0; !covered && j < given->count; j++) {
            const char *other = given->paths[j];
            covered = i != j && is_real(other) && path_is_within(path, other) &&
                      (strcmp(path, other) != 0 || j < i);
        }
        if (!covered)
            path_list_add(ret_list, "%s", path);
    }
}

int reach_plan(struct session *session, const char *sbcl, const char *core,
               struct reach_plan *ret_plan)
{
    struct session_manager *manager = session->manager;
    struct reachable reachable = {0};
    CLEANUP_FREE char *temporary = reach_temporary(session);
    *ret_plan = (struct reach_plan){0};
    if (temporary) {
        add_lisp(&reachable.read, sbcl, core);
        collect_paths(session, temporary, &reachable, &ret_plan->protect);
        keep_outermost(&reachable.write, &ret_plan->write);
        watch_root(manager, &ret_plan->write);
    }
    collect_variables(session, temporary, &ret_plan->variables);
    ret_plan->environment = environment_new_from(
        session->environment, sandbox_of(manager)->pass_environment, ret_plan->variables.paths);
    ret_plan->ruleset =
        confinement_open(&manager->reach.confinement,
                         &(struct confinement_paths){.read = reachable.read.paths,
                                                     .read_real = reachable.read_real.paths,
                                                     .write = reachable.write.paths});
    path_list_release(&reachable.read);
    path_list_release(&reachable.read_real);
    path_list_release(&reachable.write);
    if (ret_plan->ruleset >= 0 || ret_plan->ruleset == -EOPNOTSUPP)
        return 0;
    int failed = ret_plan->ruleset;
    reach_plan_release(ret_plan);
    return failed;
}

void reach_plan_release(struct reach_plan *plan)
{
    if (plan->ruleset >= 0)
        close(plan->ruleset);
    memory_free(plan->environment);
    path_list_release(&plan->write);
    path_list_release(&plan->protect);
    path_list_release(&plan->variables);
    *plan = (struct reach_plan){.ruleset = -1};
}

// --- telling -------------------------------------------------------------------------------------

static value text(struct region *region, const char *string)
{
    return value_string_format(region, "%s", string);
}

value reach_info(struct session_manager *manager, struct region *region)
{
    const struct reach *reach = &manager->reach;
    value map = map_put_text(region, map_new(region), "mode",
                             text(region, sandbox_mode_name(sandbox_of(manager)->mode)));
    const char *path = reach->settled ? reach->workspace.path : sandbox_of(manager)->workspace;
    if (path)
        map = map_put_text(region, map, "workspace", text(region, path));
    if (!reach->settled)
        return map;
    const struct confinement_rules *rules = &reach->confinement.rules;
    map = map_put_text(region, map, "scratch",
                       value_boolean(reach->workspace.origin == WORKSPACE_SCRATCH));
    map = map_put_text(region, map, "network", value_boolean(rules->network));
    map = map_put_text(region, map, "unix_sockets", value_boolean(rules->unix_sockets));
    map = map_put_text(region, map, "landlock", value_integer(landlock_abi()));
    value missing = vector_new(region, 0);
    unsigned gaps = confinement_gaps(&reach->confinement);
    for (unsigned gap = 1; gap <= CONFINEMENT_GAP_LAST; gap <<= 1)
        if (gaps & gap)
            missing = vector_push(region, missing,
                                  text(region, confinement_gap_text((enum confinement_gap)gap)));
    return map_put_text(region, map, "missing", missing);
}

void reach_announce(struct session *session)
{
    struct reach *reach = &session->manager->reach;
    if (reach->announced)
        return;
    reach->announced = true;
    if (reach->workspace.origin == WORKSPACE_SCRATCH)
        session_notice(session,
                       "%s is never a workspace; a scratch workspace is used: %s. The option "
                       "--workspace DIR names another.",
                       reach->workspace.refused, reach->workspace.path);
    // What the kernel cannot give is no news of this session: doctor and session-info have it.
    unsigned gaps = confinement_gaps(&reach->confinement);
    for (unsigned gap = 1; gap <= CONFINEMENT_GAP_LAST; gap <<= 1)
        if (gaps & gap)
            log_info("the sandbox is not complete: %s",
                     confinement_gap_text((enum confinement_gap)gap));
}
