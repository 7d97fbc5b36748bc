#include "session/link.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/memory.h"
#include "session/session_internal.h"

// A pipe holds at most 1 MiB (unprivileged), so one drain sees all that was written before it.
enum { READ_SIZE = 64 * 1024, READ_PER_TURN = 4 * READ_SIZE, DRAIN_MAX = 1 << 20 };

// --- pipes ---------------------------------------------------------------------------------------

static void pipe_release(struct output_pipe *pipe)
{
    if (pipe->read_event)
        event_free(pipe->read_event);
    if (pipe->fd >= 0)
        close(pipe->fd);
    if (pipe->worker_fd >= 0)
        close(pipe->worker_fd);
    pipe->read_event = NULL;
    pipe->fd = pipe->worker_fd = -1;
}

static bool pipe_is_wanted(const struct output_pipe *pipe)
{
    const struct session *session = pipe->link->session;
    return session->job || session->finalizer.running || session->state == STATE_STARTING ||
           !capture_is_full(pipe->capture);
}

// Up to `max_bytes`, or less when nobody wants more.
static void pipe_read(struct output_pipe *pipe, size_t max_bytes)
{
    char bytes[READ_SIZE];
    for (size_t total = 0; pipe->fd >= 0 && total < max_bytes && pipe_is_wanted(pipe);) {
        ssize_t length = read(pipe->fd, bytes, sizeof(bytes));
        if (length < 0 && errno == EINTR)
            continue;
        if (length < 0 && errno == EAGAIN)
            return;
        if (length <= 0) {  // the last writer is gone, which would be reported for ever
            pipe_release(pipe);
            return;
        }
        capture_add(pipe->capture, bytes, (size_t)length);
        total += (size_t)length;
    }
}

static bool link_is_over(const struct link *link)
{
    return link->retired && link->output.fd < 0 && link->errors.fd < 0;
}

static void on_readable(evutil_socket_t fd, short what, void *data)
{
    (void)fd;
    (void)what;
    struct output_pipe *pipe = data;
    pipe_read(pipe, READ_PER_TURN);
    if (pipe->fd >= 0 && !pipe_is_wanted(pipe)) {
        pipe->paused = true;
        event_del(pipe->read_event);
    }
    if (link_is_over(pipe->link))
        link_free(pipe->link);
}

static int pipe_open(struct output_pipe *pipe)
{
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) < 0)
        return -errno;
    pipe->fd = fds[0];
    pipe->worker_fd = fds[1];
    struct event_base *base = pipe->link->session->manager->base;
    pipe->read_event = event_new(base, fds[0], EV_READ | EV_PERSIST, on_readable, pipe);
    if (fcntl(fds[0], F_SETFL, O_NONBLOCK) < 0 || !pipe->read_event ||
        event_add(pipe->read_event, NULL) < 0)
        return -ENOMEM;
    return 0;
}

static void pipe_close_write_end(struct output_pipe *pipe)
{
    if (pipe->worker_fd >= 0)
        close(pipe->worker_fd);
    pipe->worker_fd = -1;
}

// --- links ---------------------------------------------------------------------------------------

static int link_open(struct link *link, bool with_pipes)
{
    int result =
        channel_init(&link->channel, link->session->manager->base, session_on_message, link);
    if (result == 0 && with_pipes)
        result = pipe_open(&link->output);
    if (result == 0 && with_pipes)
        result = pipe_open(&link->errors);
    return result;
}

struct link *link_new(struct session *session, bool with_pipes)
{
    struct link *link = memory_alloc_zero(sizeof(*link));
    link->session = session;
    link->output =
        (struct output_pipe){.link = link, .capture = &session->output, .fd = -1, .worker_fd = -1};
    link->errors =
        (struct output_pipe){.link = link, .capture = &session->errors, .fd = -1, .worker_fd = -1};
    link->next = session->links;
    session->links = link;
    int result = link_open(link, with_pipes);
    if (result == 0)
        return link;
    link_free(link);
    errno = -result;
    return NULL;
}

void link_free(struct link *link)
{
    if (!link)
        return;
    struct link **at = &link->session->links;
    while (*at != link)
        at = &(*at)->next;
    *at = link->next;
    channel_release(&link->channel);
    pipe_release(&link->output);
    pipe_release(&link->errors);
    memory_free(link);
}

int link_offer(struct link *link, uint32_t type, uint32_t number, struct span payload,
               struct link *offered)
{
    int fds[CHANNEL_DESCRIPTORS_MAX] = {offered->channel.worker_fd, offered->output.worker_fd,
                                        offered->errors.worker_fd};
    bool with_pipes = offered->output.worker_fd >= 0;
    int result = channel_send_descriptors(&link->channel, type, number, payload, fds,
                                          with_pipes ? CHANNEL_DESCRIPTORS_MAX : 1);
    if (result < 0)
        return result;
    link_close_write_ends(offered);
    if (!with_pipes)
        channel_close_worker_end(&offered->channel);
    return 0;
}

void link_close_write_ends(struct link *link)
{
    pipe_close_write_end(&link->output);
    pipe_close_write_end(&link->errors);
}

void link_close_pipes(struct link *link)
{
    pipe_release(&link->output);
    pipe_release(&link->errors);
}

static void close_oldest_retired(struct session *session)
{
    struct link *oldest = NULL;
    size_t count = 0;
    for (struct link *link = session->links; link; link = link->next) {
        if (link->retired) {
            oldest = link;  // the newest is first
            count++;
        }
    }
    if (count > SESSION_RETIRED_LINKS)
        link_free(oldest);
}

void link_retire(struct link *link)
{
    link->worker = NULL;
    link->retired = true;
    channel_release(&link->channel);
    if (link_is_over(link))
        link_free(link);
    else
        close_oldest_retired(link->session);
}

// --- all of a session ----------------------------------------------------------------------------

void session_drain_output(struct session *session)
{
    for (struct link *link = session->links, *next; link; link = next) {
        next = link->next;
        pipe_read(&link->output, DRAIN_MAX);
        pipe_read(&link->errors, DRAIN_MAX);
        if (link_is_over(link))
            link_free(link);
    }
}

void session_close_retired(struct session *session)
{
    for (struct link *link = session->links, *next; link; link = next) {
        next = link->next;
        if (link->retired)
            link_free(link);
    }
}

static void pipe_resume(struct output_pipe *pipe)
{
    if (pipe->fd < 0 || !pipe->paused)
        return;
    pipe->paused = false;
    event_add(pipe->read_event, NULL);
}

void session_resume_output(struct session *session)
{
    for (struct link *link = session->links; link; link = link->next) {
        pipe_resume(&link->output);
        pipe_resume(&link->errors);
    }
}
