#include "value/allocation_guard.h"

static void on_exhausted(void *data, size_t size)
{
    (void)size;
    longjmp(((struct guard *)data)->jump, 1);
}

static void on_tick(void *data);

static void install(struct guard *guard)
{
    region_on_exhausted(guard->region, on_exhausted, guard);
    if (guard->outer_tick) {
        tick.handler = on_tick;
        tick.data = guard;
    }
}

static void on_tick(void *data)
{
    struct guard *guard = data;
    guard_leave(guard);
    tick.handler(tick.data);
    install(guard);
}

void guard_enter(struct guard *guard, struct region *region)
{
    guard->region = region;
    guard->outer_exhausted = region->exhausted;
    guard->outer_exhausted_data = region->exhausted_data;
    guard->outer_tick = tick.handler;
    guard->outer_tick_data = tick.data;
    install(guard);
}

void guard_leave(struct guard *guard)
{
    region_on_exhausted(guard->region, guard->outer_exhausted, guard->outer_exhausted_data);
    tick.handler = guard->outer_tick;
    tick.data = guard->outer_tick_data;
}
