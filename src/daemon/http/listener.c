#include "daemon/http/listener.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/memory.h"
#include "daemon/http/http_service.h"

enum { HTTP_GRACE_MS = 500 };

static struct tenant_setup setup_of(struct daemon *daemon, const struct greeting *greeting,
                                    uint64_t id)
{
    return (struct tenant_setup){.base = daemon->base,
                                 .daemon = daemon,
                                 .programs = daemon->programs,
                                 .settings = &greeting->settings,
                                 .has_inspector = true,
                                 .client = {.id = id, .environment = greeting->environment}};
}

static value answer_url(const struct connection *connection, const struct http_service *http)
{
    struct region *region = connection->region;
    value url = value_string_format(region, "%s", http_service_url(http));
    return map_put_text(region, connection_new_answer(region, true), "url", url);
}

// --- as long as the connection -------------------------------------------------------------------

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
    struct tenant_setup setup = setup_of(daemon, greeting, connection->id);
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
    connection_send_line(connection, answer_url(connection, connection->http));
}

// --- the page ------------------------------------------------------------------------------------

struct page {
    struct region *region;  // of the greeting
    struct greeting greeting;
    struct http_service *http;
};

static void on_page_end(void *data)
{
    (void)data;  // it ends with the daemon
}

static struct page *new_page(const struct connection *connection, struct span line,
                             struct error *error)
{
    struct page *page = memory_alloc_zero(sizeof(*page));
    page->region = region_new(SIZE_MAX);
    if (greeting_read(page->region, line, &page->greeting, error)) {
        struct tenant_setup setup = setup_of(connection->daemon, &page->greeting, connection->id);
        setup.joins = true;
        if (http_service_open(&setup, &page->greeting.listening, on_page_end, NULL, &page->http,
                              error) == 0)
            return page;
    }
    page_free(page);
    return NULL;
}

// What shows the page already. Another client's listener makes sessions with that client's settings, so
// they must be those that the workspace has.
static const struct http_service *find_listener(const struct connection *connection)
{
    const struct daemon *daemon = connection->daemon;
    const struct greeting *greeting = &connection->greeting;
    const char *token = greeting->listening.tokens.list[0].text;
    const struct daemon_workspace *workspace =
        workspaces_find(daemon, span_from(greeting->workspace));
    const struct connection *other;
    if (daemon->page && http_service_has_token(daemon->page->http, token))
        return daemon->page->http;
    if (daemon->http && http_service_shows(daemon->http, token, workspace))
        return daemon->http;
    TAILQ_FOREACH (other, &daemon->connections, link)
        if (other->http && !other->client_left && http_service_shows(other->http, token, workspace))
            return other->http;
    return NULL;
}

void page_open(struct connection *connection, struct span line)
{
    struct daemon *daemon = connection->daemon;
    struct error error;
    const struct http_service *http = find_listener(connection);
    if (!http && daemon->page) {
        connection_refuse(connection, "the page is served with another token; cadre daemon stop "
                                      "ends it");
        return;
    }
    if (!http && (daemon->page = new_page(connection, line, &error)))
        http = daemon->page->http;
    if (http)
        connection_answer(connection, answer_url(connection, http));
    else
        connection_refuse(connection, error.message);
}

bool page_is_read(const struct page *page)
{
    return page && http_service_is_read(page->http);
}

void page_hang_up(struct page *page)
{
    if (page)
        http_service_hang_up(page->http);
}

void page_free(struct page *page)
{
    if (!page)
        return;
    http_service_free(page->http);
    listening_release(&page->greeting.listening);
    region_free(page->region);
    memory_free(page);
}
