#include "session/workspace/root_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/path.h"
#include "session/workspace/protected.h"

enum entry_kind { ENTRY_ABSENT, ENTRY_LINK, ENTRY_OTHER };

struct entry {
    enum entry_kind kind;
    char *target;  // LINK
};

struct root_watch {
    int directory;
    int inotify;  // -1: there is none, and the directory is looked at now and then
    struct event *event;
    struct entry entries[ROOT_WATCH_NAMES];  // as protected_names
    root_watch_fn *told;
    void *data;
};

// --- entries -------------------------------------------------------------------------------------

static struct entry read_entry(int directory, const char *name)
{
    struct stat status;
    char target[PATH_MAX];
    if (fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
        return (struct entry){.kind = ENTRY_ABSENT};
    if (!S_ISLNK(status.st_mode))
        return (struct entry){.kind = ENTRY_OTHER};
    ssize_t length = readlinkat(directory, name, target, sizeof(target) - 1);
    if (length < 0)
        return (struct entry){.kind = ENTRY_ABSENT};
    return (struct entry){.kind = ENTRY_LINK, .target = memory_copy_text(target, (size_t)length)};
}

static bool is_same(const struct entry *a, const struct entry *b)
{
    return a->kind == b->kind && (a->kind != ENTRY_LINK || strcmp(a->target, b->target) == 0);
}

// --- what is done --------------------------------------------------------------------------------

__attribute__((format(printf, 2, 3))) static void tell(struct root_watch *watch, const char *format,
                                                       ...)
{
    va_list arguments;
    va_start(arguments, format);
    CLEANUP_FREE char *message = memory_format_list(SIZE_MAX, format, arguments);
    va_end(arguments);
    log_info("%s", message);
    watch->told(watch->data, message);
}

// A session can take away the right to write its workspace.
static bool rename_entry(struct root_watch *watch, const char *from, const char *to)
{
    struct stat status;
    if (renameat2(watch->directory, from, watch->directory, to, RENAME_NOREPLACE) == 0)
        return true;
    if (errno != EACCES || fstat(watch->directory, &status) < 0 ||
        fchmod(watch->directory, (status.st_mode | S_IRWXU) & ALLPERMS) < 0)
        return false;
    return renameat2(watch->directory, from, watch->directory, to, RENAME_NOREPLACE) == 0;
}

// The new name, or NULL: it is gone, or could not be moved, which is told.
static char *move_aside(struct root_watch *watch, const char *name)
{
    char *aside = memory_format("%s.moved-aside", name);
    bool moved = rename_entry(watch, name, aside);
    if (!moved && errno == EEXIST) {
        memory_free(aside);
        aside = memory_format("%s.moved-aside-%" PRIx64, name, clock_now_ns());
        moved = rename_entry(watch, name, aside);
    }
    if (moved)
        return aside;
    if (errno != ENOENT)
        tell(watch, "%s appeared in the workspace and could not be moved aside: %s", name,
             strerror(errno));
    memory_free(aside);
    return NULL;
}

static void put_link_back(struct root_watch *watch, const char *name, const char *target)
{
    if (symlinkat(target, watch->directory, name) == 0)
        tell(watch, "the symbolic link %s of the workspace was changed and has been put back",
             name);
    else if (errno != EEXIST)
        tell(watch, "the symbolic link %s of the workspace is gone: %s", name, strerror(errno));
}

static void look_at(struct root_watch *watch, const char *name, const struct entry *before)
{
    struct entry now = read_entry(watch->directory, name);
    bool changed = before->kind != ENTRY_OTHER && !is_same(&now, before);
    memory_free(now.target);
    if (!changed)
        return;
    CLEANUP_FREE char *aside = now.kind == ENTRY_ABSENT ? NULL : move_aside(watch, name);
    if (aside)
        tell(watch,
             "%s appeared in the workspace while sessions run and was moved to %s: such files "
             "decide what other programs do there. If it is yours, move it back when no session "
             "runs",
             name, aside);
    if (before->kind == ENTRY_LINK)
        put_link_back(watch, name, before->target);
}

static void look_at_all(struct root_watch *watch)
{
    for (size_t i = 0; i < protected_name_count; i++)
        look_at(watch, protected_names[i], &watch->entries[i]);
}

// --- events --------------------------------------------------------------------------------------

// Whether one of them may be about a protected name. A session can make any number of others.
static bool concerns_protected(const char *events, size_t length)
{
    for (size_t at = 0; at + sizeof(struct inotify_event) <= length;) {
        struct inotify_event event;
        memcpy(&event, events + at, sizeof(event));
        const char *name = events + at + sizeof(event);
        if ((event.mask & IN_Q_OVERFLOW) || (event.len > 0 && protected_is_name(name)))
            return true;
        at += sizeof(event) + event.len;
    }
    return false;
}

void root_watch_look(struct root_watch *watch)
{
    enum { READS_MAX = 64 };
    char events[16 << 10];
    bool concerned = watch && watch->inotify < 0;
    for (int i = 0; watch && watch->inotify >= 0 && i < READS_MAX; i++) {
        ssize_t length = read(watch->inotify, events, sizeof(events));
        if (length <= 0)
            break;
        concerned = concerned || concerns_protected(events, (size_t)length);
    }
    if (concerned)
        look_at_all(watch);
}

static void on_events(evutil_socket_t fd, short what, void *data)
{
    (void)fd;
    (void)what;
    root_watch_look(data);
}

// --- life ----------------------------------------------------------------------------------------

static void open_inotify(struct root_watch *watch)
{
    const uint32_t mask = IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_ONLYDIR;
    CLEANUP_FREE char *same = memory_format("/proc/self/fd/%d", watch->directory);
    watch->inotify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (watch->inotify < 0 || inotify_add_watch(watch->inotify, same, mask) >= 0)
        return;
    close(watch->inotify);
    watch->inotify = -1;
}

// A user has few inotify instances, and any session can use them up: what is protected must not depend
// on them.
static int open_watch(struct root_watch *watch, struct event_base *base, const char *workspace)
{
    enum { EVERY_MS = 250 };
    watch->directory = path_open_real(workspace, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (watch->directory < 0)
        return -errno;
    open_inotify(watch);
    bool polls = watch->inotify < 0;
    struct timeval every = timeval_from_ms(EVERY_MS);
    watch->event =
        event_new(base, watch->inotify, (polls ? 0 : EV_READ) | EV_PERSIST, on_events, watch);
    return watch->event && event_add(watch->event, polls ? &every : NULL) == 0 ? 0 : -ENOMEM;
}

int root_watch_new(struct event_base *base, const char *workspace, root_watch_fn *told, void *data,
                   struct root_watch **ret_watch)
{
    CHECK(protected_name_count <= ROOT_WATCH_NAMES);
    struct root_watch *watch = memory_alloc_zero(sizeof(*watch));
    watch->directory = watch->inotify = -1;
    watch->told = told;
    watch->data = data;
    int failed = open_watch(watch, base, workspace);
    if (failed < 0) {
        root_watch_free(watch);
        return failed;
    }
    for (size_t i = 0; i < protected_name_count; i++)
        watch->entries[i] = read_entry(watch->directory, protected_names[i]);
    *ret_watch = watch;
    return 0;
}

void root_watch_free(struct root_watch *watch)
{
    if (!watch)
        return;
    if (watch->event)
        event_free(watch->event);
    if (watch->inotify >= 0)
        close(watch->inotify);
    if (watch->directory >= 0)
        close(watch->directory);
    for (size_t i = 0; i < ROOT_WATCH_NAMES; i++)
        memory_free(watch->entries[i].target);
    memory_free(watch);
}
