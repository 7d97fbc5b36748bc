#include "cli/kept/prune.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/path.h"
#include "session/image/image_file.h"
#include "session/session.h"
#include "session/workspace/home.h"

// What was written so lately may be of a save or a restore that is under way.
enum { FILES_MAX = 16384, RECENT_S = 600 };

// In the order in which they go, the oldest of a kind first.
enum kind {
    KIND_CORE,      // unpacked, and made again when it is needed; or left by a save that was killed
    KIND_GONE,      // of a workspace whose directory is gone
    KIND_PREVIOUS,  // the image before
    KIND_ROTATED,   // the older part of a journal
    KIND_IMAGE,
    KIND_OTHER,  // counts and stays: a session may be writing it, or nobody else knows it
};

struct kept_file {
    char *path;
    int64_t bytes;
    int64_t time;  // when it was written
    enum kind kind;
};

struct pruning {
    struct kept_file files[FILES_MAX];
    size_t count;
    int64_t total;
    int64_t now;
    struct region *region;
    value needed;  // hashes, as keys
    bool keeps_gone;
    bool is_gone;  // the workspace that is looked at
};

// --- what is there -------------------------------------------------------------------------------

typedef void entry_fn(struct pruning *pruning, const char *path, const char *name);

static void visit(struct pruning *pruning, const char *directory, entry_fn *visit_one)
{
    DIR *entries = opendir(directory);
    struct dirent *entry;
    while (entries && (entry = readdir(entries))) {
        CLEANUP_FREE char *path = memory_format("%s/%s", directory, entry->d_name);
        if (entry->d_name[0] != '.')
            visit_one(pruning, path, entry->d_name);
    }
    if (entries)
        closedir(entries);
}

static void remove_file(struct pruning *pruning, const char *path, const char *name)
{
    (void)pruning;
    (void)name;
    unlink(path);
}

static void remove_session(struct pruning *pruning, const char *path, const char *name)
{
    (void)name;
    visit(pruning, path, remove_file);
    rmdir(path);
}

static void add_file(struct pruning *pruning, const char *path, enum kind kind)
{
    struct stat status;
    if (pruning->count == FILES_MAX || stat(path, &status) < 0 || !S_ISREG(status.st_mode))
        return;
    pruning->files[pruning->count++] = (struct kept_file){.path = memory_copy_string(path),
                                                          .bytes = status.st_size,
                                                          .time = status.st_mtime,
                                                          .kind = kind};
    pruning->total += status.st_size;
}

static void add_core(struct pruning *pruning, const char *path, const char *name)
{
    (void)name;
    add_file(pruning, path, KIND_CORE);
}

// Of a workspace: a directory for each way to start its sessions.
static void add_project_cores(struct pruning *pruning, const char *path, const char *name)
{
    size_t length = strlen(name);
    if (length > 5 && strcmp(name + length - 5, ".core") == 0)
        add_file(pruning, path, KIND_CORE);
    else if (length < 5 || strcmp(name + length - 5, ".json") != 0)
        visit(pruning, path, add_project_cores);
}

static void add_session(struct pruning *pruning, const char *path, const char *name)
{
    if (!session_name_valid(span_from(name)))
        return;
    static const struct {
        const char *name;
        enum kind kind;
    } files[] = {{IMAGE_FILE, KIND_IMAGE},          {IMAGE_PREVIOUS, KIND_PREVIOUS},
                 {"journal.1.jsonl", KIND_ROTATED}, {"image.new", KIND_CORE},
                 {"image.json", KIND_OTHER},        {"journal.jsonl", KIND_OTHER}};
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        CLEANUP_FREE char *file = memory_format("%s/%s", path, files[i].name);
        add_file(pruning, file, pruning->is_gone ? KIND_GONE : files[i].kind);
    }
}

// True when the workspace of this home is known and its directory is gone; it may be on a disk that is
// not mounted now.
static bool is_gone(const char *home)
{
    CLEANUP_FREE char *workspace = workspace_home_owner(home);
    return workspace && access(workspace, F_OK) < 0 && (errno == ENOENT || errno == ENOTDIR);
}

static void add_other(struct pruning *pruning, const char *path, const char *name)
{
    (void)name;
    add_file(pruning, path, KIND_OTHER);
}

static void visit_home(struct pruning *pruning, const char *path, const char *name)
{
    CLEANUP_FREE char *store = memory_format("%s/sessions", path);
    CLEANUP_FREE char *memories = memory_format("%s/memories", path);
    visit(pruning, path, add_other);
    visit(pruning, memories, add_other);
    pruning->is_gone = is_gone(path);
    if (!pruning->is_gone || pruning->keeps_gone) {
        visit(pruning, store, add_session);
        return;
    }
    printf("removed: the sessions of %s, whose directory is gone\n", name);
    visit(pruning, store, remove_session);
    rmdir(store);
}

// --- the quota -----------------------------------------------------------------------------------

static int compare_files(const void *a, const void *b)
{
    const struct kept_file *first = a, *second = b;
    if (first->kind != second->kind)
        return first->kind < second->kind ? -1 : 1;
    return first->time < second->time ? -1 : first->time > second->time;
}

static bool is_recent(const struct pruning *pruning, int64_t time)
{
    return time > pruning->now - RECENT_S;
}

// What an image that stays needs to be unpacked and started.
static void need_origin_of(struct pruning *pruning, const char *image)
{
    static const char *const members[] = {"base", "runtime"};
    value description;
    if (!image_describe(pruning->region, image, &description))
        return;
    for (size_t i = 0; i < COUNT_OF(members); i++)
        pruning->needed =
            map_put(pruning->region, pruning->needed,
                    value_retain(map_get(description, members[i])), value_boolean(true));
}

static void need_all_origins(struct pruning *pruning)
{
    pruning->needed = map_new(pruning->region);
    for (size_t i = 0; i < pruning->count; i++)
        if (pruning->files[i].kind == KIND_IMAGE || pruning->files[i].kind == KIND_PREVIOUS)
            need_origin_of(pruning, pruning->files[i].path);
}

static void keep_within(struct pruning *pruning, int64_t quota_bytes)
{
    qsort(pruning->files, pruning->count, sizeof(pruning->files[0]), compare_files);
    for (size_t i = 0; i < pruning->count && pruning->total > quota_bytes; i++) {
        const struct kept_file *file = &pruning->files[i];
        bool may_go = file->kind != KIND_OTHER &&
                      (file->kind != KIND_CORE || !is_recent(pruning, file->time));
        if (may_go && unlink(file->path) == 0) {
            printf("removed: %s\n", file->path);
            pruning->total -= file->bytes;
        }
    }
    need_all_origins(pruning);  // those of the images that stay
}

static bool is_needed(struct pruning *pruning, const char *name)
{
    struct span hash = {name, strcspn(name, ".")};
    value found;
    return map_find(pruning->needed, value_string(pruning->region, hash), &found);
}

// A base or a runtime.
static void visit_origin(struct pruning *pruning, const char *path, const char *name)
{
    struct stat status;
    if (stat(path, &status) < 0)
        return;
    if (is_needed(pruning, name) || is_recent(pruning, status.st_ctime))
        pruning->total += status.st_size;
    else if (unlink(path) == 0)
        printf("removed: %s\n", path);
}

static void visit_origins(struct pruning *pruning)
{
    static const char *const names[] = {"bases", "runtimes"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        CLEANUP_FREE char *directory = path_in_state(names[i]);
        if (directory)
            visit(pruning, directory, visit_origin);
    }
}

int sessions_prune(int64_t quota_mb, bool keeps_gone)
{
    CLEANUP_FREE char *homes = path_in_state("workspaces");
    CLEANUP_FREE char *cores = path_in_cache("images");
    CLEANUP_FREE char *projects = path_in_cache("projects");
    if (!homes || !cores || !projects) {
        fputs("cadre sessions: no state directory: set HOME or XDG_STATE_HOME\n", stderr);
        return EXIT_FAILURE;
    }
    struct pruning *pruning = memory_alloc_zero(sizeof(*pruning));
    pruning->region = region_new(SIZE_MAX);
    pruning->now = clock_unix_seconds();
    pruning->keeps_gone = keeps_gone;
    visit(pruning, cores, add_core);
    visit(pruning, projects, add_project_cores);
    visit(pruning, homes, visit_home);
    need_all_origins(pruning);
    visit_origins(pruning);
    keep_within(pruning, quota_mb * 1000000);
    visit_origins(pruning);
    for (size_t i = 0; i < pruning->count; i++)
        memory_free(pruning->files[i].path);
    region_free(pruning->region);
    memory_free(pruning);
    return EXIT_SUCCESS;
}
