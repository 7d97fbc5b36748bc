#include "process/proc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"

enum {
    DESCENDANTS_MAX = 1 << 20,
    CHILDREN_TEXT = 4096,
    CHILDREN_TEXT_MAX = 32 << 20,  // as many pids as the kernel has
    ENVIRONMENT_MAX = 1 << 20,
    MEMINFO_MAX = 8192,
};

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

bool proc_waits_in_recvmsg(pid_t pid, int fd)
{
    char text[256];
    long number;
    unsigned long first;  // argument
    return read_file_of(pid, "syscall", text, sizeof(text)) > 0 &&
           sscanf(text, "%ld 0x%lx", &number, &first) == 2 && number == SYS_recvmsg &&
           first == (unsigned long)fd;
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

// A whole file of any size, ended with NUL; NULL when there is none or nothing is in it.
static char *read_whole(const char *path)
{
    for (size_t size = CHILDREN_TEXT; size <= CHILDREN_TEXT_MAX; size *= 4) {
        char *text = memory_alloc(size);
        ssize_t length = read_text(path, text, size);
        if (length > 0 && (size_t)length + 1 < size)
            return text;
        memory_free(text);
        if (length <= 0)
            return NULL;
    }
    return NULL;
}

static enum proc_visit visit_listed(const char *text, proc_visit_fn *visit, void *data)
{
    char *end;
    for (const char *at = text;; at = end) {
        long pid = strtol(at, &end, 10);
        if (end == at)
            return PROC_VISIT_CONTINUE;
        if (visit(data, (pid_t)pid) == PROC_VISIT_STOP)
            return PROC_VISIT_STOP;
    }
}

int proc_children(pid_t pid, proc_visit_fn *visit, void *data)
{
    char path[96];
    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    DIR *tasks = opendir(path);
    if (!tasks)
        return -errno;
    enum proc_visit next = PROC_VISIT_CONTINUE;
    for (struct dirent *task; next == PROC_VISIT_CONTINUE && (task = readdir(tasks));) {
        if (task->d_name[0] == '.')
            continue;
        snprintf(path, sizeof(path), "/proc/%d/task/%.20s/children", (int)pid, task->d_name);
        CLEANUP_FREE char *text = read_whole(path);
        if (text)
            next = visit_listed(text, visit, data);
    }
    closedir(tasks);
    return 0;
}

struct pid_list {
    pid_t *pids;
    size_t count;
    size_t capacity;
};

static enum proc_visit pid_list_add(void *data, pid_t pid)
{
    struct pid_list *list = data;
    if (list->count == DESCENDANTS_MAX)
        return PROC_VISIT_STOP;
    if (list->count == list->capacity) {
        list->capacity = list->capacity ? 2 * list->capacity : 64;
        list->pids = memory_resize(list->pids, list->capacity * sizeof(*list->pids));
    }
    list->pids[list->count++] = pid;
    return PROC_VISIT_CONTINUE;
}

int proc_descendants(pid_t pid, proc_visit_fn *visit, void *data)
{
    struct pid_list list = {0};
    int result = proc_children(pid, pid_list_add, &list);
    for (size_t i = 0; i < list.count; i++) {
        proc_children(list.pids[i], pid_list_add, &list);
        if (visit(data, list.pids[i]) == PROC_VISIT_STOP)
            break;
    }
    memory_free(list.pids);
    return result;
}

int proc_all(proc_visit_fn *visit, void *data)
{
    DIR *processes = opendir("/proc");
    if (!processes)
        return -errno;
    for (struct dirent *process; (process = readdir(processes));) {
        long pid = strtol(process->d_name, NULL, 10);
        if (pid > 0 && visit(data, (pid_t)pid) == PROC_VISIT_STOP)
            break;
    }
    closedir(processes);
    return 0;
}

// Where the kernel finds the command line: fields 48 and 49 of stat.
static bool find_arguments(char **ret_start, char **ret_end)
{
    char text[1024];
    if (read_text("/proc/self/stat", text, sizeof(text)) < 0)
        return false;
    char *at = strrchr(text, ')');
    enum { NAME_FIELD = 2, ARGUMENTS_FIELD = 48 };
    for (int field = NAME_FIELD; at && field < ARGUMENTS_FIELD; field++)
        at = strchr(at + 1, ' ');
    unsigned long long start, end;
    if (!at || sscanf(at, " %llu %llu", &start, &end) != 2 || start == 0 || end <= start)
        return false;
    *ret_start = (char *)(uintptr_t)start;
    *ret_end = (char *)(uintptr_t)end;
    return true;
}

void proc_rename_self(const char *name)
{
    prctl(PR_SET_NAME, name);
    char *start, *end;
    if (!find_arguments(&start, &end))
        return;
    memset(start, 0, (size_t)(end - start));
    snprintf(start, (size_t)(end - start), "%s", name);
}

int proc_available_kb(uint64_t *ret_kb)
{
    char text[MEMINFO_MAX];
    ssize_t length = read_text("/proc/meminfo", text, sizeof(text));
    if (length < 0)
        return (int)length;
    const char *line = strstr(text, "MemAvailable:");
    if (!line)
        return -ENOENT;
    *ret_kb = strtoull(line + strlen("MemAvailable:"), NULL, 10);
    return 0;
}

uint64_t proc_tick_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    uint64_t per_second = (uint64_t)sysconf(_SC_CLK_TCK);
    return (uint64_t)now.tv_sec * per_second + (uint64_t)now.tv_nsec * per_second / 1000000000u;
}
