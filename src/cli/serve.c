// `cadre serve`: the MCP server on standard input/output, or on HTTP. The daemon has the sessions: on
// standard input/output this is a relay to it, on HTTP the listener is the daemon's. --private serves
// by itself.
#include <errno.h>
#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "cli/commands.h"
#include "cli/http_options.h"
#include "cli/sandbox_options.h"
#include "cli/table/option_reader.h"
#include "daemon/http/http_service.h"
#include "daemon/http/listener_client.h"
#include "daemon/relay.h"
#include "process/loop.h"
#include "process/reaper.h"

enum {
    NAMES_MAX = 16,
    SHUTDOWN_GRACE_MS = 500,
};

struct serve_options {
    struct http_options http;  // without an address: standard input/output
    const char *selection;
    bool structured_results;
    const char *context_db;
    const char *program_tools;
    const char *servers[NAMES_MAX + 1];  // files of MCP servers
    const char *imports[NAMES_MAX + 1];  // clients whose MCP servers are taken
    const char *auto_context;
    int64_t yield;
    struct session_config sessions;
    struct sandbox_options sandbox;
    bool has_max_memory;
    bool is_private;  // no daemon
};

struct server {
    struct event_base *base;
    struct reaper *reaper;
    struct program_pool *programs;
    struct tenants tenants;  // on standard input/output
    struct mcp_stdio *stdio;
    struct listening listening;
    struct http_service *http;
};

// --- options -------------------------------------------------------------------------------------

static bool add_name(const char **names, const char *name)
{
    for (size_t i = 0; i < NAMES_MAX; i++)
        if (!names[i]) {
            names[i] = name;
            return true;
        }
    fprintf(stderr, "cadre serve: an option is given more than %d times\n", NAMES_MAX);
    return false;
}

static bool parse_option(struct serve_options *options, const struct option_reader *reader)
{
    const char *argument = reader->argument;
    enum log_level level;
    enum sandbox_option taken =
        sandbox_option_take(&options->sandbox, &options->sessions.sandbox, reader);
    if (taken != SANDBOX_OPTION_OTHER)
        return taken == SANDBOX_OPTION_TAKEN;
    enum http_option http = http_option_take(&options->http, reader);
    if (http != HTTP_OPTION_OTHER)
        return http == HTTP_OPTION_TAKEN;
    switch (reader->row->id) {
    case OPTION_PRIVATE: options->is_private = true; return true;
    case OPTION_TOOLS: options->selection = argument; return true;
    case OPTION_RESULTS:
        options->structured_results = strcmp(argument, "structured") == 0;
        return true;
    case OPTION_CONTEXT_DB: options->context_db = argument; return true;
    case OPTION_PROGRAM_TOOLS: options->program_tools = argument; return true;
    case OPTION_MCP_CONFIG: return add_name(options->servers, argument);
    case OPTION_IMPORT: return add_name(options->imports, argument);
    case OPTION_AUTO_CONTEXT: options->auto_context = argument; return true;
    case OPTION_YIELD: options->yield = reader->number; return true;
    case OPTION_TIMEOUT: options->sessions.limits.timeout = reader->number; return true;
    case OPTION_MAX_MEMORY:
        options->has_max_memory = true;
        options->sessions.limits.max_memory = reader->number;
        return true;
    case OPTION_HEAP: options->sessions.heap_mb = (unsigned)reader->number; return true;
    case OPTION_MAX_SESSIONS:
        options->sessions.max_sessions = (unsigned)reader->number;
        return true;
    case OPTION_SBCL: options->sessions.sbcl = argument; return true;
    case OPTION_SNAPSHOTS: options->sessions.limits.snapshots = reader->number; return true;
    case OPTION_LOG_LEVEL:
        if (log_parse_level(argument, &level))
            log_set_level(level);
        return true;
    default: return false;
    }
}

// 0 = continue, otherwise the exit status + 1.
static int parse_options(int argc, char **argv, struct serve_options *options)
{
    *options = (struct serve_options){.selection = "default", .yield = 20};
    options->sessions.limits = session_limits_default();
    struct option_reader reader;
    option_reader_init(&reader, COMMAND_SERVE, argc, argv);
    int option;
    while ((option = option_reader_next(&reader)) > 0)
        if (!parse_option(options, &reader))
            return option_reader_refuse(&reader) + 1;
    if (option != OPTIONS_END)
        return option_reader_status(option) + 1;
    if (reader.word_count > 0) {
        fprintf(stderr, "cadre serve: unexpected argument '%s'\n", reader.words[0]);
        return EXIT_USAGE + 1;
    }
    if (http_options_lack_address(&options->http, &reader))
        return EXIT_USAGE + 1;
    if (options->sessions.heap_mb && !options->has_max_memory)
        session_limits_fit(&options->sessions.limits, options->sessions.heap_mb);
    return 0;
}

static struct settings settings_of(const struct serve_options *options)
{
    struct settings settings = {
        .selection = options->selection,
        .structured_results = options->structured_results,
        .yield = options->yield,
        .auto_context = options->auto_context,
        .context_db = options->context_db,
        .program_tools = options->program_tools,
        .sessions = options->sessions,
    };
    memcpy(settings.servers, options->servers, sizeof(options->servers));
    memcpy(settings.imports, options->imports, sizeof(options->imports));
    return settings;
}

// --- by itself -----------------------------------------------------------------------------------

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
    if (server->http)
        http_service_shutdown(server->http, SHUTDOWN_GRACE_MS);
    else
        mcp_server_shutdown(server->tenants.list[0].service.mcp, SHUTDOWN_GRACE_MS);
}

static int start_http(struct server *server, const struct serve_options *options,
                      const struct tenant_setup *setup)
{
    struct error error;
    int status = http_options_read(&options->http, "serve", &server->listening);
    if (status)
        return status;
    status = http_service_open(setup, &server->listening, on_transport_end, server, &server->http,
                               &error);
    if (status)
        fprintf(stderr, "cadre serve: %s\n", error.message);
    else
        http_options_announce(&server->listening, http_service_url(server->http), "serve");
    return status;
}

static int start_stdio(struct server *server, const struct tenant_setup *setup)
{
    struct error error;
    int status = tenants_open(&server->tenants, setup, NULL, &error);
    if (status) {
        fprintf(stderr, "cadre serve: %s\n", error.message);
        return status;
    }
    int failed = mcp_stdio_start(server->tenants.list[0].service.mcp, on_transport_end, server,
                                 &server->stdio);
    if (failed < 0)
        fprintf(stderr, "cadre serve: cannot use standard input/output: %s\n", strerror(-failed));
    return failed < 0 ? EXIT_FAILURE : 0;
}

static void release_server(struct server *server)
{
    http_service_hang_up(server->http);
    mcp_stdio_free(server->stdio);
    program_pool_free(server->programs);
    http_service_free(server->http);
    listening_release(&server->listening);
    tenants_release(&server->tenants);
    reaper_free(server->reaper);
    event_base_free(server->base);
    libevent_global_shutdown();
}

// Handlers are installed before the address is printed: a parent may signal as soon as it reads it.
static int serve_until_end(struct server *server, const struct serve_options *options,
                           const struct tenant_setup *setup)
{
    struct event *terminate = evsignal_new(server->base, SIGTERM, on_signal, server);
    struct event *interrupt = evsignal_new(server->base, SIGINT, on_signal, server);
    event_add(terminate, NULL);
    event_add(interrupt, NULL);
    int status =
        options->http.address ? start_http(server, options, setup) : start_stdio(server, setup);
    if (status == 0)
        event_base_dispatch(server->base);
    event_free(terminate);
    event_free(interrupt);
    return status;
}

static int serve_here(const struct serve_options *options)
{
    signal(SIGPIPE, SIG_IGN);
    struct server server = {.base = loop_new_base()};
    if (!server.base) {
        fprintf(stderr, "cadre serve: cannot start: %s\n", strerror(ENOMEM));
        return EXIT_FAILURE;
    }
    const struct settings settings = settings_of(options);
    server.reaper = reaper_new(server.base);
    server.programs = program_pool_new(server.reaper, "/proc/self/exe");
    const struct tenant_setup setup = {.base = server.base,
                                       .programs = server.programs,
                                       .settings = &settings,
                                       .has_inspector = options->http.address != NULL};
    int status = serve_until_end(&server, options, &setup);
    release_server(&server);
    return status;
}

// --- through the daemon --------------------------------------------------------------------------

static void announce(const struct listening *listening, const char *url)
{
    http_options_announce(listening, url, "serve");
}

static int serve_by_daemon(const struct serve_options *options)
{
    const struct settings settings = settings_of(options);
    if (!options->http.address)
        return relay_run("/proc/self/exe", &settings);
    struct listening listening;
    int status = http_options_read(&options->http, "serve", &listening);
    if (status == 0)
        status = listener_client_run("/proc/self/exe", &settings, &listening, announce);
    listening_release(&listening);
    return status;
}

int command_serve(int argc, char **argv)
{
    struct serve_options options;
    int status = parse_options(argc, argv, &options);
    if (status)
        return status - 1;
    return options.is_private ? serve_here(&options) : serve_by_daemon(&options);
}
