#include "cli/kept/prune.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "base/path.h"
#include "session/image/image_file.h"
#include "session/session.h"
#include "value/text/json.h"

enum { IMAGES_MAX = 4096 };

struct image {
    char *path;
    int64_t bytes;
    int64_t time;      // when it was saved
    bool is_previous;  // goes first
};

struct pruning {
    struct image images[IMAGES_MAX];
    size_t count;
    int64_t total;
    struct region *region;
    value needed;  // hashes, as keys
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

static void add_image(struct pruning *pruning, const char *place, const char *name,
                      bool is_previous)
{
    CLEANUP_FREE char *path = memory_format("%s/%s", place, name);
    struct stat status;
    if (pruning->count == IMAGES_MAX || stat(path, &status) < 0)
        return;
    pruning->images[pruning->count++] = (struct image){.path = memory_copy_string(path),
                                                       .bytes = status.st_size,
                                                       .time = status.st_mtime,
                                                       .is_previous = is_previous};
    pruning->total += status.st_size;
}

static void add_session(struct pruning *pruning, const char *path, const char *name)
{
    if (!session_name_valid(span_from(name)))
        return;
    add_image(pruning, path, IMAGE_FILE, false);
    add_image(pruning, path, IMAGE_PREVIOUS, true);
}

// True when the workspace of this home is known and its directory is gone.
static bool is_dead(struct pruning *pruning, const char *home)
{
    CLEANUP_FREE char *path = memory_format("%s/workspace.json", home);
    CLEANUP_BUFFER struct buffer text;
    struct error error;
    value map;
    buffer_init(&text, 1 << 20);
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    int failed = buffer_append_descriptor(&text, fileno(file));
    fclose(file);
    if (failed || !json_read(pruning->region, buffer_span(&text), NULL, &map, &error) ||
        !value_is_map(map))
        return false;
    struct span workspace = map_get_string(map, "path");
    CLEANUP_FREE char *directory = memory_copy_text(workspace.data, workspace.length);
    return workspace.length > 0 && access(directory, F_OK) < 0;
}

static void visit_home(struct pruning *pruning, const char *path, const char *name)
{
    CLEANUP_FREE char *store = memory_format("%s/sessions", path);
    if (!is_dead(pruning, path)) {
        visit(pruning, store, add_session);
        return;
    }
    printf("removed: the sessions of %s, whose directory is gone\n", name);
    visit(pruning, store, remove_session);
    rmdir(store);
}

// --- the quota -----------------------------------------------------------------------------------

static int compare_images(const void *a, const void *b)
{
    const struct image *first = a, *second = b;
    if (first->is_previous != second->is_previous)
        return first->is_previous ? -1 : 1;
    return first->time < second->time ? -1 : first->time > second->time;
}

static void keep_within(struct pruning *pruning, int64_t quota_bytes)
{
    qsort(pruning->images, pruning->count, sizeof(pruning->images[0]), compare_images);
    for (size_t i = 0; i < pruning->count; i++) {
        struct image *image = &pruning->images[i];
        value description;
        if (pruning->total > quota_bytes && unlink(image->path) == 0) {
            printf("removed: %s\n", image->path);
            pruning->total -= image->bytes;
        } else if (image_describe(pruning->region, image->path, &description)) {
            static const char *const members[] = {"base", "runtime"};
            for (size_t k = 0; k < 2; k++)
                pruning->needed =
                    map_put(pruning->region, pruning->needed,
                            value_retain(map_get(description, members[k])), value_boolean(true));
        }
        memory_free(image->path);
    }
}

static void remove_unneeded(struct pruning *pruning, const char *path, const char *name)
{
    struct span hash = {name, strcspn(name, ".")};
    value found;
    if (map_find(pruning->needed, value_string(pruning->region, hash), &found))
        return;
    if (unlink(path) == 0)
        printf("removed: %s\n", path);
}

int sessions_prune(int64_t quota_mb)
{
    CLEANUP_FREE char *homes = path_in_state("workspaces");
    CLEANUP_FREE char *bases = path_in_state("bases");
    CLEANUP_FREE char *runtimes = path_in_state("runtimes");
    if (!homes || !bases || !runtimes) {
        fputs("cadre sessions: no state directory: set HOME or XDG_STATE_HOME\n", stderr);
        return EXIT_FAILURE;
    }
    struct pruning *pruning = memory_alloc_zero(sizeof(*pruning));
    pruning->region = region_new(SIZE_MAX);
    pruning->needed = map_new(pruning->region);
    visit(pruning, homes, visit_home);
    keep_within(pruning, quota_mb * 1000000);
    visit(pruning, bases, remove_unneeded);
    visit(pruning, runtimes, remove_unneeded);
    region_free(pruning->region);
    memory_free(pruning);
    return EXIT_SUCCESS;
}
