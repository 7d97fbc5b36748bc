#include "cli/session_loop.h"

#include <errno.h>
#include <signal.h>

struct pending_call {
    struct session_loop *loop;
    session_loop_reply_fn *handle;
    void *data;
    uint64_t ticket;
};

struct event_base *session_loop_new_base(void)
{
    struct event_config *config = event_config_new();
    if (!config)
        return NULL;
    // libevent's default clock has steps of 4 ms, so time limits would end early.
    event_config_set_flag(config, EVENT_BASE_FLAG_PRECISE_TIMER);
    struct event_base *base = event_base_new_with_config(config);
    event_config_free(config);
    return base;
}

int session_loop_init(struct session_loop *loop, const struct session_config *config)
{
    *loop = (struct session_loop){.base = session_loop_new_base()};
    return loop->base ? session_manager_new(loop->base, config, &loop->sessions) : -ENOMEM;
}

void session_loop_release(struct session_loop *loop)
{
    session_manager_free(loop->sessions);
    if (loop->base)
        event_base_free(loop->base);
    libevent_global_shutdown();
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

void session_loop_call(struct session_loop *loop, const struct session_request *request,
                       session_loop_reply_fn *handle, void *data)
{
    struct pending_call call = {.loop = loop, .handle = handle, .data = data};
    struct session_request submitted = *request;
    submitted.reply = on_reply;
    submitted.progress = NULL;
    submitted.data = &call;
    struct event *interrupt = evsignal_new(loop->base, SIGINT, on_interrupt, &call);
    event_add(interrupt, NULL);
    call.ticket = session_submit(loop->sessions, &submitted);
    event_base_dispatch(loop->base);
    event_free(interrupt);
}
