// The Streamable HTTP transport: set-up, routing and shutdown.
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sodium.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "mcp/http/http.h"

enum { TOKEN_MIN = 16, TOKEN_MAX = 4096 };

// --- requests ------------------------------------------------------------------------------------

static void send_metrics(struct mcp_http *http, struct http_reply *reply)
{
    mcp_metric_set(http->connections_gauge, (double)http->connection_count);
    mcp_metric_set(http->sessions_gauge, (double)http->session_count);
    mcp_metric_set(http->calls_gauge, (double)http->server->call_count);
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, MCP_OUTPUT_LIMIT);
    metrics_write(reply->client->server->metrics, &text);
    if (http->router)
        http->router->measure(http->router->data, &text);
    struct span body = buffer_span(&text);
    http_reply_send(reply, 200, "text/plain; version=0.0.4; charset=utf-8", &body, 1);
}

static void handle_delete(struct http_reply *reply)
{
    bool given;
    struct http_session *session = http_session_find(reply->client, reply->request, &given);
    if (!given) {
        http_reply_refuse(reply, &(struct refusal){405, "Mcp-Session-Id header required", "Allow",
                                                   "POST, GET, DELETE"});
    } else if (!session) {
        http_reply_refuse(
            reply, &(struct refusal){.status = 404, .message = "Unknown or expired session"});
    } else {
        http_session_end(session);
        http_reply_send(reply, 204, NULL, NULL, 0);
    }
}

static void handle_get(struct http_reply *reply)
{
    bool given;
    struct refusal refusal;
    struct http_session *session = http_session_find(reply->client, reply->request, &given);
    if (!given)
        http_reply_refuse(reply, &(struct refusal){405, "Mcp-Session-Id header required", "Allow",
                                                   "POST, GET, DELETE"});
    else if (!session)
        http_reply_refuse(
            reply, &(struct refusal){.status = 404, .message = "Unknown or expired session"});
    else if (!access_check_content(reply->request, &refusal))
        http_reply_refuse(reply, &refusal);
    else
        http_session_handle_get(session, reply,
                                http_request_field(reply->request, "Last-Event-ID", NULL));
}

// Where there are several clients, one that has many connections leaves some to each other one.
static bool is_over_limit(const struct mcp_http *http, const struct http_client *client)
{
    size_t reserve = http->holder_count > 1 ? HTTP_RESERVE : 0;
    if (reserve * http->holder_count > http->max_connections)
        reserve = http->max_connections / http->holder_count;
    size_t shared = http->max_connections - reserve * http->holder_count;
    return http->busy_count > http->max_connections ||
           (client->holder->busy_count > reserve && http->busy_count > shared + reserve);
}

void http_handle_request(struct mcp_http *http, struct http_reply *reply)
{
    const struct http_request *request = reply->request;
    struct refusal refusal;
    if (strcmp(request->path, "/healthz") == 0) {
        bool leaves = http->ending || (http->router && http->router->leaves);
        http_reply_send(reply, leaves ? 503 : 200, "text/plain", &SPAN("ok\n"), 1);
    } else if (strcmp(request->path, "/metrics") == 0) {
        send_metrics(http, reply);
    } else if (http_page_find(http, request->path)) {
        http_page_send(reply, http_page_find(http, request->path));
    } else if (http->ending || is_over_limit(http, reply->client)) {
        const char *reason = http->ending ? "The server is stopping" : "Too many connections";
        http_reply_refuse(reply, &(struct refusal){503, reason, "Retry-After", "1"});
    } else if (http->router) {
        http->router->route(http->router->data, reply);
    } else if (request->method == HTTP_DELETE) {
        handle_delete(reply);
    } else if (strcmp(request->path, "/events") == 0) {
        http_feed_open(reply);
    } else if (request->method == HTTP_GET) {
        handle_get(reply);
    } else if (!access_check_content(request, &refusal)) {
        http_reply_refuse(reply, &refusal);
    } else {
        post_handle(http, reply);
    }
}

// --- the end -------------------------------------------------------------------------------------

static void finish(struct mcp_http *http)
{
    http->ended = true;
    http->on_end(http->on_end_data);
}

void http_check_end(struct mcp_http *http)
{
    // Left to the timer: ending from within a reply would free objects that the caller still uses.
    if (http->ending && !http->ended)
        event_active(http->sweep_timer, EV_TIMEOUT, 0);
}

static bool has_output(const struct mcp_http *http)
{
    const struct http_connection *connection;
    TAILQ_FOREACH (connection, &http->connections, link)
        if (evbuffer_get_length(bufferevent_get_output(connection->buffer)) > 0)
            return true;
    return false;
}

static void on_sweep_timer(evutil_socket_t fd, short what, void *data)
{
    (void)fd;
    (void)what;
    struct mcp_http *http = data;
    http_connection_sweep(http);
    http_session_sweep(http);
    if (!http->ending || http->ended)
        return;
    bool idle = TAILQ_EMPTY(&http->exchanges) && TAILQ_EMPTY(&http->replies) && !has_output(http);
    int64_t left = http->deadline_ms - clock_now_ms();
    if (left <= 0 && !http->calls_stopped) {
        http->calls_stopped = true;
        http->deadline_ms += MCP_FLUSH_MS;
        for (size_t i = 0; i < http->client_count; i++)
            server_stop_calls(http->clients[i].server);
    } else if (idle || left <= 0) {
        finish(http);
        return;
    }
    event_add(http->sweep_timer, &(struct timeval){.tv_usec = 20000});
}

void http_shutdown(struct transport *transport, unsigned grace_ms)
{
    struct mcp_http *http = ((struct http_client *)transport)->http;
    int64_t deadline = clock_now_ms() + grace_ms;
    if (!http->ending || deadline < http->deadline_ms)
        http->deadline_ms = deadline;
    if (!http->ending) {
        http->ending = true;
        if (http->listener)
            evconnlistener_disable(http->listener);
        struct http_session *session;
        TAILQ_FOREACH (session, &http->sessions, link)
            if (session->get_stream && session->get_stream->reply) {
                struct http_reply *reply = session->get_stream->reply;
                reply->on_gone = NULL;
                session->get_stream->reply = NULL;
                http_reply_end(reply);
            }
        http_feed_close_all(http);
    }
    event_active(http->sweep_timer, EV_TIMEOUT, 0);
}

void mcp_http_free(struct mcp_http *http)
{
    if (!http)
        return;
    http->ending = http->ended = true;
    exchange_cancel_all(http);
    http_feed_close_all(http);
    while (!TAILQ_EMPTY(&http->sessions))
        http_session_free(TAILQ_FIRST(&http->sessions));
    for (size_t i = 0; i < http->client_count; i++)
        server_remove_transport(http->clients[i].server, &http->clients[i].transport);
    http_connection_free_all(http);
    if (http->listener)
        evconnlistener_free(http->listener);
    if (http->sweep_timer)
        event_free(http->sweep_timer);
    for (size_t i = 0; i < SESSIONS_ENDED; i++)
        memory_free(http->ended_sessions[i]);
    memory_free(http->session_label);
    for (char **host = http->allow_hosts; *host; host++)
        memory_free(*host);
    for (char **origin = http->allow_origins; *origin; origin++)
        memory_free(*origin);
    for (size_t i = 0; i < http->client_count; i++) {
        memory_free(http->clients[i].name);
        memory_free(http->clients[i].workspace);
    }
    memory_free(http->clients);
    if (http->socket_path)
        unlink(http->socket_path);
    memory_free(http->socket_path);
    memory_free(http->allow_hosts);
    memory_free(http->allow_origins);
    memory_free(http->address);
    memory_free(http->url);
    memory_free(http);
}

// --- set-up --------------------------------------------------------------------------------------

static bool is_loopback(const char *address)
{
    struct in_addr v4;
    struct in6_addr v6;
    if (inet_pton(AF_INET, address, &v4) == 1)
        return ntohl(v4.s_addr) >> 24 == 127;
    return inet_pton(AF_INET6, address, &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

// A scheme and an authority, as in an Origin header: "https://app.example.com:8443".
static bool is_origin(const char *text)
{
    size_t scheme =
        strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-.");
    return scheme > 0 && strncmp(text + scheme, "://", 3) == 0 && text[scheme + 3] != '\0' &&
           text[scheme + 3 + strcspn(text + scheme + 3, "/?# \t")] == '\0';
}

static bool check_names(const struct mcp_http_options *options, struct error *error)
{
    for (const char *const *host = options->allow_hosts; host && *host; host++)
        if (!access_is_host_name(*host))
            return error_set(error, ERROR_INVALID,
                             "--allow-host takes a name without a port; got '%s'", *host);
    for (const char *const *origin = options->allow_origins; origin && *origin; origin++)
        if (!is_origin(*origin))
            return error_set(error, ERROR_INVALID,
                             "--allow-origin takes SCHEME://HOST[:PORT]; got '%s'", *origin);
    return true;
}

static bool check_clients(const struct mcp_http_options *options, const char *address,
                          struct error *error)
{
    bool is_open = options->client_count == 0;
    for (size_t i = 0; i < options->client_count; i++) {
        const char *token = options->clients[i].token;
        is_open = is_open || !token;
        if (token && strlen(token) < TOKEN_MIN)
            return error_set(error, ERROR_INVALID, "the token must have at least %d characters",
                             TOKEN_MIN);
        for (size_t k = 0; token && k < i; k++)
            if (options->clients[k].token && strcmp(token, options->clients[k].token) == 0)
                return error_set(error, ERROR_INVALID, "two clients have the same token");
    }
    if (is_open && !options->socket_path && !is_loopback(address))
        return error_set(error, ERROR_INVALID,
                         "listening on %s needs a bearer token: use --token-file FILE", address);
    return true;
}

static bool check_options(const struct mcp_http_options *options, const char *address,
                          struct error *error)
{
    struct in6_addr ignored;
    if (!options->socket_path && inet_pton(AF_INET, address, &ignored) != 1 &&
        inet_pton(AF_INET6, address, &ignored) != 1)
        return error_set(error, ERROR_INVALID, "%s is not an IP address", address);
    return check_clients(options, address, error) && check_names(options, error);
}

static char **copy_list(const char *const *list)
{
    size_t count = 0;
    while (list && list[count])
        count++;
    char **copy = memory_alloc_zero((count + 1) * sizeof(*copy));
    for (size_t i = 0; i < count; i++)
        copy[i] = memory_copy_string(list[i]);
    return copy;
}

union address {
    struct sockaddr_in6 v6;
    struct sockaddr_in v4;
    struct sockaddr any;
};

static socklen_t make_address(const char *text, uint16_t port, union address *address)
{
    *address = (union address){.v6 = {0}};
    if (inet_pton(AF_INET, text, &address->v4.sin_addr) == 1) {
        address->v4.sin_family = AF_INET;
        address->v4.sin_port = htons(port);
        return sizeof(address->v4);
    }
    CHECK(inet_pton(AF_INET6, text, &address->v6.sin6_addr) == 1);
    address->v6.sin6_family = AF_INET6;
    address->v6.sin6_port = htons(port);
    return sizeof(address->v6);
}

static bool bind_address(struct mcp_http *http, uint16_t port, struct error *error)
{
    union address address;
    socklen_t size = make_address(http->address, port, &address);
    http->listener =
        evconnlistener_new_bind(http->server->base, http_connection_accept, http,
                                LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC | LEV_OPT_REUSEABLE,
                                HTTP_BACKLOG, &address.any, (int)size);
    if (!http->listener)
        return error_set(error, ERROR_SYSTEM, "cannot listen on %s port %u: %s", http->address,
                         port, strerror(errno));
    evconnlistener_set_error_cb(http->listener, http_connection_accept_failed);
    if (getsockname(evconnlistener_get_fd(http->listener), &address.any, &size) < 0)
        return error_set(error, ERROR_SYSTEM, "getsockname: %s", strerror(errno));
    bool is_v6 = address.any.sa_family == AF_INET6;
    unsigned actual = ntohs(is_v6 ? address.v6.sin6_port : address.v4.sin_port);
    http->url =
        memory_format(is_v6 ? "http://[%s]:%u/mcp" : "http://%s:%u/mcp", http->address, actual);
    return true;
}

static void add_metrics(struct mcp_http *http)
{
    struct mcp_server *server = http->server;
    http->connections_gauge = mcp_server_add_metric(server, MCP_GAUGE, "mcp_http_connections", NULL,
                                                    "Open HTTP connections");
    http->sessions_gauge = mcp_server_add_metric(server, MCP_GAUGE, "mcp_http_sessions", NULL,
                                                 "Sessions of clients that sent initialize");
    http->calls_gauge = mcp_server_add_metric(server, MCP_GAUGE, "mcp_calls_active", NULL,
                                              "Requests being worked on");
    http->refused_counter =
        mcp_server_add_metric(server, MCP_COUNTER, "mcp_http_refused_total", NULL,
                              "HTTP requests refused before their body was read");
}

// Accepted and refused connections together leave half of the descriptors for the work itself.
static size_t default_connections(void)
{
    struct rlimit limit;
    bool is_tight = getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur / 4 < HTTP_CONNECTIONS;
    return is_tight ? (size_t)limit.rlim_cur / 4 : HTTP_CONNECTIONS;
}

static void add_clients(struct mcp_http *http, const struct mcp_http_options *options)
{
    const struct mcp_http_client nobody = {.name = ""};
    size_t count = options->client_count ? options->client_count : 1;
    http->client_limit = count + WORKSPACES;
    http->clients = memory_alloc_zero(http->client_limit * sizeof(*http->clients));
    http->open_workspace = options->open_workspace;
    http->open_data = options->open_data;
    for (size_t i = 0; i < count; i++)
        http_client_add(http, options->client_count ? &options->clients[i] : &nobody, NULL);
    http->holder_count = count;
}

static struct mcp_http *http_new(struct mcp_server *server, const struct mcp_http_options *options,
                                 const char *address)
{
    struct mcp_http *http = memory_alloc_zero(sizeof(*http));
    http->server = server;
    http->address = options->socket_path ? NULL : memory_copy_string(address);
    http->allow_hosts = copy_list(options->allow_hosts);
    http->allow_origins = copy_list(options->allow_origins);
    http->max_connections =
        options->max_connections ? options->max_connections : default_connections();
    http->max_sessions = options->max_sessions ? options->max_sessions : SESSIONS;
    http->session_idle_ms =
        1000 * (int64_t)(options->session_idle_s ? options->session_idle_s : SESSION_IDLE_S);
    add_clients(http, options);
    TAILQ_INIT(&http->connections);
    TAILQ_INIT(&http->replies);
    TAILQ_INIT(&http->exchanges);
    TAILQ_INIT(&http->sessions);
    TAILQ_INIT(&http->feed_readers);
    http->pages = options->pages;
    http->router = options->router;
    return http;
}

static void start_sweep(struct mcp_http *http, mcp_end_fn *on_end, void *data)
{
    http->on_end = on_end;
    http->on_end_data = data;
    http->sweep_timer = event_new(http->server->base, -1, EV_PERSIST, on_sweep_timer, http);
    CHECK(http->sweep_timer);
    event_add(http->sweep_timer, &(struct timeval){.tv_sec = 1});
}

struct mcp_http *http_start_detached(struct mcp_server *server, mcp_end_fn *on_end, void *data)
{
    const struct mcp_http_options none = {0};
    struct mcp_http *http = http_new(server, &none, NULL);
    start_sweep(http, on_end, data);
    add_metrics(http);
    return http;
}

bool mcp_http_start(struct mcp_server *server, const struct mcp_http_options *options,
                    mcp_end_fn *on_end, void *data, struct mcp_http **ret_http, struct error *error)
{
    const char *address = options->address ? options->address : "127.0.0.1";
    if (!check_options(options, address, error))
        return false;
    signal(SIGPIPE, SIG_IGN);
    struct mcp_http *http = http_new(server, options, address);
    start_sweep(http, on_end, data);
    add_metrics(http);
    bool listens = options->socket_path ? http_socket_bind(http, options->socket_path, error)
                                        : bind_address(http, options->port, error);
    if (!listens) {
        mcp_http_free(http);
        return false;
    }
    *ret_http = http;
    return true;
}

bool mcp_http_is_read(const struct mcp_http *http)
{
    return !TAILQ_EMPTY(&http->feed_readers);
}

const char *mcp_http_url(const struct mcp_http *http)
{
    return http->url;
}

// --- the token file ------------------------------------------------------------------------------

static bool parse_token(const char *path, char *text, size_t length, char **ret_token,
                        struct error *error)
{
    while (length > 0 && (text[length - 1] == '\n' || text[length - 1] == '\r'))
        length--;
    for (size_t i = 0; i < length; i++)
        if (text[i] <= ' ' || text[i] > '~')
            return error_set(error, ERROR_INVALID,
                             "%s: the token must be one line of visible ASCII", path);
    if (length < TOKEN_MIN || length > TOKEN_MAX)
        return error_set(error, ERROR_INVALID, "%s: the token must have %d to %d characters", path,
                         TOKEN_MIN, TOKEN_MAX);
    *ret_token = memory_copy_text(text, length);
    return true;
}

bool mcp_token_read(const char *path, char **ret_token, struct error *error)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return error_set(error, ERROR_SYSTEM, "%s: %s", path, strerror(errno));
    char text[TOKEN_MAX + 3];
    struct stat info;
    ssize_t length = fstat(fd, &info) == 0 ? read(fd, text, sizeof(text)) : -1;
    int code = errno;
    close(fd);
    if (length < 0)
        return error_set(error, ERROR_SYSTEM, "%s: %s", path, strerror(code));
    bool ok = S_ISREG(info.st_mode)
                  ? (info.st_mode & 077) == 0 ||
                        error_set(error, ERROR_INVALID,
                                  "%s: others can read the token; use chmod 600", path)
                  : error_set(error, ERROR_INVALID, "%s: not a regular file", path);
    ok = ok && parse_token(path, text, (size_t)length, ret_token, error);
    sodium_memzero(text, sizeof(text));
    return ok;
}
