#include "cli/session_loop.h"

#include <errno.h>
#include <signal.h>

struct pending_call {
    struct lisp *lisp;
    lisp_handle_fn *handle;
    void *data;
    uint64_t ticket;
};

struct event_base *lisp_new_base(void)
{
    struct event_config *config = event_config_new();
    if (!config)
        return NULL;
    // libevent's own clock ticks in steps of 4 ms, so that time limits would end early.
    event_config_set_flag(config, EVENT_BASE_FLAG_PRECISE_TIMER);
    struct event_base *base = event_base_new_with_config(config);
    event_config_free(config);
    return base;
}

int lisp_init(struct lisp *lisp, const struct session_config *config)
{
    *lisp = (struct lisp){.base = lisp_new_base()};
    return lisp->base ? session_manager_new(lisp->base, config, &lisp->sessions) : -ENOMEM;
}

void lisp_release(struct lisp *lisp)
{
    session_manager_free(lisp->sessions);
    if (lisp->base)
        event_base_free(lisp->base);
    libevent_global_shutdown();
}

static void on_reply(void *data, const struct session_reply *reply)
{
    struct pending_call *call = data;
    call->handle(call->data, reply);
    event_base_loopbreak(call->lisp->base);
}

static void on_interrupt(evutil_socket_t number, short events, void *data)
{
    (void)number;
    (void)events;
    struct pending_call *call = data;
    session_interrupt(call->lisp->sessions, call->ticket);
}

void lisp_call(struct lisp *lisp, const struct session_request *request, lisp_handle_fn *handle,
               void *data)
{
    struct pending_call call = {.lisp = lisp, .handle = handle, .data = data};
    struct session_request submitted = *request;
    submitted.reply = on_reply;
    submitted.progress = NULL;
    submitted.data = &call;
    struct event *interrupt = evsignal_new(lisp->base, SIGINT, on_interrupt, &call);
    event_add(interrupt, NULL);
    call.ticket = session_submit(lisp->sessions, &submitted);
    event_base_dispatch(lisp->base);
    event_free(interrupt);
}
