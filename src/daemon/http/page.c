#include "daemon/http/page.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/private.h"
#include "daemon/http/http_service.h"
#include "daemon/http/listener.h"
#include "value/text/json.h"

struct page {
    struct region *region;  // of the greeting
    struct greeting greeting;
    struct http_service *http;
};

static void on_end(void *data)
{
    (void)data;  // it ends with the daemon
}

static struct page *new_page(struct daemon *daemon, struct span line, struct error *error)
{
    struct page *page = memory_alloc_zero(sizeof(*page));
    page->region = region_new(SIZE_MAX);
    if (greeting_read(page->region, line, &page->greeting, error)) {
        struct tenant_setup setup =
            listener_setup(daemon, &page->greeting, ++daemon->last_connection);
        setup.joins = true;
        if (!*page->greeting.environment)  // of an earlier daemon: this one's
            setup.client.environment = NULL;
        if (http_service_open(&setup, &page->greeting.listening, on_end, NULL, &page->http,
                              error) == 0)
            return page;
    }
    page_free(page);
    return NULL;
}

// --- from one daemon to the next -----------------------------------------------------------------

// page.json of the state directory: the greeting, with the port that was found, but without the
// environment, which is never written to a file.
static char *file_path(void)
{
    return path_in_state("page.json");
}

static void forget(void)
{
    CLEANUP_FREE char *path = file_path();
    if (path)
        unlink(path);
}

static bool write_text(const char *path, struct span text, struct error *error)
{
    struct private_file file;
    bool made;
    if (!private_create(path, &file, error))
        return false;
    if (descriptor_write(file.descriptor, text.data, text.length))
        return private_create_commit(&file, true, &made, error);
    private_create_abandon(&file);
    return error_set(error, ERROR_SYSTEM, "%s cannot be written", path);
}

static void remember(const struct page *page, struct span line)
{
    struct region *region = region_new(SIZE_MAX);
    struct error error;
    value map;
    const char *port = strrchr(http_service_url(page->http), ':') + 1;
    CLEANUP_FREE char *path = file_path();
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, GREETING_MAX);
    if (path && json_read(region, line, NULL, &map, &error)) {
        value http = map_put_text(region, value_retain(map_get(map, "http")), "port",
                                  value_integer((int64_t)strtoul(port, NULL, 10)));
        map = map_put_text(region, map, "http", http);
        map = map_put_text(region, map, "environment", vector_new(region, 0));
        json_write(&text, map, 0, NULL);
        if (!write_text(path, buffer_span(&text), &error))
            log_warning("the page will not outlive this daemon: %s", error.message);
    }
    region_free(region);
}

// A token that is no longer the user's opens nothing.
static bool has_present_token(const struct page *page)
{
    struct tokens tokens;
    struct error error;
    bool is_read = tokens_read(&(struct token_options){0}, false, &tokens, &error);
    bool is_same = is_read && http_service_has_token(page->http, tokens.list[0].text);
    tokens_release(&tokens);
    return is_same;
}

static bool read_file(const char *path, struct buffer *text)
{
    struct error error;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (descriptor < 0)
        return false;
    bool ok = private_check_file(path, &error) && buffer_append_descriptor(text, descriptor) == 0;
    close(descriptor);
    return ok;
}

void page_restore(struct daemon *daemon)
{
    struct error error;
    CLEANUP_FREE char *path = file_path();
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, GREETING_MAX);
    if (!path || !read_file(path, &text))
        return;
    struct page *page = new_page(daemon, buffer_span(&text), &error);
    if (page && has_present_token(page)) {
        daemon->page = page;
        return;
    }
    if (!page)
        log_warning("the page is not shown again: %s", error.message);
    page_free(page);
    forget();
}

// --- opening -------------------------------------------------------------------------------------

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
    if (!http && (daemon->page = new_page(daemon, line, &error))) {
        http = daemon->page->http;
        remember(daemon->page, line);
    }
    if (http)
        connection_answer(connection, listener_answer(connection, http));
    else
        connection_refuse(connection, error.message);
}

// --- the end -------------------------------------------------------------------------------------

bool page_is_read(const struct page *page)
{
    return page && page->http && http_service_is_read(page->http);
}

void page_hang_up(struct page *page)
{
    if (!page)
        return;
    if (!page_is_read(page))
        forget();
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
