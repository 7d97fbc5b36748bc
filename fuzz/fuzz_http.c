// Bytes on a connection to the HTTP transport. The server must survive them and answer a good request
// afterwards.
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/assert.h"
#include "fuzz.h"
#include "mcp/mcp.h"

#define GOOD "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"

enum { TURNS = 40 };

static struct event_base *base;
static uint16_t port;

static void answer(struct mcp_call *call, void *data)
{
    (void)data;
    mcp_call_progress(call, 1, 2, NULL);
    mcp_call_reply(call, SPAN("done"), value_nil(), false);
}

static void on_end(void *data)
{
    (void)data;
}

static void start(void)
{
    base = event_base_new();
    struct mcp_server *server =
        mcp_server_new(base, &(struct mcp_server_info){"fuzz", NULL, "1", NULL, true, true, true,
                                                       true, true, true, false});
    mcp_server_add_tool(
        server,
        &(struct mcp_tool){
            .name = "t",
            .description = "d",
            .handler = answer,
            .flags = MCP_TOOL_PROGRESS_AT_ONCE,
            .input_schema =
                "{\"type\":\"object\",\"properties\":{\"r\":{\"type\":\"string\","
                "\"x-mcp-header\":\"R\"},\"n\":{\"type\":\"integer\",\"x-mcp-header\":\"N\"}},"
                "\"additionalProperties\":false}"});
    struct mcp_http *http;
    struct error error;
    CHECK(mcp_http_start(server, &(struct mcp_http_options){.max_sessions = 4}, on_end, NULL, &http,
                         &error));
    port = (uint16_t)atoi(strrchr(mcp_http_url(http), ':') + 1);
}

static int connect_to_server(void)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(fd >= 0);
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
        CHECK(errno == EINTR);  // libFuzzer's alarm
        close(fd);
        return connect_to_server();
    }
    // A reset instead of a lingering close: no port waits for its end.
    struct linger now = {.l_onoff = 1};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
    fcntl(fd, F_SETFL, O_NONBLOCK);
    return fd;
}

// Sends the bytes and reads what comes, for a number of turns of the loop.
static size_t converse(const char *data, size_t size, char *received, size_t capacity)
{
    int fd = connect_to_server();
    size_t sent = 0, length = 0;
    bool closed = false;
    for (int turn = 0; turn < TURNS && !closed; turn++) {
        if (sent < size) {
            ssize_t n = send(fd, data + sent, size - sent, MSG_NOSIGNAL);
            sent += n > 0 ? (size_t)n : 0;
        }
        event_base_loop(base, EVLOOP_NONBLOCK);
        char rest[4096];
        bool fits = length < capacity;
        ssize_t n =
            recv(fd, fits ? received + length : rest, fits ? capacity - length : sizeof(rest), 0);
        length += fits && n > 0 ? (size_t)n : 0;
        closed = n == 0;
    }
    close(fd);
    event_base_loop(base, EVLOOP_NONBLOCK);
    event_base_loop(base, EVLOOP_NONBLOCK);
    return length;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char received[8192];
    if (!base)
        start();
    converse((const char *)data, size, received, sizeof(received));
    size_t length = converse(GOOD, sizeof(GOOD) - 1, received, sizeof(received));
    CHECK(length > 15 && memcmp(received, "HTTP/1.1 200 OK", 15) == 0);
    return 0;
}
