// `cadre serve`: the MCP server on standard input/output, or on HTTP. On standard input/output it is
// a relay to the daemon, which has the sessions; --private and HTTP serve by themselves.
#include <errno.h>
#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/log.h"
#include "base/memory.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/sandbox_options.h"
#include "cli/table/option_reader.h"
#include "cli/tenant.h"
#include "cli/tokens.h"
#include "daemon/greeting.h"
#include "daemon/relay.h"
#include "process/loop.h"
#include "session/workspace/workspace.h"

enum {
    NAMES_MAX = 16,
    TENANTS_MAX = TOKENS_MAX + 1 + 64,  // with those of other workspaces
    SHUTDOWN_GRACE_MS = 500,
};

struct serve_options {
    const char *http;  // [HOST:]PORT or unix:PATH, or NULL for standard input/output
    struct token_options tokens;
    const char *allow_hosts[NAMES_MAX + 1];
    const char *allow_origins[NAMES_MAX + 1];
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
    const struct serve_options *options;
    struct event_base *base;
    struct program_pool *programs;
    struct toolbox *toolbox;
    struct tenant tenants[TENANTS_MAX];  // the user first, then those of the tokens
    size_t tenant_count;
    struct tokens tokens;  // of the tenants, with --http
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
    fprintf(stderr, "cadre serve: an option is given more than %d times\n", NAMES_MAX);
    return false;
}

static bool add_token(struct token_options *tokens, const char *argument)
{
    if (tokens->named_count == TOKENS_MAX) {
        fprintf(stderr, "cadre serve: at most %d times --token\n", TOKENS_MAX);
        return false;
    }
    tokens->named[tokens->named_count++] = argument;
    return true;
}

static bool add_limit(const char **limits, size_t *count, size_t most,
                      const struct option_reader *reader)
{
    if (*count == most) {
        fprintf(stderr, "cadre serve: at most %zu times --%s\n", most, reader->row->name);
        return false;
    }
    limits[(*count)++] = reader->argument;
    return true;
}

static bool parse_option(struct serve_options *options, const struct option_reader *reader)
{
    const char *argument = reader->argument;
    enum log_level level;
    enum sandbox_option taken =
        sandbox_option_take(&options->sandbox, &options->sessions.sandbox, reader);
    if (taken != SANDBOX_OPTION_OTHER)
        return taken == SANDBOX_OPTION_TAKEN;
    switch (reader->row->id) {
    case OPTION_HTTP: options->http = argument; return true;
    case OPTION_PRIVATE: options->is_private = true; return true;
    case OPTION_TOKEN_FILE: options->tokens.file = argument; return true;
    case OPTION_TOKEN: return add_token(&options->tokens, argument);
    case OPTION_TOKEN_WORKSPACE:
        return add_limit(options->tokens.workspaces, &options->tokens.workspace_count,
                         COUNT_OF(options->tokens.workspaces), reader);
    case OPTION_TOKEN_SANDBOX:
        return add_limit(options->tokens.sandboxes, &options->tokens.sandbox_count,
                         COUNT_OF(options->tokens.sandboxes), reader);
    case OPTION_NO_TOKEN: options->tokens.none = true; return true;
    case OPTION_ALLOW_HOST: return add_name(options->allow_hosts, argument);
    case OPTION_ALLOW_ORIGIN: return add_name(options->allow_origins, argument);
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

// What is configured for HTTP may stay unused; what is given is meant.
static bool has_http_options(const struct option_reader *reader)
{
    return reader->given[OPTION_TOKEN_FILE] || reader->given[OPTION_TOKEN] ||
           reader->given[OPTION_TOKEN_WORKSPACE] || reader->given[OPTION_TOKEN_SANDBOX] ||
           reader->given[OPTION_NO_TOKEN] || reader->given[OPTION_ALLOW_HOST] ||
           reader->given[OPTION_ALLOW_ORIGIN];
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
    if (!options->http && has_http_options(&reader)) {
        fprintf(stderr, "cadre serve: --token-file, --token, --token-workspace, --token-sandbox, "
                        "--no-token, --allow-host and "
                        "--allow-origin need --http\n");
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
    for (size_t i = 0; i < server->tenant_count; i++)
        mcp_server_shutdown(server->tenants[i].service.mcp, SHUTDOWN_GRACE_MS);
}

static const char *socket_path(const struct serve_options *options)
{
    bool is_socket = options->http && strncmp(options->http, "unix:", 5) == 0;
    return is_socket ? options->http + 5 : NULL;
}

// The one time that a token is shown is when it is made.
static void announce(const struct server *server)
{
    const struct token *own = &server->tokens.list[0];
    const char *url = mcp_http_url(server->http);
    bool is_socket = strncmp(url, "unix:", 5) == 0;
    if (!own->text && !is_socket)
        fprintf(stderr, "cadre serve: without a token every user of this machine can run code as "
                        "you (--no-token)\n");
    if (own->is_new)
        fprintf(stderr, "listening on %s?token=%s\n", url, own->text);
    else if (own->path)
        fprintf(stderr, "listening on %s (token in %s)\n", url, own->path);
    else
        fprintf(stderr, "listening on %s\n", url);
}

static bool open_workspace(void *data, const char *name, const char *workspace,
                           struct mcp_http_client *ret_client, struct error *error);

static int start_http(struct server *server, const struct serve_options *options)
{
    char host[256];
    struct mcp_http_client clients[TOKENS_MAX + 1];
    struct mcp_http_options http = {.allow_hosts = options->allow_hosts,
                                    .allow_origins = options->allow_origins,
                                    .address = host,
                                    .socket_path = socket_path(options),
                                    .clients = clients,
                                    .client_count = server->tenant_count,
                                    .open_workspace = open_workspace,
                                    .pages = inspector_pages,
                                    .open_data = server};
    struct error error;
    if (!http.socket_path &&
        !option_address("--http port", options->http, host, sizeof(host), &http.port))
        return EXIT_USAGE;
    for (size_t i = 0; i < server->tenant_count; i++)
        clients[i] = (struct mcp_http_client){.name = server->tenants[i].name,
                                              .token = server->tokens.list[i].text,
                                              .server = server->tenants[i].service.mcp,
                                              .workspace = server->tenants[i].workspace};
    if (!mcp_http_start(server->tenants[0].service.mcp, &http, on_transport_end, server,
                        &server->http, &error)) {
        fprintf(stderr, "cadre serve: %s\n", error.message);
        return EXIT_USAGE;
    }
    announce(server);
    return 0;
}

static int start_transport(struct server *server, const struct serve_options *options)
{
    if (options->http)
        return start_http(server, options);
    int failed =
        mcp_stdio_start(server->tenants[0].service.mcp, on_transport_end, server, &server->stdio);
    if (failed < 0)
        fprintf(stderr, "cadre serve: cannot use standard input/output: %s\n", strerror(-failed));
    return failed < 0 ? EXIT_FAILURE : 0;
}

// --- the server ----------------------------------------------------------------------------------

static int open_tenant(struct server *server, const struct tenant_identity *identity,
                       struct error *error)
{
    const struct serve_options *options = server->options;
    const struct tenant_setup setup = {
        .base = server->base,
        .programs = server->programs,
        .toolbox = server->toolbox,
        .sessions = &options->sessions,
        .selection = options->selection,
        .auto_context = options->auto_context,
        .context_db = options->context_db,
        .structured_results = options->structured_results,
        .yield = options->yield,
        .has_inspector = options->http != NULL,
    };
    return tenant_open(&server->tenants[server->tenant_count++], &setup, identity, error);
}

static int open_tenants(struct server *server, bool has_tokens)
{
    struct error error;
    struct tenant_identity user = {.name = "", .sandbox = SANDBOX_OFF};
    int status = 0;
    if (!has_tokens)
        status = open_tenant(server, &user, &error);
    for (size_t i = 0; status == 0 && has_tokens && i < server->tokens.count; i++) {
        const struct token *token = &server->tokens.list[i];
        struct tenant_identity identity = {.name = token->name,
                                           .workspace =
                                               token->workspace_count ? token->workspaces[0] : NULL,
                                           .sandbox = token->sandbox};
        status = open_tenant(server, &identity, &error);
    }
    if (status)
        fprintf(stderr, "cadre serve: %s\n", error.message);
    return status;
}

static bool read_servers(struct server *server, const struct serve_options *options)
{
    struct error error;
    struct toolbox_place place = {.workspace = options->sessions.sandbox.workspace};
    if (toolbox_add_servers(server->toolbox, options->servers, options->imports, &place, &error))
        return true;
    fprintf(stderr, "cadre serve: --mcp-config: %s\n", error.message);
    return false;
}

static bool open_workspace(void *data, const char *name, const char *workspace,
                           struct mcp_http_client *ret_client, struct error *error)
{
    struct server *server = data;
    const struct token *token = tokens_find(&server->tokens, name);
    if (!token || server->tenant_count == TENANTS_MAX || !token_allows(token, workspace) ||
        workspace_is_forbidden(workspace))
        return false;
    struct tenant *tenant = &server->tenants[server->tenant_count];
    struct tenant_identity identity = {
        .name = name, .workspace = workspace, .is_other = true, .sandbox = token->sandbox};
    if (open_tenant(server, &identity, error)) {
        log_warning("%s: %s", workspace, error->message);
        tenant_release(tenant);
        server->tenant_count--;
        return false;
    }
    *ret_client = (struct mcp_http_client){.name = tenant->name,
                                           .token = token->text,
                                           .server = tenant->service.mcp,
                                           .workspace = tenant->workspace};
    return true;
}

static int build_server(struct server *server, const struct serve_options *options)
{
    struct error error;
    server->options = options;
    if (options->http &&
        !tokens_read(&options->tokens, socket_path(options), &server->tokens, &error)) {
        fprintf(stderr, "cadre serve: %s\n", error.message);
        return EXIT_USAGE;
    }
    server->base = loop_new_base();
    if (!server->base) {
        fprintf(stderr, "cadre serve: cannot start: %s\n", strerror(ENOMEM));
        return EXIT_FAILURE;
    }
    if (!options->program_tools) {
        server->toolbox = toolbox_new();
    } else if (!toolbox_load(options->program_tools, &server->toolbox, &error)) {
        fprintf(stderr, "cadre serve: --program-tools: %s\n", error.message);
        return EXIT_USAGE;
    }
    if (!read_servers(server, options))
        return EXIT_USAGE;
    server->programs = program_pool_new(server->base, "/proc/self/exe");
    toolbox_open_servers(server->toolbox, program_pool_reaper(server->programs),
                         options->sessions.sandbox.workspace);
    return open_tenants(server, options->http);
}

static void release_server(struct server *server)
{
    mcp_http_free(server->http);
    mcp_stdio_free(server->stdio);
    if (server->toolbox)
        toolbox_close_servers(server->toolbox);
    program_pool_free(server->programs);
    for (size_t i = 0; i < server->tenant_count; i++)
        tenant_release(&server->tenants[i]);
    tokens_release(&server->tokens);
    toolbox_free(server->toolbox);
    if (server->base)
        event_base_free(server->base);
    libevent_global_shutdown();
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
        event_base_dispatch(server->base);
    event_free(terminate);
    event_free(interrupt);
    return status;
}

// --- through the daemon ----------------------------------------------------------------------------

static int serve_by_relay(const struct serve_options *options)
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
    return relay_run("/proc/self/exe", &settings);
}

static int serve_here(const struct serve_options *options)
{
    signal(SIGPIPE, SIG_IGN);
    struct server server = {0};
    int status = build_server(&server, options);
    if (status == 0)
        status = serve_until_end(&server, options);
    release_server(&server);
    return status;
}

int command_serve(int argc, char **argv)
{
    struct serve_options options;
    int status = parse_options(argc, argv, &options);
    if (status)
        return status - 1;
    return options.is_private || options.http ? serve_here(&options) : serve_by_relay(&options);
}
