#include "session/workspace/home.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/descriptor.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/private.h"
#include "session/session.h"
#include "value/text/json.h"

char *workspace_label(const char *workspace)
{
    const char *name = strrchr(workspace, '/') + 1;
    uint64_t hash = hash_bytes(workspace, strlen(workspace), 0);
    return memory_format("%.40s-%08" PRIx32, *name ? name : "root", (uint32_t)hash);
}

char *workspace_home_path(const char *workspace)
{
    CLEANUP_FREE char *label = workspace_label(workspace);
    CLEANUP_FREE char *name = memory_format("workspaces/%s", label);
    return path_in_state(name);
}

// The files of version 0.1, which knew no workspaces. Others may look at the same moment: the one
// that finds them moves them.
static void move_old_files(const char *home)
{
    static const char *const names[][2] = {{"context.db-wal", "context.db-wal"},
                                           {"context.db-shm", "context.db-shm"},
                                           {"context.db", "context.db"},
                                           {"programs", "memories"}};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        CLEANUP_FREE char *from = path_in_state(names[i][0]);
        CLEANUP_FREE char *to = memory_format("%s/%s", home, names[i][1]);
        if (!from || access(from, F_OK) < 0 || access(to, F_OK) == 0)
            continue;
        if (rename(from, to) == 0)
            log_progress("%s is now %s", from, to);
        else if (errno != ENOENT)
            log_warning("%s cannot be moved to %s: %s", from, to, strerror(errno));
    }
}

static bool write_description(const char *home, const char *workspace, struct error *error)
{
    CLEANUP_FREE char *path = memory_format("%s/workspace.json", home);
    if (access(path, F_OK) == 0)
        return true;
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, BUFFER_DEFAULT_LIMIT);
    buffer_append_text(&text, "{\"path\":");
    json_write_string(&text, span_from(workspace));
    buffer_append_text(&text, "}\n");
    struct private_file file;
    bool made;
    if (!private_create(path, &file, error))
        return false;
    if (descriptor_write(file.descriptor, text.data, text.length))
        return private_create_commit(&file, false, &made, error);
    private_create_abandon(&file);
    return error_set(error, ERROR_SYSTEM, "cannot write %s: %s", path, strerror(errno));
}

bool workspace_home_open(const char *workspace, char **ret_home, struct error *error)
{
    char *home = workspace_home_path(workspace);
    if (!home)
        return error_set(error, ERROR_SYSTEM,
                         "no directory for the state of a workspace: set HOME or XDG_STATE_HOME");
    if (!private_make_directory(home, error) || !write_description(home, workspace, error)) {
        memory_free(home);
        return false;
    }
    move_old_files(home);
    *ret_home = home;
    return true;
}

void workspace_home_each(void (*fn)(void *data, const char *home), void *data)
{
    CLEANUP_FREE char *root = path_in_state("workspaces");
    DIR *entries = root ? opendir(root) : NULL;
    struct dirent *entry;
    while (entries && (entry = readdir(entries))) {
        CLEANUP_FREE char *home = memory_format("%s/%s", root, entry->d_name);
        if (entry->d_name[0] != '.')
            fn(data, home);
    }
    if (entries)
        closedir(entries);
}

void workspace_home_each_session(const char *home,
                                 void (*fn)(void *data, const char *place, const char *name),
                                 void *data)
{
    CLEANUP_FREE char *store = memory_format("%s/sessions", home);
    DIR *entries = opendir(store);
    struct dirent *entry;
    while (entries && (entry = readdir(entries))) {
        CLEANUP_FREE char *place = memory_format("%s/%s", store, entry->d_name);
        if (session_name_valid(span_from(entry->d_name)))
            fn(data, place, entry->d_name);
    }
    if (entries)
        closedir(entries);
}

char *workspace_home_owner(const char *home)
{
    enum { DESCRIPTION_MAX = 1 << 20 };
    CLEANUP_FREE char *path = memory_format("%s/workspace.json", home);
    CLEANUP_BUFFER struct buffer text;
    struct error error;
    value map;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
        return NULL;
    buffer_init(&text, DESCRIPTION_MAX);
    int failed = buffer_append_descriptor(&text, descriptor);
    close(descriptor);
    struct region *region = region_new(SIZE_MAX);
    bool ok = failed == 0 && json_read(region, buffer_span(&text), NULL, &map, &error);
    struct span owner =
        ok && value_is_map(map) ? map_get_string(map, "path") : (struct span){"", 0};
    char *copy = owner.length > 0 ? memory_copy_text(owner.data, owner.length) : NULL;
    region_free(region);
    return copy;
}
