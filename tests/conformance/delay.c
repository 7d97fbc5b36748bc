// Replies after a delay, on a timer of the event loop.
#include <event2/event.h>
#include <sys/queue.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/memory.h"
#include "fixtures.h"

struct delay {
    LIST_ENTRY(delay) link;
    struct event *timer;
    struct mcp_call *call;
    mcp_handler_fn *next;
};

static struct event_base *delay_base;
static LIST_HEAD(delay_head, delay) delays = LIST_HEAD_INITIALIZER(delays);

static void delay_free(struct delay *delay)
{
    LIST_REMOVE(delay, link);
    event_free(delay->timer);
    memory_free(delay);
}

static void on_time(evutil_socket_t fd, short what, void *data)
{
    (void)fd;
    (void)what;
    struct delay *delay = data;
    struct mcp_call *call = delay->call;
    mcp_handler_fn *next = delay->next;
    delay_free(delay);
    mcp_call_on_cancel(call, NULL, NULL);
    next(call, NULL);
}

static void on_cancel(struct mcp_call *call, void *data)
{
    delay_free(data);
    reply_text(call, "cancelled");
}

void delay_init(struct event_base *base)
{
    delay_base = base;
}

void delay(struct mcp_call *call, unsigned ms, mcp_handler_fn *next)
{
    struct delay *delay = memory_alloc_zero(sizeof(*delay));
    delay->call = call;
    delay->next = next;
    delay->timer = evtimer_new(delay_base, on_time, delay);
    CHECK(delay->timer);
    struct timeval wait = timeval_from_ms(ms);
    evtimer_add(delay->timer, &wait);
    LIST_INSERT_HEAD(&delays, delay, link);
    mcp_call_on_cancel(call, on_cancel, delay);
}

void delay_release(void)
{
    while (!LIST_EMPTY(&delays))
        delay_free(LIST_FIRST(&delays));
}
