#include "value/fuel.h"

_Thread_local struct tick tick __attribute__((tls_model("initial-exec")));

void tick_refill(void)
{
    if (tick.handler)
        tick.handler(tick.data);
    else
        tick.fuel = INT64_MAX / 2;
}
