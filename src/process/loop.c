#include "process/loop.h"

#include <event2/event.h>
#include <stddef.h>

struct event_base *loop_new_base(void)
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
