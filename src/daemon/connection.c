// One client of the daemon: its greeting, then its service.
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "config.h"
#include "daemon/daemon_internal.h"
#include "daemon/http/http_service.h"
#include "daemon/http/listener.h"
#include "daemon/http/page.h"
#include "daemon/session_service.h"
#include "value/text/json.h"

enum {
    GREETING_WAIT_MS = 10000,
    ANSWER_WAIT_MS = 10000,
    READ_SIZE = 64 << 10,
};

void connection_free(struct connection *connection)
{
    struct daemon *daemon = connection->daemon;
    TAILQ_REMOVE(&daemon->connections, connection, link);
    daemon->connection_count--;
    daemon->needed_ms = clock_now_ms();
    connection_hang_up(connection);
    struct daemon_workspace *workspace = connection->workspace;
    if (workspace && workspace->sessions && --workspace->clients == 0 &&
        !connection->greeting.is_brief)
        session_save_all(workspace->sessions);
    service_release(&connection->service);
    session_service_free(connection->session);
    http_service_free(connection->http);
    listening_release(&connection->greeting.listening);
    if (connection->toolbox)
        toolbox_close_servers(connection->toolbox);
    toolbox_free(connection->toolbox);
    if (connection->event)
        event_free(connection->event);
    if (connection->fd >= 0)
        close(connection->fd);
    buffer_release(&connection->input);
    buffer_release(&connection->output);
    region_free(connection->region);
    memory_free(connection->name);
    memory_free(connection);
}

void connection_hang_up(struct connection *connection)
{
    mcp_stdio_free(connection->stdio);
    connection->stdio = NULL;
    session_service_hang_up(connection->session);
    http_service_hang_up(connection->http);
}

// Whether nothing runs any more whose client has left.
static bool is_idle(const struct connection *connection)
{
    return connection->session ? session_service_is_idle(connection->session)
           : connection->http  ? http_service_is_idle(connection->http)
                               : mcp_server_is_idle(connection->service.mcp);
}

void connection_free_idle(struct daemon *daemon)
{
    for (struct connection *connection = TAILQ_FIRST(&daemon->connections), *next; connection;
         connection = next) {
        next = TAILQ_NEXT(connection, link);
        if (!connection->client_left)
            continue;
        connection_hang_up(connection);
        if (is_idle(connection))
            connection_free(connection);
    }
}

// --- answers -------------------------------------------------------------------------------------

static void on_writable(evutil_socket_t fd, short what, void *data)
{
    struct connection *connection = data;
    struct buffer *output = &connection->output;
    ssize_t written = what & EV_TIMEOUT ? -1 : send(fd, output->data, output->length, MSG_NOSIGNAL);
    bool again = written < 0 && !(what & EV_TIMEOUT) && (errno == EAGAIN || errno == EINTR);
    if (written > 0)
        buffer_consume(output, (size_t)written);
    if ((written < 0 && !again) || output->length == 0)
        connection_free(connection);
}

static void write_line(struct buffer *text, value answer)
{
    json_write(text, answer, 0, NULL);
    buffer_append_byte(text, '\n');
}

void connection_answer(struct connection *connection, value answer)
{
    struct timeval wait = timeval_from_ms(ANSWER_WAIT_MS);
    write_line(&connection->output, answer);
    event_free(connection->event);
    connection->event = event_new(connection->daemon->base, connection->fd,
                                  EV_WRITE | EV_PERSIST | EV_TIMEOUT, on_writable, connection);
    CHECK(connection->event);
    event_add(connection->event, &wait);
}

value connection_new_answer(struct region *region, bool ok)
{
    value answer = map_put_text(region, map_new(region), "cadre", value_integer(GREETING_PROTOCOL));
    answer = map_put_text(region, answer, "version", value_string_text(region, CADRE_VERSION));
    return map_put_text(region, answer, "ok", value_boolean(ok));
}

void connection_refuse(struct connection *connection, const char *message)
{
    struct region *region = connection->region;
    connection_answer(connection,
                      map_put_text(region, connection_new_answer(region, false), "error",
                                   value_string_format(region, "%s", message)));
}

// --- the service ---------------------------------------------------------------------------------

// The client has left. An evaluation whose call was answered early may still run.
static void on_service_end(void *data)
{
    struct connection *connection = data;
    connection_hang_up(connection);
    connection->client_left = connection->service.tools.client_left = true;
    if (is_idle(connection))
        connection_free(connection);
}

static bool open_toolbox(struct connection *connection, struct error *error)
{
    const struct greeting *greeting = &connection->greeting;
    const char *file = greeting->settings.program_tools;
    if (!file)
        connection->toolbox = toolbox_new();
    else if (!toolbox_load(file, &connection->toolbox, error))
        return false;
    struct toolbox_place place = {greeting->environment, greeting->workspace};
    if (!toolbox_add_servers(connection->toolbox, greeting->settings.servers,
                             greeting->settings.imports, &place, error))
        return false;
    toolbox_open_servers(connection->toolbox, program_pool_reaper(connection->daemon->programs),
                         greeting->workspace);
    return true;
}

static bool open_workspace(struct connection *connection, struct error *error)
{
    const struct greeting *greeting = &connection->greeting;
    const struct workspace_request request = {.path = greeting->workspace,
                                              .directory = greeting->directory,
                                              .refused = greeting->refused,
                                              .settings = &greeting->settings};
    connection->workspace = workspaces_obtain(connection->daemon, &request, error);
    if (!connection->workspace)
        return false;
    connection->workspace->clients++;
    return true;
}

static bool open_service(struct connection *connection, struct error *error)
{
    struct daemon *daemon = connection->daemon;
    const struct settings *settings = &connection->greeting.settings;
    // A relay carries the messages of a client that says itself who it is.
    bool is_relay = strcmp(connection->greeting.client, "serve") == 0;
    if (!open_toolbox(connection, error))
        return false;
    const struct service_setup setup = {
        .base = daemon->base,
        .sessions = connection->workspace->sessions,
        .programs = daemon->programs,
        .toolbox = connection->toolbox,
        .context_db =
            settings->context_db ? settings->context_db : connection->workspace->context_db,
        .memories = connection->workspace->memories,
        .outputs = connection->workspace->outputs,
        .selection = settings->selection,
        .auto_context = settings->auto_context,
        .structured_results = settings->structured_results,
        .yield = settings->yield,
        .inspector = connection->workspace->inspector,
        .client = {.id = connection->id,
                   .name = is_relay ? NULL : connection->name,
                   .process = connection->pid,
                   .environment = connection->greeting.environment},
        .is_users = true,
        .imports_project = settings_import(settings, "project"),
    };
    return service_open(&connection->service, &setup, error);
}

bool connection_send_line(struct connection *connection, value answer)
{
    CLEANUP_BUFFER struct buffer line;
    buffer_init(&line, BUFFER_DEFAULT_LIMIT);
    write_line(&line, answer);
    return send(connection->fd, line.data, line.length, MSG_NOSIGNAL) == (ssize_t)line.length;
}

static bool start_transport(struct connection *connection)
{
    if (connection->greeting.kind == GREETING_SESSION) {
        connection->session = session_service_open(connection, connection->fd);
        return true;
    }
    return mcp_stdio_start_socket(connection->service.mcp, connection->fd, on_service_end,
                                  connection, &connection->stdio) == 0;
}

static void serve(struct connection *connection)
{
    struct error error;
    bool is_mcp = connection->greeting.kind == GREETING_MCP;
    if (!open_workspace(connection, &error) || (is_mcp && !open_service(connection, &error))) {
        connection_refuse(connection, error.message);
        return;
    }
    event_free(connection->event);
    connection->event = NULL;
    if (!connection_send_line(connection, connection_new_answer(connection->region, true)) ||
        !start_transport(connection)) {
        connection_free(connection);
        return;
    }
    connection->fd = -1;
}

// --- the greeting --------------------------------------------------------------------------------

static void handle_greeting(struct connection *connection, struct span line)
{
    struct error error;
    struct greeting *greeting = &connection->greeting;
    if (!greeting_read(connection->region, line, greeting, &error)) {
        connection_refuse(connection, error.message);
        return;
    }
    connection->name = memory_format("%.100s (pid %d)", greeting->client, (int)connection->pid);
    if (greeting->kind == GREETING_CONTROL)
        control_handle(connection);
    else if (connection->daemon->ending)
        connection_refuse(connection, "the daemon is ending");
    else if (greeting->kind == GREETING_HTTP)
        listener_open(connection);
    else if (greeting->kind == GREETING_PAGE)
        page_open(connection, line);
    else
        serve(connection);
}

static void on_readable(evutil_socket_t fd, short what, void *data)
{
    struct connection *connection = data;
    struct buffer *input = &connection->input;
    ssize_t n = -1;
    if (!(what & EV_TIMEOUT) && buffer_reserve(input, READ_SIZE))
        n = read(fd, input->data + input->length, READ_SIZE);
    if (n < 0 && !(what & EV_TIMEOUT) && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        connection_free(connection);
        return;
    }
    input->length += (size_t)n;
    const char *newline = memchr(input->data, '\n', input->length);
    if (!newline)
        return;
    if (newline + 1 != input->data + input->length) {  // it must wait for the answer
        connection_free(connection);
        return;
    }
    event_del(connection->event);
    handle_greeting(connection, (struct span){input->data, input->length - 1});
}

// A process of this user, and none that a session has started: code in a sandbox must not find its
// way out of it here. One that has ended meanwhile cannot be told from one of a session: it may have
// left the connection to another.
static bool may_connect(const struct daemon *daemon, int fd, pid_t *ret_pid)
{
    struct ucred peer;
    socklen_t length = sizeof(peer);
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) < 0 || peer.uid != getuid())
        return false;
    struct daemon_workspace *workspace;
    TAILQ_FOREACH (workspace, &daemon->workspaces, link)
        if (session_is_own_process(workspace->sessions, peer.pid))
            return false;
    if (kill(peer.pid, 0) < 0 && errno == ESRCH)
        return false;
    *ret_pid = peer.pid;
    return true;
}

void connection_open(struct daemon *daemon, int fd)
{
    pid_t pid;
    if (!may_connect(daemon, fd, &pid)) {
        log_warning("a connection was refused: not a process of this user, or one of a session");
        close(fd);
        return;
    }
    struct connection *connection = memory_alloc_zero(sizeof(*connection));
    *connection = (struct connection){
        .daemon = daemon, .fd = fd, .pid = pid, .id = ++daemon->last_connection};
    connection->region = region_new(SIZE_MAX);
    buffer_init(&connection->input, GREETING_MAX);
    buffer_init(&connection->output, BUFFER_DEFAULT_LIMIT);
    connection->event =
        event_new(daemon->base, fd, EV_READ | EV_PERSIST | EV_TIMEOUT, on_readable, connection);
    CHECK(connection->event);
    struct timeval wait = timeval_from_ms(GREETING_WAIT_MS);
    event_add(connection->event, &wait);
    TAILQ_INSERT_TAIL(&daemon->connections, connection, link);
    daemon->connection_count++;
}
