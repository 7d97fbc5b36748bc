// `cadre daemon`: the process that owns the sessions of a user, in the foreground; and requests to
// one that runs.
#include "daemon/daemon.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "cli/commands.h"
#include "cli/http_options.h"
#include "cli/table/option_reader.h"
#include "cluster/owners.h"
#include "daemon/daemon_request.h"
#include "session/workspace/workspace.h"

static int print_status(value answer)
{
    struct span version = map_get_string(answer, "version");
    printf("cadre %.*s daemon, process %lld, %lld s, clients: %lld\n", (int)version.length,
           version.data, (long long)map_get_integer(answer, "pid", 0),
           (long long)map_get_integer(answer, "seconds", 0),
           (long long)map_get_integer(answer, "clients", 0));
    value workspaces = map_get(answer, "workspaces");
    for (size_t i = 0; value_is_vector(workspaces) && i < vector_count(workspaces); i++) {
        value workspace = vector_at(workspaces, i);
        struct span path = map_get_string(workspace, "path");
        printf("%.*s: %lld processes\n", (int)path.length, path.data,
               (long long)map_get_integer(workspace, "processes", 0));
    }
    return EXIT_SUCCESS;
}

static int ask(const char *op)
{
    struct region *region = region_new(SIZE_MAX);
    struct error error;
    value answer;
    int status = EXIT_FAILURE;
    bool stops = strcmp(op, "stop") == 0;
    value request = map_put_text(region, map_new(region), "op", value_string_text(region, op));
    enum daemon_answer got = daemon_request(region, request, &answer, &error);
    if (got == DAEMON_ABSENT) {
        puts("no daemon runs");
        status = stops ? EXIT_SUCCESS : EXIT_FAILURE;
    } else if (got == DAEMON_FAILED) {
        fprintf(stderr, "cadre daemon: %s\n", error.message);
    } else if (!stops) {
        status = print_status(answer);
    } else if (daemon_wait_for_end()) {
        status = EXIT_SUCCESS;
    } else {
        fputs("cadre daemon: it has not ended yet\n", stderr);
    }
    region_free(region);
    return status;
}

static unsigned half_of_memory_mb(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGE_SIZE);
    return pages > 0 && size > 0 ? (unsigned)((uint64_t)pages * (uint64_t)size >> 21) : 0;
}

static void announce(const struct listening *listening, const char *url)
{
    http_options_announce(listening, url, "daemon");
}

// Its own listener serves the workspace of the working directory.
static int run_with_listener(const struct daemon_options *given, const struct http_options *http)
{
    struct listening listening;
    struct workspace workspace = {0};
    struct error error;
    int status = http_options_read(http, "daemon", &listening);
    bool ok = status == 0 && workspace_resolve(NULL, NULL, &workspace, &error);
    if (status == 0 && !ok)
        fprintf(stderr, "cadre daemon: %s\n", error.message);
    struct settings settings = {
        .selection = "default",
        .yield = 20,
        .sessions = {.limits = session_limits_default(),
                     .sandbox = {.workspace = workspace.path,
                                 .directory = workspace.path,
                                 .refused = workspace.refused}},
    };
    struct daemon_options options = *given;
    options.listening = &listening;
    options.settings = &settings;
    options.on_listen = announce;
    if (ok)
        status = daemon_run(&options);
    workspace_release(&workspace);
    listening_release(&listening);
    return ok ? status : EXIT_USAGE;
}

static bool take_option(struct daemon_options *options, struct fleet_options *fleet,
                        struct http_options *http, const struct option_reader *reader)
{
    enum log_level level;
    switch (reader->row->id) {
    case OPTION_LINGER: options->linger_s = reader->number; return true;
    case OPTION_HIBERNATE: options->hibernate_s = reader->number; return true;
    case OPTION_MEMORY_BUDGET: options->memory_budget_mb = (unsigned)reader->number; return true;
    case OPTION_QUOTA: options->quota_mb = reader->number; return true;
    case OPTION_NO_JOURNAL: options->no_journal = true; return true;
    case OPTION_CLUSTER: fleet->servers = reader->argument; return true;
    case OPTION_CLUSTER_CREDS: fleet->credentials = reader->argument; return true;
    case OPTION_CLUSTER_CA: fleet->ca = reader->argument; return true;
    case OPTION_CLUSTER_REPLICAS: fleet->replicas = (unsigned)reader->number; return true;
    case OPTION_NODE: fleet->node = reader->argument; return true;
    case OPTION_WORKSPACE: fleet->workspace = reader->argument; return true;
    case OPTION_LOG_LEVEL:
        if (log_parse_level(reader->argument, &level))
            log_set_level(level);
        return true;
    default: return http_option_take(http, reader) == HTTP_OPTION_TAKEN;
    }
}

// Without a name the node has that of its machine, as far as that is one.
static bool check_fleet(struct daemon_options *options, struct fleet_options *fleet,
                        struct http_options *http, char *host, size_t size)
{
    const char *why = NULL;
    if (!fleet->servers && (fleet->credentials || fleet->ca || fleet->node || fleet->workspace))
        why = "--cluster-creds, --cluster-ca, --node and --workspace need --cluster";
    if (!fleet->servers && !why)
        return true;
    if (!fleet->node && gethostname(host, size) == 0) {
        host[strcspn(host, ".")] = '\0';
        fleet->node = host;
    }
    if (!why && !http->address)
        why = "--cluster needs --http: its workspaces are those of clients on HTTP";
    else if (!why && options->no_journal)
        why = "--cluster keeps a journal: it does not go with --no-journal";
    else if (!why && http->tokens.sandbox_count > 0)
        why = "--token-sandbox does not go with --cluster";
    else if (!why && (!fleet->node || !cluster_name_valid(span_from(fleet->node))))
        why = "the name of a node is " CLUSTER_NAME_RULE " (--node)";
    else if (!why && fleet->workspace && !cluster_name_valid(span_from(fleet->workspace)))
        why = "the name of a workspace of a cluster is " CLUSTER_NAME_RULE;
    http->tokens.are_names = true;
    options->fleet = fleet;
    if (why)
        fprintf(stderr, "cadre daemon: %s\n", why);
    return !why;
}

int command_daemon(int argc, char **argv)
{
    struct daemon_options options = {.linger_s = 600,
                                     .hibernate_s = 900,
                                     .memory_budget_mb = half_of_memory_mb(),
                                     .quota_mb = 5000};
    struct fleet_options fleet = {.replicas = 3};
    struct http_options http = {0};
    char host[HOST_NAME_MAX + 1];
    struct option_reader reader;
    option_reader_init(&reader, COMMAND_DAEMON, argc, argv);
    int option;
    while ((option = option_reader_next(&reader)) > 0)
        if (!take_option(&options, &fleet, &http, &reader))
            return option_reader_refuse(&reader);
    if (option != OPTIONS_END)
        return option_reader_status(option);
    if (http_options_lack_address(&http, &reader))
        return EXIT_USAGE;
    if (reader.word_count == 0 && !check_fleet(&options, &fleet, &http, host, sizeof(host)))
        return EXIT_USAGE;
    if (reader.word_count == 0)
        return http.address ? run_with_listener(&options, &http) : daemon_run(&options);
    if (reader.word_count == 1 &&
        (strcmp(reader.words[0], "status") == 0 || strcmp(reader.words[0], "stop") == 0))
        return ask(reader.words[0]);
    fprintf(stderr, "cadre daemon: status or stop, or nothing; got '%s'\n", reader.words[0]);
    return EXIT_USAGE;
}
