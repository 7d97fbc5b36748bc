#include "daemon/http/listener.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/memory.h"
#include "daemon/http/http_service.h"

enum { HTTP_GRACE_MS = 500 };

struct tenant_setup listener_setup(struct daemon *daemon, const struct greeting *greeting,
                                   uint64_t id)
{
    return (struct tenant_setup){.base = daemon->base,
                                 .daemon = daemon,
                                 .programs = daemon->programs,
                                 .settings = &greeting->settings,
                                 .has_inspector = true,
                                 .client = {.id = id, .environment = greeting->environment}};
}

value listener_answer(const struct connection *connection, const struct http_service *http)
{
    struct region *region = connection->region;
    value url = value_string_format(region, "%s", http_service_url(http));
    return map_put_text(region, connection_new_answer(region, true), "url", url);
}

static void on_end(void *data)
{
    struct connection *connection = data;
    connection->client_left = true;
    event_active(connection->daemon->tick, EV_TIMEOUT, 0);
}

// The client has closed its side, and waits for the end. What else it says does not matter.
static void on_client(evutil_socket_t fd, short what, void *data)
{
    (void)what;
    struct connection *connection = data;
    char text[64];
    ssize_t n = read(fd, text, sizeof(text));
    if (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)))
        return;
    event_del(connection->event);
    http_service_shutdown(connection->http, HTTP_GRACE_MS);
}

void listener_open(struct connection *connection)
{
    struct daemon *daemon = connection->daemon;
    struct greeting *greeting = &connection->greeting;
    struct tenant_setup setup = listener_setup(daemon, greeting, connection->id);
    struct error error;
    if (http_service_open(&setup, &greeting->listening, on_end, connection, &connection->http,
                          &error)) {
        connection_refuse(connection, error.message);
        return;
    }
    event_free(connection->event);
    connection->event =
        event_new(daemon->base, connection->fd, EV_READ | EV_PERSIST, on_client, connection);
    CHECK(connection->event);
    event_add(connection->event, NULL);
    connection_send_line(connection, listener_answer(connection, connection->http));
}
