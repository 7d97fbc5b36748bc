#include "process/sandbox/signal_guard.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/memory.h"
#include "process/mark.h"
#include "process/proc.h"

struct signal_guard {
    struct signal_guard *next;
    struct event_base *base;
    uint64_t *marks;  // of the processes with the filter
    size_t mark_count;
    int fd;  // the socket the listener comes by, then the listener
    struct event *event;
};

bool signal_guard_available(void)
{
    const uint32_t action = SECCOMP_RET_USER_NOTIF;
    struct seccomp_notif_sizes sizes;
    return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0 &&
           syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes) == 0 &&
           sizes.seccomp_notif <= 4096 && sizes.seccomp_notif_resp <= 4096;
}

// --- may it --------------------------------------------------------------------------------------

static bool has_mark(const struct signal_guard *guard, uint64_t mark)
{
    for (size_t i = 0; i < guard->mark_count; i++)
        if (guard->marks[i] == mark)
            return true;
    return false;
}

struct group {
    pid_t id;
    const struct signal_guard *guard;
    bool has_others;
};

static enum proc_visit visit_member(void *data, pid_t pid)
{
    struct group *group = data;
    if (getpgid(pid) != group->id || has_mark(group->guard, mark_read(pid)))
        return PROC_VISIT_CONTINUE;
    group->has_others = true;
    return PROC_VISIT_STOP;
}

static bool is_own_group(pid_t id, const struct signal_guard *guard)
{
    struct group group = {.id = id, .guard = guard};
    return proc_all(visit_member, &group) == 0 && !group.has_others;
}

// A group is of one kernel session, and that of the session's processes begins with them: its own
// group, 0, is safe. -1 is everything of the user.
static bool may_signal(const struct signal_guard *guard, const struct seccomp_data *data)
{
    pid_t target = (pid_t)data->args[0];
    bool groups = data->nr == SYS_kill;
    if (target > 0)
        return has_mark(guard, mark_read(target));
    if (!groups)
        return true;  // the kernel refuses it
    return target == 0 || (target != -1 && target != INT32_MIN && is_own_group(-target, guard));
}

// --- notifications -------------------------------------------------------------------------------

static void stop_listening(struct signal_guard *guard)
{
    if (guard->event)
        event_free(guard->event);
    guard->event = NULL;
    if (guard->fd >= 0)
        close(guard->fd);
    guard->fd = -1;
}

// Receiving would wait where there is nothing: also when all processes with the filter are gone.
static bool has_notification(struct signal_guard *guard)
{
    struct pollfd one = {.fd = guard->fd, .events = POLLIN};
    if (poll(&one, 1, 0) < 0)
        return false;
    if (!(one.revents & POLLIN) && (one.revents & (POLLHUP | POLLERR)))
        stop_listening(guard);
    return one.revents & POLLIN;
}

// The kernel's structures may be larger than those of the headers.
static void on_notification(evutil_socket_t fd, short what, void *data)
{
    (void)what;
    struct signal_guard *guard = data;
    _Alignas(struct seccomp_notif) char room[4096] = {0};
    _Alignas(struct seccomp_notif_resp) char response_room[4096] = {0};
    struct seccomp_notif *notification = (void *)room;
    struct seccomp_notif_resp *response = (void *)response_room;
    if (!has_notification(guard) || ioctl(fd, SECCOMP_IOCTL_NOTIF_RECV, notification) < 0)
        return;  // its caller is gone
    response->id = notification->id;
    if (may_signal(guard, &notification->data))
        response->flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    else
        response->error = -EPERM;
    ioctl(fd, SECCOMP_IOCTL_NOTIF_SEND, response);  // fails when the caller is gone
}

// --- the listener --------------------------------------------------------------------------------

union control {
    struct cmsghdr header;
    char room[CMSG_SPACE(sizeof(int))];
};

static int receive_listener(int socket)
{
    char byte;
    union control control;
    struct iovec part = {&byte, 1};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof(control)};
    ssize_t length = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    struct cmsghdr *header = length > 0 ? CMSG_FIRSTHDR(&message) : NULL;
    int listener = -1;
    if (header && header->cmsg_type == SCM_RIGHTS && header->cmsg_len == CMSG_LEN(sizeof(int)))
        memcpy(&listener, CMSG_DATA(header), sizeof(listener));
    return listener;
}

static void listen_with(struct signal_guard *guard, int fd, short what, event_callback_fn on_event)
{
    guard->fd = fd;
    guard->event = event_new(guard->base, fd, (short)(what | EV_PERSIST), on_event, guard);
    if (!guard->event || event_add(guard->event, NULL) < 0)
        stop_listening(guard);
}

static void on_listener(evutil_socket_t fd, short what, void *data)
{
    (void)what;
    struct signal_guard *guard = data;
    int listener = receive_listener(fd);
    stop_listening(guard);
    if (listener >= 0)
        listen_with(guard, listener, EV_READ, on_notification);
}

int signal_guard_send(int sender, int listener)
{
    char byte = 0;
    union control control = {0};
    struct iovec part = {&byte, 1};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof(control)};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    *header = (struct cmsghdr){
        .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof(int))};
    memcpy(CMSG_DATA(header), &listener, sizeof(listener));
    return sendmsg(sender, &message, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

// --- life ----------------------------------------------------------------------------------------

static void free_one(struct signal_guard *guard)
{
    memory_free(guard->marks);
    memory_free(guard);
}

static void remove_ended(struct signal_guard **guards)
{
    while (*guards) {
        struct signal_guard *guard = *guards;
        if (guard->fd >= 0) {
            guards = &guard->next;
            continue;
        }
        *guards = guard->next;
        free_one(guard);
    }
}

static void add_mark(struct signal_guard *guard, uint64_t mark)
{
    guard->marks = memory_resize(guard->marks, (guard->mark_count + 1) * sizeof(*guard->marks));
    guard->marks[guard->mark_count++] = mark;
}

void signal_guard_share(struct signal_guard *guards, uint64_t mark, uint64_t heir)
{
    for (struct signal_guard *guard = guards; guard; guard = guard->next)
        if (has_mark(guard, mark) && !has_mark(guard, heir))
            add_mark(guard, heir);
}

void signal_guard_forget(struct signal_guard *guards, uint64_t mark)
{
    for (struct signal_guard *guard = guards; guard; guard = guard->next)
        for (size_t i = 0; i < guard->mark_count; i++)
            if (guard->marks[i] == mark)
                guard->marks[i--] = guard->marks[--guard->mark_count];
}

int signal_guard_add(struct signal_guard **guards, struct event_base *base, uint64_t mark)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return -errno;
    remove_ended(guards);
    struct signal_guard *guard = memory_alloc_zero(sizeof(*guard));
    *guard = (struct signal_guard){.next = *guards, .base = base};
    add_mark(guard, mark);
    *guards = guard;
    listen_with(guard, pair[0], EV_READ, on_listener);
    return pair[1];
}

void signal_guard_free_all(struct signal_guard **guards)
{
    for (struct signal_guard *guard = *guards, *next; guard; guard = next) {
        next = guard->next;
        stop_listening(guard);
        free_one(guard);
    }
    *guards = NULL;
}
