#include "daemon/session_service.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/memory.h"
#include "daemon/session_wire.h"
#include "inspector/evaluation_detail.h"
#include "value/text/json.h"

enum {
    READ_SIZE = 64 << 10,
    LINE_MAX = 2 * SESSION_REQUEST_MAX,
    // Bytes that wait to be written: above the first output and news are left out, above the second
    // the client is left.
    CONGESTED_MAX = 4 << 20,
    WAITING_MAX = CONGESTED_MAX + 2 * SESSION_MESSAGE_MAX,
};

struct session_service {
    struct connection *connection;
    struct session_observer observer;
    char *session;  // NULL: it has not joined one
    int fd;         // -1: the client has left
    struct event *readable, *writable;
    struct buffer input, output;
    uint64_t ticket;  // of the call that runs; 0: none
    bool wants_input;
    uint64_t omitted;  // bytes of output of the present call that were left out
};

// --- writing -------------------------------------------------------------------------------------

// The client's end shows when it is read from: nothing is freed here.
static void flush(struct session_service *service)
{
    struct buffer *output = &service->output;
    while (service->fd >= 0 && output->length > 0) {
        ssize_t n = send(service->fd, output->data, output->length, MSG_NOSIGNAL);
        if (n > 0) {
            buffer_consume(output, (size_t)n);
        } else if (n < 0 && errno == EAGAIN) {
            event_add(service->writable, NULL);
            return;
        } else if (errno != EINTR) {
            buffer_clear(output);
        }
    }
}

static void on_writable(evutil_socket_t fd, short what, void *data)
{
    (void)fd;
    (void)what;
    flush(data);
}

static void end_line(struct session_service *service)
{
    buffer_append_byte(&service->output, '\n');
    if (service->output.failed) {
        log_warning("a client does not read what it is told, and is left");
        shutdown(service->fd, SHUT_RDWR);
        buffer_clear(&service->output);
    }
    flush(service);
}

static bool is_congested(const struct session_service *service)
{
    return service->fd < 0 || service->output.length > CONGESTED_MAX;
}

// Consumes the region.
static void send_member(struct session_service *service, struct region *region, const char *name,
                        value item)
{
    if (service->fd >= 0) {
        json_write(&service->output, map_put_text(region, map_new(region), name, item), 0, NULL);
        end_line(service);
    }
    region_free(region);
}

// --- a call --------------------------------------------------------------------------------------

static void on_reply(void *data, const struct session_reply *reply)
{
    struct session_service *service = data;
    struct region *region = region_new(SIZE_MAX);
    service->ticket = 0;
    service->wants_input = false;
    value map = session_wire_reply(region, reply);
    if (service->omitted)
        map = map_put_text(region, map, "omitted", value_integer((int64_t)service->omitted));
    send_member(service, region, "reply", map);
}

static void on_output(void *data, enum session_stream stream, struct span text)
{
    struct session_service *service = data;
    if (is_congested(service)) {
        service->omitted += text.length;
        return;
    }
    buffer_append_format(&service->output, "{\"stream\":%d,\"output\":", (int)stream);
    json_write_string(&service->output, text);
    buffer_append_byte(&service->output, '}');
    end_line(service);
}

static void on_input(void *data, uint64_t ticket)
{
    struct session_service *service = data;
    if (service->fd < 0) {
        session_end_input(service->connection->workspace->sessions, ticket);
        return;
    }
    service->wants_input = true;
    buffer_append_text(&service->output, "{\"wants_input\":true}");
    end_line(service);
}

static bool submit(struct session_service *service, struct region *region, value map, bool reads)
{
    const struct connection *connection = service->connection;
    struct session_request request;
    struct error error;
    if (service->ticket || !session_wire_read_request(region, map, &request, &error))
        return false;
    request.session = service->session;
    request.create = true;
    request.client = (struct session_client){.id = connection->id,
                                             .name = connection->name,
                                             .environment = connection->greeting.environment};
    request.reply = on_reply;
    request.output = on_output;
    request.input = reads ? on_input : NULL;
    request.data = service;
    service->omitted = 0;
    service->ticket = session_submit(connection->workspace->sessions, &request);
    return true;
}

// --- questions, which never wait -----------------------------------------------------------------

static value change_limits(struct session_manager *sessions, struct region *region,
                           const char *session, value map)
{
    struct session_limits limits = session_wire_read_limits(map);
    struct error error;
    if (!session_limits_check(&limits, session_heap_mb(sessions), &error))
        return value_string_text(region, error.message);
    if (session_limits_set(sessions, session, &limits) < 0)
        return value_string_text(region, "The session does not exist yet");
    return value_nil();
}

static bool answer(struct session_service *service, struct region *region, value message)
{
    struct session_manager *sessions = service->connection->workspace->sessions;
    struct span question = map_get_string(message, "ask");
    const char *session = service->session;
    value found;
    if (span_equal_text(question, "info"))
        found = session_info(sessions, session, false, region);
    else if (span_equal_text(question, "errors"))
        found = session_errors(sessions, session, region);
    else if (span_equal_text(question, "error"))
        found = session_error(sessions, session, map_get_integer(message, "error", 0), region);
    else if (span_equal_text(question, "limits"))
        found = change_limits(sessions, region, session, map_get(message, "limits"));
    else
        return false;
    struct region *own = region_new(SIZE_MAX);
    send_member(service, own, "answer", value_copy(own, found));
    return true;
}

// --- news ----------------------------------------------------------------------------------------

static const char *news_name(enum session_news_kind kind)
{
    return kind == SESSION_NEWS_STARTED  ? "started"
           : kind == SESSION_NEWS_ENDED  ? "ended"
           : kind == SESSION_NEWS_CLOSED ? "closed"
                                         : NULL;
}

static void on_news(void *data, const struct session_news *news)
{
    struct session_service *service = data;
    const char *name = news_name(news->kind), *own = service->connection->name;
    if (!name || strcmp(news->session, service->session) != 0 || is_congested(service) ||
        (news->client && strcmp(news->client, own) == 0))
        return;
    struct region *region = region_new(SIZE_MAX);
    value map = map_put_text(region, map_new(region), "kind", value_string_text(region, name));
    map = map_put_text(region, map, "evaluation", value_integer(news->evaluation));
    if (news->client)
        map = map_put_text(region, map, "client",
                           value_string_repair(region, span_from(news->client)));
    if (news->op)
        map = map_put_text(region, map, "op", value_string_text(region, news->op));
    if (news->kind == SESSION_NEWS_STARTED) {
        value request = evaluation_request(region, news);
        map = map_put_text(region, map, "code",
                           value_string_repair(region, evaluation_code(request)));
    }
    if (news->reply)
        map = map_put_text(region, map, "reply", session_wire_reply(region, news->reply));
    send_member(service, region, "news", map);
}

// --- reading -------------------------------------------------------------------------------------

static bool join(struct session_service *service, struct span name)
{
    struct session_manager *sessions = service->connection->workspace->sessions;
    if (service->session || !session_name_valid(name))
        return false;
    service->session = memory_copy_text(name.data, name.length);
    service->observer = (struct session_observer){.notice = on_news, .data = service};
    session_observe(sessions, &service->observer);
    return true;
}

static void give_input(struct session_service *service, value message)
{
    struct session_manager *sessions = service->connection->workspace->sessions;
    struct span text = map_get_string(message, "input");
    if (!service->wants_input || text.length > SESSION_INPUT_MAX)
        return;
    service->wants_input = false;
    if (text.length > 0)
        session_give_input(sessions, service->ticket, text);
    else
        session_end_input(sessions, service->ticket);
}

// False: this is no message of the protocol.
static bool handle(struct session_service *service, struct region *region, struct span line)
{
    value message;
    struct error error;
    if (!json_read(region, line, NULL, &message, &error) || !value_is_map(message))
        return false;
    if (!value_is_nil(map_get(message, "join")))
        return join(service, map_get_string(message, "join"));
    if (!service->session)
        return false;
    if (value_is_map(map_get(message, "call")))
        return submit(service, region, map_get(message, "call"), map_get_boolean(message, "reads"));
    if (!value_is_nil(map_get(message, "ask")))
        return answer(service, region, message);
    if (!value_is_nil(map_get(message, "input")))
        give_input(service, message);
    else if (map_get_boolean(message, "interrupt"))
        session_interrupt(service->connection->workspace->sessions, service->ticket);
    else
        return false;
    return true;
}

static bool handle_lines(struct session_service *service)
{
    struct buffer *input = &service->input;
    const char *newline;
    while (input->length > 0 && (newline = memchr(input->data, '\n', input->length))) {
        size_t length = (size_t)(newline - input->data);
        struct region *region = region_new(SIZE_MAX);
        bool ok = handle(service, region, (struct span){input->data, length});
        region_free(region);
        if (!ok)
            return false;
        buffer_consume(input, length + 1);
    }
    return true;
}

static void leave(struct session_service *service)
{
    struct connection *connection = service->connection;
    session_service_hang_up(service);
    connection->client_left = true;
    if (service->wants_input)
        session_end_input(connection->workspace->sessions, service->ticket);
    service->wants_input = false;
    if (session_service_is_idle(service))
        connection_free(connection);
}

static void on_readable(evutil_socket_t fd, short what, void *data)
{
    (void)what;
    struct session_service *service = data;
    struct buffer *input = &service->input;
    ssize_t n = -1;
    errno = 0;
    if (buffer_reserve(input, READ_SIZE))
        n = read(fd, input->data + input->length, READ_SIZE);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n > 0)
        input->length += (size_t)n;
    if (n <= 0 || !handle_lines(service))
        leave(service);
}

// --- life ----------------------------------------------------------------------------------------

struct session_service *session_service_open(struct connection *connection, int fd)
{
    struct session_service *service = memory_alloc_zero(sizeof(*service));
    struct event_base *base = connection->daemon->base;
    service->connection = connection;
    service->fd = fd;
    buffer_init(&service->input, LINE_MAX + READ_SIZE);
    buffer_init(&service->output, WAITING_MAX);
    service->readable = event_new(base, fd, EV_READ | EV_PERSIST, on_readable, service);
    service->writable = event_new(base, fd, EV_WRITE, on_writable, service);
    CHECK(service->readable && service->writable);
    event_add(service->readable, NULL);
    return service;
}

void session_service_hang_up(struct session_service *service)
{
    if (!service || service->fd < 0)
        return;
    session_unobserve(&service->observer);
    event_free(service->readable);
    event_free(service->writable);
    close(service->fd);
    service->fd = -1;
    buffer_clear(&service->output);
}

bool session_service_is_idle(const struct session_service *service)
{
    return service->ticket == 0;
}

void session_service_free(struct session_service *service)
{
    if (!service)
        return;
    session_service_hang_up(service);
    buffer_release(&service->input);
    buffer_release(&service->output);
    memory_free(service->session);
    memory_free(service);
}
