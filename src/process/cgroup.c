#include "process/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"

enum { FREEZER, COUNTER, HIERARCHIES };

static const char prefix[] = "cadre-";

struct cgroup_tree {
    char *paths[HIERARCHIES];  // of the group that holds those of the sessions; NULL: none
};

struct cgroup {
    char *paths[HIERARCHIES];
    int processes[HIERARCHIES];  // cgroup.procs, -1: none
    int freeze;                  // cgroup.freeze, -1: none
};

// --- where the groups of this process are --------------------------------------------------------

// The part of a line of /proc/self/cgroup, "NUMBER:CONTROLLERS:PATH", after the colons, where the
// controllers are those wanted: none in version 2.
static char *own_path(const char *controller)
{
    FILE *file = fopen("/proc/self/cgroup", "re");
    char line[PATH_MAX + 256];
    char *found = NULL;
    while (file && !found && fgets(line, sizeof(line), file)) {
        line[strcspn(line, "\n")] = 0;
        char *controllers = strchr(line, ':');
        char *path = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!path)
            continue;
        *path++ = 0;
        if (strcmp(controllers + 1, controller) == 0)
            found = memory_copy_string(path);
    }
    if (file)
        fclose(file);
    return found;
}

// Where the hierarchy is mounted, and which of its groups is seen there.
struct mount {
    char root[PATH_MAX];
    char point[PATH_MAX];
};

static bool find_mount(const char *type, const char *option, struct mount *ret_mount)
{
    FILE *file = fopen("/proc/self/mountinfo", "re");
    char line[3 * PATH_MAX];
    bool found = false;
    while (file && !found && fgets(line, sizeof(line), file)) {
        char *rest = strstr(line, " - ");
        char kind[32], options[PATH_MAX];
        found = rest && sscanf(rest, " - %31s %*s %4095s", kind, options) == 2 &&
                strcmp(kind, type) == 0 && (!option || strstr(options, option)) &&
                sscanf(line, "%*d %*d %*s %4095s %4095s", ret_mount->root, ret_mount->point) == 2;
    }
    if (file)
        fclose(file);
    return found;
}

// The directory of this process's own group; NULL when it is not to be seen.
static char *own_directory(const char *type, const char *controller)
{
    struct mount mount;
    CLEANUP_FREE char *path = own_path(controller ? controller : "");
    if (!path || !find_mount(type, controller, &mount))
        return NULL;
    size_t root = strcmp(mount.root, "/") == 0 ? 0 : strlen(mount.root);
    if (strncmp(path, mount.root, root) != 0 || strstr(path, "/.."))
        return NULL;
    return memory_format("%s%s", mount.point, strcmp(path + root, "/") == 0 ? "" : path + root);
}

// --- files of groups -----------------------------------------------------------------------------

static int open_file(const char *directory, const char *name, int flags)
{
    CLEANUP_FREE char *path = memory_format("%s/%s", directory, name);
    return open(path, flags | O_CLOEXEC | O_NOFOLLOW);
}

static bool write_file(const char *directory, const char *name, const char *text)
{
    int fd = open_file(directory, name, O_WRONLY);
    if (fd < 0)
        return false;
    bool ok = write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    close(fd);
    return ok;
}

static bool has_file(const char *directory, const char *name)
{
    CLEANUP_FREE char *path = memory_format("%s/%s", directory, name);
    return access(path, W_OK) == 0;
}

// A group without processes, and the groups in it; others stay.
static void remove_group(const char *path)
{
    DIR *directory = opendir(path);
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
            continue;
        CLEANUP_FREE char *inner = memory_format("%s/%s", path, entry->d_name);
        rmdir(inner);
    }
    if (directory)
        closedir(directory);
    rmdir(path);
}

static void remove_abandoned(const char *parent)
{
    DIR *directory = opendir(parent);
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        size_t length = sizeof(prefix) - 1;
        long pid = strncmp(entry->d_name, prefix, length) == 0
                       ? strtol(entry->d_name + length, NULL, 10)
                       : 0;
        if (pid <= 0 || pid > INT_MAX || (kill((pid_t)pid, 0) == 0 || errno != ESRCH))
            continue;
        CLEANUP_FREE char *path = memory_format("%s/%s", parent, entry->d_name);
        remove_group(path);
    }
    if (directory)
        closedir(directory);
}

// --- the tree ------------------------------------------------------------------------------------

static char *make_tree(const char *parent)
{
    if (!parent)
        return NULL;
    remove_abandoned(parent);
    char *path = memory_format("%s/%s%d", parent, prefix, (int)getpid());
    if (mkdir(path, 0755) == 0 || errno == EEXIST)
        return path;
    memory_free(path);
    return NULL;
}

struct cgroup_tree *cgroup_tree_new(void)
{
    CLEANUP_FREE char *unified = own_directory("cgroup2", NULL);
    struct cgroup_tree *tree = memory_alloc_zero(sizeof(*tree));
    tree->paths[FREEZER] = make_tree(unified);
    bool counted = tree->paths[FREEZER] && has_file(tree->paths[FREEZER], "pids.max") &&
                   write_file(tree->paths[FREEZER], "cgroup.subtree_control", "+pids");
    if (!counted) {
        CLEANUP_FREE char *pids = own_directory("cgroup", "pids");
        tree->paths[COUNTER] = make_tree(pids);
    }
    if (tree->paths[FREEZER] || tree->paths[COUNTER])
        return tree;
    memory_free(tree);
    return NULL;
}

void cgroup_tree_free(struct cgroup_tree *tree)
{
    if (!tree)
        return;
    for (int i = 0; i < HIERARCHIES; i++) {
        if (tree->paths[i])
            remove_group(tree->paths[i]);
        memory_free(tree->paths[i]);
    }
    memory_free(tree);
}

bool cgroup_tree_counts(const struct cgroup_tree *tree)
{
    return tree && (tree->paths[COUNTER] || has_file(tree->paths[FREEZER], "pids.max"));
}

bool cgroup_tree_freezes(const struct cgroup_tree *tree)
{
    return tree && tree->paths[FREEZER] && has_file(tree->paths[FREEZER], "cgroup.freeze");
}

// --- one group -----------------------------------------------------------------------------------

static void open_group(struct cgroup *cgroup, int hierarchy, unsigned tasks)
{
    const char *path = cgroup->paths[hierarchy];
    char text[16];
    snprintf(text, sizeof(text), "%u", tasks);
    write_file(path, "pids.max", text);
    cgroup->processes[hierarchy] = open_file(path, "cgroup.procs", O_WRONLY);
    if (hierarchy == FREEZER)
        cgroup->freeze = open_file(path, "cgroup.freeze", O_WRONLY);
}

struct cgroup *cgroup_new(const struct cgroup_tree *tree, unsigned number, unsigned tasks)
{
    if (!tree)
        return NULL;
    struct cgroup *cgroup = memory_alloc_zero(sizeof(*cgroup));
    cgroup->freeze = cgroup->processes[FREEZER] = cgroup->processes[COUNTER] = -1;
    for (int i = 0; i < HIERARCHIES; i++) {
        if (!tree->paths[i])
            continue;
        cgroup->paths[i] = memory_format("%s/%u", tree->paths[i], number);
        if (mkdir(cgroup->paths[i], 0755) == 0 || errno == EEXIST)
            open_group(cgroup, i, tasks);
    }
    if (cgroup->processes[FREEZER] >= 0 || cgroup->processes[COUNTER] >= 0)
        return cgroup;
    cgroup_free(cgroup);
    return NULL;
}

static void close_if_open(int fd)
{
    if (fd >= 0)
        close(fd);
}

void cgroup_free(struct cgroup *cgroup)
{
    if (!cgroup)
        return;
    close_if_open(cgroup->freeze);
    for (int i = 0; i < HIERARCHIES; i++) {
        close_if_open(cgroup->processes[i]);
        if (cgroup->paths[i])
            rmdir(cgroup->paths[i]);
        memory_free(cgroup->paths[i]);
    }
    memory_free(cgroup);
}

void cgroup_enter(const struct cgroup *cgroup)
{
    for (int i = 0; cgroup && i < HIERARCHIES; i++)
        if (cgroup->processes[i] >= 0)
            (void)!write(cgroup->processes[i], "0", 1);
}

void cgroup_take(const struct cgroup *cgroup, pid_t pid)
{
    char text[16];
    int length = snprintf(text, sizeof(text), "%d", (int)pid);
    for (int i = 0; cgroup && i < HIERARCHIES; i++)
        if (cgroup->processes[i] >= 0)
            (void)!write(cgroup->processes[i], text, (size_t)length);
}

bool cgroup_freeze(const struct cgroup *cgroup)
{
    return cgroup && cgroup->freeze >= 0 && pwrite(cgroup->freeze, "1", 1, 0) == 1;
}

void cgroup_thaw(const struct cgroup *cgroup)
{
    if (cgroup && cgroup->freeze >= 0)
        (void)!pwrite(cgroup->freeze, "0", 1, 0);
}
