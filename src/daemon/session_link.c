#include "daemon/session_link.h"

#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "daemon/daemon_client.h"
#include "daemon/greeting.h"
#include "session/session.h"
#include "value/text/json.h"

struct session_link {
    struct buffer greeting;
    char *session;
    int fd;
    struct buffer input, line;
};

static void lose(struct session_link *link)
{
    if (link->fd >= 0)
        close(link->fd);
    link->fd = -1;
    buffer_clear(&link->input);
}

static bool send_value(struct session_link *link, value message)
{
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, (size_t)2 * SESSION_REQUEST_MAX);
    json_write(&text, message, 0, NULL);
    buffer_append_byte(&text, '\n');
    return !text.failed && daemon_client_send(link->fd, buffer_span(&text));
}

static bool connect_link(struct session_link *link, struct error *error)
{
    const struct daemon_client client = {.program = "/proc/self/exe", .greeting = &link->greeting};
    link->fd = daemon_client_connect(&client, NULL, error);
    if (link->fd < 0)
        return false;
    struct region *region = region_new(SIZE_MAX);
    bool sent = send_value(link, map_put_text(region, map_new(region), "join",
                                              value_string_text(region, link->session)));
    region_free(region);
    if (!sent)
        lose(link);
    return sent || error_set(error, ERROR_SYSTEM, "the daemon does not answer");
}

struct session_link *session_link_open(const char *client, const struct settings *settings,
                                       const char *session, struct error *error)
{
    const struct greeting_parts parts = {
        .kind = GREETING_SESSION, .client = client, .settings = settings};
    struct session_link *link = memory_alloc_zero(sizeof(*link));
    link->fd = -1;
    link->session = memory_copy_string(session);
    buffer_init(&link->greeting, GREETING_MAX);
    buffer_init(&link->input, (size_t)2 * SESSION_MESSAGE_MAX);
    buffer_init(&link->line, (size_t)2 * SESSION_MESSAGE_MAX);
    if (greeting_write(&link->greeting, &parts, error) && connect_link(link, error))
        return link;
    session_link_close(link);
    return NULL;
}

void session_link_close(struct session_link *link)
{
    if (!link)
        return;
    lose(link);
    buffer_release(&link->greeting);
    buffer_release(&link->input);
    buffer_release(&link->line);
    memory_free(link->session);
    memory_free(link);
}

int session_link_descriptor(const struct session_link *link)
{
    return link->fd;
}

bool session_link_send(struct session_link *link, value message, struct error *error)
{
    if (link->fd >= 0 && send_value(link, message))
        return true;
    lose(link);
    return connect_link(link, error) &&
           (send_value(link, message) ||
            error_set(error, ERROR_SYSTEM, "the daemon does not take the request"));
}

bool session_link_has_message(const struct session_link *link)
{
    return link->input.length > 0 && memchr(link->input.data, '\n', link->input.length);
}

bool session_link_receive(struct session_link *link, struct region *region, value *ret_message)
{
    struct error error;
    if (link->fd >= 0 && daemon_client_read_line(link->fd, &link->input, &link->line) &&
        json_read(region, buffer_span(&link->line), NULL, ret_message, &error) &&
        value_is_map(*ret_message))
        return true;
    lose(link);
    return false;
}
