// conformance-server: the MCP library with the fixtures of the official conformance suite, without
// any tool of Cadre.
//
//   conformance-server --http [HOST:]PORT [--token-file FILE] [--max-connections N]
//   conformance-server --stdio
//   conformance-server --relay CADRE    the same through `cadre serve`, which this process becomes
#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "fixtures.h"
#include "relayed.h"

enum { USAGE = 2, GRACE_MS = 500 };

struct program {
    struct event_base *base;
    struct mcp_server *server;
    struct mcp_stdio *stdio;
    struct mcp_http *http;
};

static void on_end(void *data)
{
    struct program *program = data;
    event_base_loopbreak(program->base);
}

static void on_signal(evutil_socket_t number, short what, void *data)
{
    (void)number;
    (void)what;
    struct program *program = data;
    mcp_server_shutdown(program->server, GRACE_MS);
}

static int start_http(struct program *program, const char *place, const char *token_file,
                      size_t max_connections)
{
    char address[64] = "127.0.0.1";
    const char *colon = strrchr(place, ':');
    if (colon)
        snprintf(address, sizeof(address), "%.*s", (int)(colon - place), place);
    CLEANUP_FREE char *token = NULL;
    struct error error;
    if (token_file && !mcp_token_read(token_file, &token, &error)) {
        fprintf(stderr, "conformance-server: %s\n", error.message);
        return USAGE;
    }
    struct mcp_http_client client = {.name = "", .token = token};
    struct mcp_http_options options = {
        .address = address,
        .port = (uint16_t)atoi(colon ? colon + 1 : place),
        .clients = &client,
        .client_count = 1,
        .max_connections = max_connections,
    };
    if (!mcp_http_start(program->server, &options, on_end, program, &program->http, &error)) {
        fprintf(stderr, "conformance-server: %s\n", error.message);
        return USAGE;
    }
    fprintf(stderr, "listening on %s\n", mcp_http_url(program->http));
    return 0;
}

static int start_relayed(struct program *program, const char *cadre)
{
    int fd = relayed_start(cadre);
    if (fd < 0)
        return EXIT_FAILURE;
    return mcp_stdio_start_socket(program->server, fd, on_end, program, &program->stdio) < 0 ? 1
                                                                                             : 0;
}

static int start_transport(struct program *program, int argc, char **argv)
{
    const char *token_file = NULL;
    size_t max_connections = 0;
    for (int i = 3; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--token-file") == 0)
            token_file = argv[i + 1];
        else if (strcmp(argv[i], "--max-connections") == 0)
            max_connections = (size_t)atoi(argv[i + 1]);
    }
    if (argc >= 3 && strcmp(argv[1], "--http") == 0)
        return start_http(program, argv[2], token_file, max_connections);
    if (argc == 2 && strcmp(argv[1], "--stdio") == 0)
        return mcp_stdio_start(program->server, on_end, program, &program->stdio) < 0 ? 1 : 0;
    if (argc == 3 && strcmp(argv[1], "--relay") == 0)
        return start_relayed(program, argv[2]);
    fprintf(stderr,
            "usage: conformance-server --stdio | --relay CADRE | --http [HOST:]PORT [OPTION...]\n");
    return USAGE;
}

int main(int argc, char **argv)
{
    const struct mcp_server_info info = {
        .name = "cadre-conformance",
        .title = "Conformance fixtures",
        .version = "1.0.0",
        .instructions = "Fixtures for the conformance suite.",
        .tools_change = true,
        .resources_change = true,
        .prompts_change = true,
        .subscribe = true,
        .logging = true,
        .tasks = true,
    };
    struct program program = {.base = event_base_new()};
    program.server = mcp_server_new(program.base, &info);
    delay_init(program.base);
    fixtures_add_content(program.server);
    fixtures_add_questions(program.server);
    fixtures_add_tasks(program.server);
    fixtures_add_resources(program.server);

    struct event *term = evsignal_new(program.base, SIGTERM, on_signal, &program);
    struct event *interrupt = evsignal_new(program.base, SIGINT, on_signal, &program);
    event_add(term, NULL);
    event_add(interrupt, NULL);
    int status = start_transport(&program, argc, argv);
    if (status == 0)
        event_base_dispatch(program.base);
    event_free(term);
    event_free(interrupt);
    mcp_stdio_free(program.stdio);
    mcp_http_free(program.http);
    delay_release();
    mcp_server_free(program.server);
    event_base_free(program.base);
    libevent_global_shutdown();
    return status;
}
