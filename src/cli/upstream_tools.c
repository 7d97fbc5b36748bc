// `cadre tools`: shows and tries the tools of the user's MCP servers, as programs would call them.
#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/memory.h"
#include "cli/commands.h"
#include "cli/table/option_reader.h"
#include "process/loop.h"
#include "process/reaper.h"
#include "upstream/upstream.h"
#include "value/text/json.h"

struct tools_command {
    struct event_base *base;
    struct reaper *reaper;
    struct upstream_config config;
    struct upstreams *upstreams;
    bool as_json;
    size_t waiting;
    int status;
};

static int usage(const char *message)
{
    fprintf(stderr, "cadre tools: %s; see cadre tools --help\n", message);
    return EXIT_USAGE;
}

// --- list and check ------------------------------------------------------------------------------

static void on_prepared(void *data, const struct upstream_outcome *outcome)
{
    struct tools_command *command = data;
    if (!outcome->ok)
        command->status = EXIT_FAILURE;
    if (--command->waiting == 0)
        event_base_loopbreak(command->base);
}

static void prepare_all(struct tools_command *command)
{
    size_t count = upstreams_count(command->upstreams);
    command->waiting = count + 1;
    for (size_t i = 0; i < count; i++)
        upstream_prepare(upstreams_at(command->upstreams, i), 0, on_prepared, command);
    struct upstream_outcome started = {.ok = true};
    command->status = EXIT_SUCCESS;
    on_prepared(command, &started);
    if (command->waiting > 0)
        event_base_dispatch(command->base);
}

static const char *tool_signature(const struct upstream_tool *tool)
{
    return tool->signature ? tool->signature : "(any arguments)";
}

static void print_server(const struct upstream_server *server)
{
    const struct upstream_catalog *catalog = upstream_catalog(server);
    const char *name = upstream_entry(server)->name;
    if (!upstream_is_ready(server)) {
        printf("%s: %s\n", name, upstream_failure(server) ? upstream_failure(server) : "no answer");
        return;
    }
    printf("%s: %zu tools, protocol %s", name, catalog->count, upstream_version(server));
    if (catalog->refused)
        printf(", %zu left out", catalog->refused);
    printf(" (%s)\n", upstream_entry(server)->source);
}

static void print_tools(const struct upstream_server *server)
{
    enum { SHOWN = 100 };  // bytes of a description that fit on a line
    const struct upstream_catalog *catalog = upstream_catalog(server);
    for (size_t i = 0; i < catalog->count; i++) {
        const struct upstream_tool *tool = &catalog->tools[i];
        printf("  %s/%s %s\n", upstream_entry(server)->name, tool->program_name,
               tool_signature(tool));
        if (*tool->description)
            printf("      %.*s%s\n", SHOWN, tool->description,
                   strlen(tool->description) > SHOWN ? "..." : "");
    }
}

static value put_string(struct region *region, value map, const char *name, const char *text)
{
    return map_put_text(region, map, name, text ? value_string_text(region, text) : value_nil());
}

static value describe_tools(struct region *region, const struct upstream_server *server)
{
    const struct upstream_catalog *catalog = upstream_catalog(server);
    value tools = vector_new(region, catalog->count);
    for (size_t i = 0; i < catalog->count; i++) {
        const struct upstream_tool *tool = &catalog->tools[i];
        value map = map_new(region);
        map = map_put_text(region, map, "name", value_string(region, tool->name));
        map = put_string(region, map, "program_name", tool->program_name);
        map = put_string(region, map, "signature", tool->signature);
        map = put_string(region, map, "description", tool->description);
        tools = vector_push(region, tools, map);
    }
    return tools;
}

static void print_json(const struct tools_command *command)
{
    struct region *region = region_new(SIZE_MAX);
    value servers = vector_new(region, upstreams_count(command->upstreams));
    for (size_t i = 0; i < upstreams_count(command->upstreams); i++) {
        const struct upstream_server *server = upstreams_at(command->upstreams, i);
        value map = put_string(region, map_new(region), "server", upstream_entry(server)->name);
        map = put_string(region, map, "source", upstream_entry(server)->source);
        map = put_string(region, map, "protocol", upstream_version(server));
        map = put_string(region, map, "failure", upstream_failure(server));
        map = map_put_text(region, map, "tools", describe_tools(region, server));
        servers = vector_push(region, servers, map);
    }
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, BUFFER_DEFAULT_LIMIT);
    json_write(&text, servers, JSON_PRETTY, NULL);
    puts(buffer_text(&text));
    region_free(region);
}

static int list(struct tools_command *command, bool with_tools)
{
    prepare_all(command);
    if (command->as_json) {
        print_json(command);
        return command->status;
    }
    for (size_t i = 0; i < upstreams_count(command->upstreams); i++) {
        const struct upstream_server *server = upstreams_at(command->upstreams, i);
        print_server(server);
        if (with_tools)
            print_tools(server);
    }
    return command->status;
}

// --- call ----------------------------------------------------------------------------------------

static void on_called(void *data, const struct upstream_outcome *outcome)
{
    struct tools_command *command = data;
    fprintf(outcome->ok ? stdout : stderr, "%s%.*s\n",
            outcome->ok ? "" : "cadre tools: ", (int)outcome->text.length, outcome->text.data);
    command->status = outcome->ok ? EXIT_SUCCESS : EXIT_FAILURE;
    command->waiting = 0;
    event_base_loopbreak(command->base);
}

static bool is_json_object(const char *text)
{
    struct region *region = region_new(SIZE_MAX);
    value v;
    struct error error;
    bool ok = json_read(region, span_from(text), NULL, &v, &error) && value_is_map(v);
    region_free(region);
    return ok;
}

static int call(struct tools_command *command, const char *name, const char *arguments)
{
    const char *slash = strchr(name, '/');
    if (!slash)
        return usage("call takes SERVER/TOOL and the arguments as a JSON object");
    if (!is_json_object(arguments))
        return usage("the arguments must be a JSON object");
    struct span server_name = {name, (size_t)(slash - name)};
    struct upstream_server *server = upstreams_find(command->upstreams, server_name);
    if (!server) {
        fprintf(stderr, "cadre tools: there is no server %.*s\n", (int)server_name.length, name);
        return EXIT_FAILURE;
    }
    command->waiting = 1;
    if (upstream_prepare(server, 0, on_prepared, command))
        event_base_dispatch(command->base);
    const struct upstream_tool *tool =
        upstream_catalog_find(upstream_catalog(server), span_from(slash + 1));
    if (!upstream_is_ready(server) || !tool) {
        fprintf(stderr, "cadre tools: %s\n",
                upstream_failure(server) ? upstream_failure(server) : "there is no such tool");
        return EXIT_FAILURE;
    }
    if (upstream_call(server, tool->name, span_from(arguments), 0, on_called, command))
        event_base_dispatch(command->base);
    return command->status;
}

// --- the command ---------------------------------------------------------------------------------

static int execute(struct tools_command *command, const struct option_reader *reader)
{
    const char *what = reader->words[0];
    if (strcmp(what, "list") == 0 && reader->word_count == 1)
        return list(command, true);
    if (strcmp(what, "check") == 0 && reader->word_count == 1)
        return list(command, false);
    if (strcmp(what, "call") == 0 && reader->word_count >= 2 && reader->word_count <= 3)
        return call(command, reader->words[1], reader->word_count == 3 ? reader->words[2] : "{}");
    return usage("list, check, or call SERVER/TOOL [JSON]");
}

static int run(struct tools_command *command, const struct option_reader *reader)
{
    command->base = loop_new_base();
    if (!command->base || prctl(PR_SET_CHILD_SUBREAPER, 1) < 0) {
        perror("cadre tools");
        return EXIT_FAILURE;
    }
    command->reaper = reaper_new(command->base);
    command->upstreams = upstreams_new(command->reaper, &command->config, NULL);
    int status = execute(command, reader);
    upstreams_free(command->upstreams);
    reaper_free(command->reaper);
    event_base_free(command->base);
    libevent_global_shutdown();
    return status;
}

int command_tools(int argc, char **argv)
{
    struct tools_command command = {0};
    struct option_reader reader;
    struct error error;
    CLEANUP_BUFFER struct buffer report;
    buffer_init(&report, BUFFER_DEFAULT_LIMIT);
    int option, status = EXIT_SUCCESS;
    signal(SIGPIPE, SIG_IGN);
    upstream_config_init(&command.config);
    option_reader_init(&reader, COMMAND_TOOLS, argc, argv);
    while (status == EXIT_SUCCESS && (option = option_reader_next(&reader)) > 0) {
        command.as_json = command.as_json || option == OPTION_JSON;
        if (option == OPTION_IMPORT) {
            upstream_config_import(&command.config, reader.argument, &report);
        } else if (option == OPTION_MCP_CONFIG &&
                   !upstream_config_add_file(&command.config, reader.argument, &error)) {
            fprintf(stderr, "cadre tools: %s\n", error.message);
            status = EXIT_USAGE;
        }
    }
    fputs(buffer_text(&report), stderr);
    if (status == EXIT_SUCCESS && option != OPTIONS_END)
        status = option_reader_status(option) ? option_reader_status(option) : -1;
    else if (status == EXIT_SUCCESS && reader.word_count == 0)
        status = usage("list, check, or call SERVER/TOOL [JSON]");
    else if (status == EXIT_SUCCESS && command.config.count == 0)
        status = usage("no servers; name a file with --mcp-config FILE, or a client with --import");
    if (status == EXIT_SUCCESS)
        status = run(&command, &reader);
    upstream_config_release(&command.config);
    return status < 0 ? EXIT_SUCCESS : status;
}
