#include "cli/session_loop.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "cli/session_shared.h"
#include "daemon/session_link.h"
#include "daemon/session_wire.h"
#include "process/loop.h"

struct pending_call {
    struct session_loop *loop;
    const struct session_console *console;
    session_loop_reply_fn *handle;
    void *data;
    uint64_t ticket;
    struct event *readable;  // while the code waits for input
};

int session_loop_init(struct session_loop *loop, const struct session_config *config)
{
    *loop = (struct session_loop){.base = loop_new_base()};
    return loop->base ? session_manager_new(loop->base, config, &loop->sessions) : -ENOMEM;
}

void session_loop_release(struct session_loop *loop)
{
    session_link_close(loop->link);
    session_manager_free(loop->sessions);
    if (loop->base)
        event_base_free(loop->base);
    libevent_global_shutdown();
}

bool session_loop_join(struct session_loop *loop, const char *session,
                       const struct settings *settings, struct error *error)
{
    *loop = (struct session_loop){.session = session};
    loop->link = session_link_open("repl", settings, session, error);
    return loop->link != NULL;
}

static void on_reply(void *data, const struct session_reply *reply)
{
    struct pending_call *call = data;
    call->handle(call->data, reply);
    event_base_loopbreak(call->loop->base);
}

static void on_interrupt(evutil_socket_t number, short events, void *data)
{
    (void)number;
    (void)events;
    struct pending_call *call = data;
    session_interrupt(call->loop->sessions, call->ticket);
}

// --- the console ---------------------------------------------------------------------------------

static void on_output(void *data, enum session_stream stream, struct span text)
{
    struct pending_call *call = data;
    call->console->output(call->console->data, stream, text);
}

static void on_progress(void *data, const struct session_progress *progress)
{
    struct pending_call *call = data;
    call->console->progress(call->console->data, progress);
}

bool session_console_take(const struct session_console *console, struct buffer *line)
{
    struct line_input *input = console->input;
    if (!line_input_take(input, line) && !input->ended)
        return false;
    if (line->length > 0 && line->data[line->length - 1] == '\n' && isatty(input->fd))
        console->echoed(console->data);
    input->ended = false;
    return true;
}

// False: there is no line yet.
static bool give_line(struct pending_call *call)
{
    CLEANUP_BUFFER struct buffer line;
    buffer_init(&line, SESSION_INPUT_MAX);
    if (!session_console_take(call->console, &line))
        return false;
    if (line.length > 0)
        session_give_input(call->loop->sessions, call->ticket, buffer_span(&line));
    else
        session_end_input(call->loop->sessions, call->ticket);
    return true;
}

static void on_readable(evutil_socket_t fd, short events, void *data)
{
    (void)fd;
    (void)events;
    struct pending_call *call = data;
    line_input_fill(call->console->input);
    if (!give_line(call))
        event_add(call->readable, NULL);
}

// What can be read now is read now: the loop refuses to wait for a file, which always can be.
static void on_input(void *data, uint64_t ticket)
{
    struct pending_call *call = data;
    call->ticket = ticket;
    while (!give_line(call)) {
        struct pollfd now = {.fd = call->console->input->fd, .events = POLLIN};
        if (poll(&now, 1, 0) == 0) {
            event_add(call->readable, NULL);
            return;
        }
        line_input_fill(call->console->input);
    }
}

// --- the call ------------------------------------------------------------------------------------

void session_loop_call(struct session_loop *loop, const struct session_request *request,
                       const struct session_console *console, session_loop_reply_fn *handle,
                       void *data)
{
    if (loop->link) {
        session_shared_call(loop, request, console, handle, data);
        return;
    }
    struct pending_call call = {.loop = loop, .console = console, .handle = handle, .data = data};
    struct session_request submitted = *request;
    submitted.reply = on_reply;
    bool reads = console && console->input;
    submitted.progress = console && console->progress ? on_progress : NULL;
    submitted.output = console && console->output ? on_output : NULL;
    submitted.input = reads ? on_input : NULL;
    submitted.data = &call;
    if (reads)
        call.readable = event_new(loop->base, console->input->fd, EV_READ, on_readable, &call);
    struct event *interrupt = evsignal_new(loop->base, SIGINT, on_interrupt, &call);
    event_add(interrupt, NULL);
    call.ticket = session_submit(loop->sessions, &submitted);
    event_base_dispatch(loop->base);
    event_free(interrupt);
    if (call.readable)
        event_free(call.readable);
}

// --- what is known -------------------------------------------------------------------------------

value session_loop_info(struct session_loop *loop, struct region *region)
{
    return loop->link ? session_shared_ask(loop, "info", 0, region)
                      : session_info(loop->sessions, "main", false, region);
}

value session_loop_errors(struct session_loop *loop, struct region *region)
{
    value errors = loop->link ? session_shared_ask(loop, "errors", 0, region)
                              : session_errors(loop->sessions, "main", region);
    return value_is_vector(errors) ? errors : vector_new(region, 0);
}

value session_loop_error(struct session_loop *loop, int64_t id, struct region *region)
{
    return loop->link ? session_shared_ask(loop, "error", id, region)
                      : session_error(loop->sessions, "main", id, region);
}

struct session_limits session_loop_limits(struct session_loop *loop)
{
    struct session_limits limits = session_limits_default();
    if (!loop->link) {
        session_limits_get(loop->sessions, "main", &limits);
        return limits;
    }
    struct region *region = region_new(SIZE_MAX);
    value info = session_shared_ask(loop, "info", 0, region);
    if (value_is_map(info))
        limits = session_wire_read_limits(map_get(info, "limits"));
    region_free(region);
    return limits;
}

bool session_loop_set_limits(struct session_loop *loop, const struct session_limits *limits,
                             struct error *error)
{
    if (loop->link)
        return session_shared_set_limits(loop, limits, error);
    if (!session_limits_check(limits, session_heap_mb(loop->sessions), error))
        return false;
    session_limits_set(loop->sessions, "main", limits);
    return true;
}
