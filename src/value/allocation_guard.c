#include "value/allocation_guard.h"

static void on_exhausted(void *data, size_t size)
{
    (void)size;
    longjmp(((struct allocation_guard *)data)->jump, 1);
}

static void on_empty(void *data);

static void install(struct allocation_guard *guard)
{
    region_on_exhausted(guard->region, on_exhausted, guard);
    if (guard->outer_fuel) {
        fuel.handler = on_empty;
        fuel.data = guard;
    }
}

static void on_empty(void *data)
{
    struct allocation_guard *guard = data;
    allocation_guard_leave(guard);
    fuel.handler(fuel.data);
    install(guard);
}

void allocation_guard_enter(struct allocation_guard *guard, struct region *region)
{
    guard->region = region;
    guard->outer_exhausted = region->exhausted;
    guard->outer_exhausted_data = region->exhausted_data;
    guard->outer_fuel = fuel.handler;
    guard->outer_fuel_data = fuel.data;
    install(guard);
}

void allocation_guard_leave(struct allocation_guard *guard)
{
    region_on_exhausted(guard->region, guard->outer_exhausted, guard->outer_exhausted_data);
    fuel.handler = guard->outer_fuel;
    fuel.data = guard->outer_fuel_data;
}
