#include "daemon/tool_request.h"

#include <unistd.h>

#include "daemon/daemon_client.h"
#include "daemon/greeting.h"
#include "value/text/json.h"

enum { ANSWER_MAX = 64 << 20, CALL_ID = 2 };

static int connect_as(const char *client, const struct settings *settings, struct error *error)
{
    CLEANUP_BUFFER struct buffer greeting;
    buffer_init(&greeting, GREETING_MAX);
    const struct greeting_parts parts = {
        .kind = GREETING_MCP, .client = client, .settings = settings, .is_brief = true};
    const struct daemon_client daemon = {.program = "/proc/self/exe", .greeting = &greeting};
    if (!greeting_write(&greeting, &parts, error))
        return -1;
    return daemon_client_connect(&daemon, NULL, error);
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
    while (daemon_client_read_line(fd, input, line)) {
        if (!json_read(region, buffer_span(line), NULL, &message, &inner) ||
            !value_is_map(message) || map_get_integer(message, "id", 0) != CALL_ID)
            continue;
        *ret_result = map_get(message, "result");
        struct span failure = map_get_string(map_get(message, "error"), "message");
        return value_is_map(*ret_result) ||
               error_set(error, ERROR_INVALID, "%.*s", (int)failure.length, failure.data);
    }
    return error_set(error, ERROR_SYSTEM,
                     "the daemon ended while this ran. It may have taken effect; `cadre sessions "
                     "show` lists what was evaluated");
}

bool tool_request(struct region *region, const char *client, const struct settings *settings,
                  const char *tool, value arguments, value *ret_result, struct error *error)
{
    int fd = connect_as(client, settings, error);
    if (fd < 0)
        return false;
    CLEANUP_BUFFER struct buffer input, line, call;
    buffer_init(&input, ANSWER_MAX);
    buffer_init(&line, ANSWER_MAX);
    buffer_init(&call, ANSWER_MAX);
    write_call(&call, tool, arguments);
    bool ok = daemon_client_send(fd, buffer_span(&call))
                  ? wait_for_result(fd, &input, &line, region, ret_result, error)
                  : error_set(error, ERROR_SYSTEM, "the daemon ended before it had read this");
    close(fd);
    return ok;
}
