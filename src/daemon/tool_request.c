#include "daemon/tool_request.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/greeting.h"
#include "daemon/rendezvous.h"
#include "value/text/json.h"

enum { ANSWER_MAX = 64 << 20, CALL_ID = 2, READ_SIZE = 64 << 10 };

static bool send_text(int fd, const struct buffer *text)
{
    for (size_t done = 0; done < text->length;) {
        ssize_t n = send(fd, text->data + done, text->length - done, MSG_NOSIGNAL);
        if (n < 0 && errno != EINTR)
            return false;
        done += n > 0 ? (size_t)n : 0;
    }
    return true;
}

// The next line of the connection in `line`; what follows it stays in `input`.
static bool read_line(int fd, struct buffer *input, struct buffer *line)
{
    buffer_clear(line);
    for (;;) {
        const char *newline = input->length > 0 ? memchr(input->data, '\n', input->length) : NULL;
        if (newline) {
            size_t length = (size_t)(newline - input->data);
            buffer_append(line, input->data, length);
            buffer_consume(input, length + 1);
            return !line->failed;
        }
        if (!buffer_reserve(input, READ_SIZE))
            return false;
        ssize_t n = read(fd, input->data + input->length, READ_SIZE);
        if (n == 0 || (n < 0 && errno != EINTR))
            return false;
        input->length += n > 0 ? (size_t)n : 0;
    }
}

static bool greet(int fd, const char *client, const struct settings *settings, struct buffer *input,
                  struct buffer *line, struct error *error)
{
    CLEANUP_BUFFER struct buffer greeting;
    buffer_init(&greeting, GREETING_MAX);
    if (!greeting_write(&greeting, GREETING_MCP, client, settings, error))
        return false;
    struct region *region = region_new(SIZE_MAX);
    struct error inner;
    value answer;
    bool ok = send_text(fd, &greeting) && read_line(fd, input, line) &&
              json_read(region, buffer_span(line), NULL, &answer, &inner) && value_is_map(answer);
    if (!ok) {
        error_set(error, ERROR_SYSTEM, "the daemon does not answer");
    } else if (!map_get_boolean(answer, "ok")) {
        struct span message = map_get_string(answer, "error");
        ok = error_set(error, ERROR_INVALID, "%.*s", (int)message.length, message.data);
    }
    region_free(region);
    return ok;
}

static void write_call(struct buffer *text, const char *tool, value arguments)
{
    buffer_append_text(
        text,
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"
        "\"2025-11-25\",\"capabilities\":{},\"clientInfo\":{\"name\":\"cadre\",\"version\":\"1\"}}}"
        "\n"
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n");
    buffer_append_format(text,
                         "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\",\"params\":{"
                         "\"name\":\"%s\",\"arguments\":",
                         CALL_ID, tool);
    json_write(text, arguments, 0, NULL);
    buffer_append_text(text, "}}\n");
}

static bool wait_for_result(int fd, struct buffer *input, struct buffer *line,
                            struct region *region, value *ret_result, struct error *error)
{
    struct error inner;
    value message;
    while (read_line(fd, input, line)) {
        if (!json_read(region, buffer_span(line), NULL, &message, &inner) ||
            !value_is_map(message) || map_get_integer(message, "id", 0) != CALL_ID)
            continue;
        *ret_result = map_get(message, "result");
        struct span failure = map_get_string(map_get(message, "error"), "message");
        return value_is_map(*ret_result) ||
               error_set(error, ERROR_INVALID, "%.*s", (int)failure.length, failure.data);
    }
    return error_set(error, ERROR_SYSTEM, "the daemon ended meanwhile");
}

bool tool_request(struct region *region, const char *client, const struct settings *settings,
                  const char *tool, value arguments, value *ret_result, struct error *error)
{
    int fd = rendezvous_connect_or_start("/proc/self/exe", error);
    if (fd < 0)
        return false;
    CLEANUP_BUFFER struct buffer input, line, call;
    buffer_init(&input, ANSWER_MAX);
    buffer_init(&line, ANSWER_MAX);
    buffer_init(&call, ANSWER_MAX);
    write_call(&call, tool, arguments);
    bool ok =
        greet(fd, client, settings, &input, &line, error) &&
        (send_text(fd, &call) || error_set(error, ERROR_SYSTEM, "the daemon does not read")) &&
        wait_for_result(fd, &input, &line, region, ret_result, error);
    close(fd);
    return ok;
}
