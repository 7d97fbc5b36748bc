#include "process/proc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"

enum { DESCENDANTS_MAX = 4096, CHILDREN_TEXT_MAX = 64 * 1024, ENVIRONMENT_MAX = 1 << 20 };

// Reads a whole small file into `text` and ends it with NUL; returns its length or negative errno.
static ssize_t read_text(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    size_t length = 0;
    ssize_t result = 0;
    while (length + 1 < size) {
        result = read(fd, text + length, size - 1 - length);
        if (result < 0 && errno == EINTR)
            continue;
        if (result <= 0)
            break;
        length += (size_t)result;
    }
    int error = errno;
    close(fd);
    text[length] = 0;
    return result < 0 ? -error : (ssize_t)length;
}

static ssize_t read_file_of(pid_t pid, const char *name, char *text, size_t size)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
    return read_text(path, text, size);
}

int proc_status_read(pid_t pid, struct proc_status *ret_status)
{
    char text[1024];
    ssize_t length = read_file_of(pid, "stat", text, sizeof(text));
    if (length < 0)
        return (int)length;
    // The command name is in parentheses and may hold anything; the numbers follow the last one.
    char *end = strrchr(text, ')');
    if (!end || end[1] != ' ')
        return -EPROTO;
    char state;
    int parent, session;
    unsigned long long start;
    int fields = sscanf(
        end + 2, "%c %d %*d %d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
        &state, &parent, &session, &start);
    if (fields != 4)
        return -EPROTO;
    *ret_status = (struct proc_status){state, parent, session, start};
    return 0;
}

int proc_memory_read(pid_t pid, struct proc_memory *ret_memory)
{
    char text[2048];
    ssize_t length = read_file_of(pid, "smaps_rollup", text, sizeof(text));
    if (length < 0)
        return (int)length;
    struct proc_memory memory = {0};
    for (char *line = text; line; line = strchr(line, '\n')) {
        if (*line == '\n')
            line++;
        unsigned long long kb;
        if (sscanf(line, "Rss: %llu", &kb) == 1)
            memory.resident_kb = kb;
        else if (sscanf(line, "Pss: %llu", &kb) == 1)
            memory.pss_kb = kb;
        else if (sscanf(line, "Private_Clean: %llu", &kb) == 1 ||
                 sscanf(line, "Private_Dirty: %llu", &kb) == 1)
            memory.private_kb += kb;
    }
    *ret_memory = memory;
    return 0;
}

bool proc_environment_has(pid_t pid, const char *entry, bool prefix)
{
    CLEANUP_FREE char *text = memory_alloc(ENVIRONMENT_MAX);
    ssize_t length = read_file_of(pid, "environ", text, ENVIRONMENT_MAX);
    size_t entry_length = strlen(entry);
    for (const char *at = text; length > 0 && at < text + length; at += strlen(at) + 1) {
        if (prefix ? strncmp(at, entry, entry_length) == 0 : strcmp(at, entry) == 0)
            return true;
    }
    return false;
}

int proc_children(pid_t pid, proc_visit_fn *visit, void *data)
{
    char path[96];
    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    DIR *tasks = opendir(path);
    if (!tasks)
        return -errno;
    CLEANUP_FREE char *text = memory_alloc(CHILDREN_TEXT_MAX);
    enum proc_visit next = PROC_VISIT_CONTINUE;
    for (struct dirent *task; next == PROC_VISIT_CONTINUE && (task = readdir(tasks));) {
        if (task->d_name[0] == '.')
            continue;
        snprintf(path, sizeof(path), "/proc/%d/task/%.20s/children", (int)pid, task->d_name);
        if (read_text(path, text, CHILDREN_TEXT_MAX) <= 0)
            continue;
        for (char *at = text, *end; next == PROC_VISIT_CONTINUE; at = end) {
            long child = strtol(at, &end, 10);
            if (end == at)
                break;
            next = visit(data, (pid_t)child);
        }
    }
    closedir(tasks);
    return 0;
}

struct pid_list {
    pid_t *pids;
    size_t count;
};

static enum proc_visit pid_list_add(void *data, pid_t pid)
{
    struct pid_list *list = data;
    if (list->count == DESCENDANTS_MAX)
        return PROC_VISIT_STOP;
    list->pids[list->count++] = pid;
    return PROC_VISIT_CONTINUE;
}

int proc_descendants(pid_t pid, proc_visit_fn *visit, void *data)
{
    CLEANUP_FREE pid_t *pids = memory_alloc(DESCENDANTS_MAX * sizeof(*pids));
    struct pid_list list = {pids, 0};
    int result = proc_children(pid, pid_list_add, &list);
    for (size_t i = 0; i < list.count; i++) {
        proc_children(list.pids[i], pid_list_add, &list);
        if (visit(data, list.pids[i]) == PROC_VISIT_STOP)
            break;
    }
    return result;
}

uint64_t proc_tick_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    uint64_t per_second = (uint64_t)sysconf(_SC_CLK_TCK);
    return (uint64_t)now.tv_sec * per_second + (uint64_t)now.tv_nsec * per_second / 1000000000u;
}
