// In place of bus.c and nats_library.c where Cadre is built without libnats: there is no cluster.
#include "base/assert.h"
#include "cluster/bus.h"
#include "cluster/nats_library.h"

static bool refuse(struct error *error)
{
    return error_set(error, ERROR_SYSTEM,
                     "this Cadre was built without libnats, which a cluster needs (on Debian: apt "
                     "install libnats-dev, and build again)");
}

bool nats_library_find(char version[NATS_LIBRARY_VERSION_SIZE], struct error *error)
{
    (void)version;
    return refuse(error);
}

bool bus_open(struct event_base *base, const struct bus_options *options, bus_state_fn *on_state,
              void *data, struct bus **ret_bus, struct error *error)
{
    (void)base;
    (void)options;
    (void)on_state;
    (void)data;
    (void)ret_bus;
    return refuse(error);
}

void bus_free(struct bus *bus)
{
    CHECK(!bus);
}

bool bus_is_connected(const struct bus *bus)
{
    (void)bus;
    UNREACHABLE();
}

const char *bus_failure(struct bus *bus)
{
    (void)bus;
    UNREACHABLE();
}

int bus_publish(struct bus *bus, const struct bus_message *message)
{
    (void)bus;
    (void)message;
    UNREACHABLE();
}

struct bus_subscription *bus_subscribe(struct bus *bus, const char *subject, const char *group,
                                       bus_delivery_fn *deliver, void *data)
{
    (void)bus;
    (void)subject;
    (void)group;
    (void)deliver;
    (void)data;
    UNREACHABLE();
}

void bus_unsubscribe(struct bus_subscription *subscription)
{
    (void)subscription;
    UNREACHABLE();
}
