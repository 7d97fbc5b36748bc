// `cadre serve`: the MCP server on standard input/output, or on HTTP.
#include <errno.h>
#include <event2/event.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/session_loop.h"
#include "config.h"
#include "mcp/mcp.h"
#include "program_host/program_pool.h"
#include "session/session.h"
#include "tools/tools.h"

enum {
    NAMES_MAX = 16,
    SHUTDOWN_GRACE_MS = 500,
};

static const char help[] =
    "usage: cadre serve [OPTION...]\n"
    "\n"
    "Serves MCP to the client on standard input/output, or to many clients on HTTP.\n"
    "\n"
    "  --http [HOST:]PORT     serve HTTP (endpoint /mcp); HOST is 127.0.0.1 by default\n"
    "  --token-file FILE      bearer token (or CADRE_TOKEN); required unless HOST is loopback\n"
    "  --allow-host NAME      also accept this Host (repeatable)\n"
    "  --allow-origin ORIGIN  also accept this Origin (repeatable)\n"
    "  --tools SET            full (default), core, or names separated by commas\n"
    "  --context-db FILE      store of context items (default in the XDG state directory)\n"
    "  --auto-context MODE    keep evaluations as context items: off, errors, history, all\n"
    "  --program-tools FILE   tools that programs may call (JSON)\n"
    "  --timeout SECONDS      time limit of one evaluation, 0 = none (default 30)\n"
    "  --max-memory MB        stop an evaluation at this much live data (default 1024, at\n"
    "                         most 45 % of the heap)\n"
    "  --heap MB              Lisp heap of a session (default 2560)\n"
    "  --snapshots N          snapshots kept per session (default 16)\n"
    "  --log-level LEVEL      error, warning (default), info, debug; on standard error\n"
    "  --help                 this text\n";

struct serve_options {
    const char *http;  // [HOST:]PORT, or NULL for standard input/output
    const char *token_file;
    const char *allow_hosts[NAMES_MAX + 1];
    const char *allow_origins[NAMES_MAX + 1];
    const char *selection;
    const char *context_db;
    const char *program_tools;
    const char *auto_context;
    struct session_config sessions;
    bool has_max_memory;
};

struct server {
    struct event_base *base;
    struct mcp_server *mcp;
    struct session_manager *sessions;
    struct context_store *contexts;
    struct program_pool *programs;
    struct toolbox *toolbox;
    struct tools tools;
    struct mcp_stdio *stdio;
    struct mcp_http *http;
};

// --- options -------------------------------------------------------------------------------------

static bool add_name(const char **names, const char *name)
{
    for (size_t i = 0; i < NAMES_MAX; i++)
        if (!names[i]) {
            names[i] = name;
            return true;
        }
    fprintf(stderr, "cadre serve: at most %d hosts and %d origins\n", NAMES_MAX, NAMES_MAX);
    return false;
}

enum {
    OPTION_HTTP = 256,
    OPTION_TOKEN_FILE,
    OPTION_ALLOW_HOST,
    OPTION_ALLOW_ORIGIN,
    OPTION_TOOLS,
    OPTION_CONTEXT_DB,
    OPTION_AUTO_CONTEXT,
    OPTION_PROGRAM_TOOLS,
    OPTION_TIMEOUT,
    OPTION_MAX_MEMORY,
    OPTION_HEAP,
    OPTION_SNAPSHOTS,
    OPTION_LOG_LEVEL,
    OPTION_HELP,
};

static const struct option long_options[] = {
    {"http", required_argument, NULL, OPTION_HTTP},
    {"token-file", required_argument, NULL, OPTION_TOKEN_FILE},
    {"allow-host", required_argument, NULL, OPTION_ALLOW_HOST},
    {"allow-origin", required_argument, NULL, OPTION_ALLOW_ORIGIN},
    {"tools", required_argument, NULL, OPTION_TOOLS},
    {"context-db", required_argument, NULL, OPTION_CONTEXT_DB},
    {"auto-context", required_argument, NULL, OPTION_AUTO_CONTEXT},
    {"program-tools", required_argument, NULL, OPTION_PROGRAM_TOOLS},
    {"timeout", required_argument, NULL, OPTION_TIMEOUT},
    {"max-memory", required_argument, NULL, OPTION_MAX_MEMORY},
    {"heap", required_argument, NULL, OPTION_HEAP},
    {"snapshots", required_argument, NULL, OPTION_SNAPSHOTS},
    {"log-level", required_argument, NULL, OPTION_LOG_LEVEL},
    {"help", no_argument, NULL, OPTION_HELP},
    {0},
};

static bool set_log_level(const char *name)
{
    enum log_level level;
    if (!log_parse_level(name, &level)) {
        fprintf(stderr, "cadre serve: --log-level takes error, warning, info or debug; got '%s'\n",
                name);
        return false;
    }
    log_set_level(level);
    return true;
}

static bool parse_option(struct serve_options *options, int option, const char *argument)
{
    int64_t number;
    switch (option) {
    case OPTION_HTTP: options->http = argument; return true;
    case OPTION_TOKEN_FILE: options->token_file = argument; return true;
    case OPTION_ALLOW_HOST: return add_name(options->allow_hosts, argument);
    case OPTION_ALLOW_ORIGIN: return add_name(options->allow_origins, argument);
    case OPTION_TOOLS: options->selection = argument; return true;
    case OPTION_CONTEXT_DB: options->context_db = argument; return true;
    case OPTION_PROGRAM_TOOLS: options->program_tools = argument; return true;
    case OPTION_AUTO_CONTEXT: options->auto_context = argument; return true;
    case OPTION_TIMEOUT:
        return option_integer("--timeout", argument, 0, 86400, &options->sessions.limits.timeout);
    case OPTION_MAX_MEMORY:
        options->has_max_memory = true;
        return option_integer("--max-memory", argument, 64, 1 << 20,
                              &options->sessions.limits.max_memory);
    case OPTION_HEAP:
        if (!option_integer("--heap", argument, 256, 1 << 20, &number))
            return false;
        options->sessions.heap_mb = (unsigned)number;
        return true;
    case OPTION_SNAPSHOTS:
        return option_integer("--snapshots", argument, 1, 256, &options->sessions.limits.snapshots);
    case OPTION_LOG_LEVEL: return set_log_level(argument);
    default: return false;
    }
}

static bool has_http_options(const struct serve_options *options)
{
    return options->token_file || options->allow_hosts[0] || options->allow_origins[0];
}

// 0 = continue, otherwise the exit status + 1.
static int parse_options(int argc, char **argv, struct serve_options *options)
{
    *options = (struct serve_options){.selection = "full"};
    options->sessions.limits = session_limits_default();
    optind = 1;
    for (int option; (option = getopt_long(argc, argv, "", long_options, NULL)) != -1;) {
        if (option == OPTION_HELP) {
            fputs(help, stdout);
            return 1;
        }
        if (option == '?' || !parse_option(options, option, optarg))
            return EXIT_USAGE + 1;
    }
    if (optind < argc) {
        fprintf(stderr, "cadre serve: unexpected argument '%s'\n", argv[optind]);
        return EXIT_USAGE + 1;
    }
    if (!options->http && has_http_options(options)) {
        fprintf(stderr, "cadre serve: --token-file, --allow-host and --allow-origin need --http\n");
        return EXIT_USAGE + 1;
    }
    if (options->sessions.heap_mb && !options->has_max_memory)
        session_limits_fit(&options->sessions.limits, options->sessions.heap_mb);
    return 0;
}

// --- transports ----------------------------------------------------------------------------------

static void on_transport_end(void *data)
{
    struct server *server = data;
    event_base_loopbreak(server->base);
}

static void on_signal(evutil_socket_t number, short events, void *data)
{
    (void)number;
    (void)events;
    struct server *server = data;
    mcp_server_shutdown(server->mcp, SHUTDOWN_GRACE_MS);
}

static int start_http(struct server *server, const struct serve_options *options)
{
    char host[256];
    struct mcp_http_options http = {.allow_hosts = options->allow_hosts,
                                    .allow_origins = options->allow_origins,
                                    .address = host};
    struct error error;
    CLEANUP_FREE char *token = NULL;
    if (!option_address("--http port", options->http, host, sizeof(host), &http.port))
        return EXIT_USAGE;
    if (options->token_file && !mcp_token_read(options->token_file, &token, &error)) {
        fprintf(stderr, "cadre serve: %s\n", error.message);
        return EXIT_USAGE;
    }
    http.token = token ? token : getenv("CADRE_TOKEN");
    if (!mcp_http_start(server->mcp, &http, on_transport_end, server, &server->http, &error)) {
        fprintf(stderr, "cadre serve: %s\n", error.message);
        return EXIT_USAGE;
    }
    fprintf(stderr, "listening on %s\n", mcp_http_url(server->http));
    return 0;
}

static int start_transport(struct server *server, const struct serve_options *options)
{
    if (options->http)
        return start_http(server, options);
    int failed = mcp_stdio_start(server->mcp, on_transport_end, server, &server->stdio);
    if (failed < 0)
        fprintf(stderr, "cadre serve: cannot use standard input/output: %s\n", strerror(-failed));
    return failed < 0 ? EXIT_FAILURE : 0;
}

// --- the server ----------------------------------------------------------------------------------

static int start_sessions(struct server *server, const struct serve_options *options)
{
    server->base = session_loop_new_base();
    int failed = server->base
                     ? session_manager_new(server->base, &options->sessions, &server->sessions)
                     : -ENOMEM;
    if (failed < 0) {
        fprintf(stderr, "cadre serve: cannot start: %s\n", strerror(-failed));
        return EXIT_FAILURE;
    }
    struct error error;
    if (session_limits_check(&options->sessions.limits, session_heap_mb(server->sessions), &error))
        return 0;
    fprintf(stderr, "cadre serve: %s\n", error.message);
    return EXIT_USAGE;
}

static int build_server(struct server *server, const struct serve_options *options)
{
    struct mcp_server_info info = {
        .name = "cadre",
        .title = "Cadre",
        .version = CADRE_VERSION,
        .instructions = tools_instructions,
        .subscribe = true,
        .tasks = true,
    };
    struct error error;
    int status = start_sessions(server, options);
    if (status)
        return status;
    if (!options->program_tools) {
        server->toolbox = toolbox_new();
    } else if (!toolbox_load(options->program_tools, &server->toolbox, &error)) {
        fprintf(stderr, "cadre serve: --program-tools: %s\n", error.message);
        return EXIT_USAGE;
    }
    server->programs = program_pool_new(server->base, "/proc/self/exe");
    server->mcp = mcp_server_new(server->base, &info);
    server->contexts = context_store_new(options->context_db);
    server->tools = (struct tools){
        .base = server->base,
        .server = server->mcp,
        .sessions = server->sessions,
        .contexts = server->contexts,
        .programs = server->programs,
        .toolbox = server->toolbox,
        .selection = options->selection,
        .auto_context = options->auto_context,
    };
    if (!tools_register(&server->tools, &error)) {
        fprintf(stderr, "cadre serve: %s\n", error.message);
        return EXIT_USAGE;
    }
    return 0;
}

static void release_server(struct server *server)
{
    mcp_http_free(server->http);
    mcp_stdio_free(server->stdio);
    program_pool_free(server->programs);
    session_manager_free(server->sessions);
    tools_release(&server->tools);
    mcp_server_free(server->mcp);
    context_store_free(server->contexts);
    toolbox_free(server->toolbox);
    if (server->base)
        event_base_free(server->base);
    libevent_global_shutdown();
}

static void run_loop(const struct server *server)
{
    int flags;
    do {
        bool poll =
            session_should_busy_poll(server->sessions, mcp_server_active_calls(server->mcp));
        flags = poll ? EVLOOP_NONBLOCK : EVLOOP_ONCE;
    } while (event_base_loop(server->base, flags) == 0 && !event_base_got_break(server->base));
}

// Install handlers before printing the address: a parent may signal as soon as it reads it.
static int serve_until_end(struct server *server, const struct serve_options *options)
{
    struct event *terminate = evsignal_new(server->base, SIGTERM, on_signal, server);
    struct event *interrupt = evsignal_new(server->base, SIGINT, on_signal, server);
    event_add(terminate, NULL);
    event_add(interrupt, NULL);
    int status = start_transport(server, options);
    if (status == 0)
        run_loop(server);
    event_free(terminate);
    event_free(interrupt);
    return status;
}

int command_serve(int argc, char **argv)
{
    struct serve_options options;
    int status = parse_options(argc, argv, &options);
    if (status)
        return status - 1;
    signal(SIGPIPE, SIG_IGN);
    struct server server = {0};
    status = build_server(&server, &options);
    if (status == 0)
        status = serve_until_end(&server, &options);
    release_server(&server);
    return status;
}
