// `cadre setup CLIENT`: writes this server into the configuration of an MCP client.
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/path.h"
#include "cli/commands.h"
#include "cli/file_change.h"
#include "cli/options.h"
#include "cli/setup/clients.h"
#include "cli/setup/jsonc_edit.h"
#include "cli/setup/toml_edit.h"
#include "cli/setup/yaml_edit.h"
#include "cli/table/option_reader.h"
#include "mcp/mcp.h"
#include "value/text/json.h"
#include "value/text/jsonc.h"

static const char server_name[] = "cadre";

struct setup {
    const struct client *client;
    bool print;
    bool remove;
    bool yes;
    const char *http;
    const char *token_file;
    const char *project;
    struct client_server server;
    char program[PATH_MAX];
    char *url;
    char *token;
    struct region *region;
};

static int fail(const char *message)
{
    fprintf(stderr, "cadre setup: %s\n", message);
    return EXIT_FAILURE;
}

static int usage(const char *message)
{
    fprintf(stderr, "cadre setup: %s; see cadre setup --help\n", message);
    return EXIT_USAGE;
}

// --- the new text of the file --------------------------------------------------------------------

static bool change_json(const struct setup *setup, struct span text, value entry,
                        struct buffer *ret_text, struct error *error)
{
    value file;
    const char *outer = setup->client->outer;
    if (!jsonc_read(setup->region, text, &file, error)) {
        struct error cause = *error;
        return error_set(error, ERROR_SYNTAX, "line %u, column %u: %s", cause.line, cause.column,
                         cause.message);
    }
    value servers = map_get(file, outer);
    if (!value_is_map(file) || !(value_is_map(servers) || value_is_nil(servers)))
        return error_set(error, ERROR_INVALID, "%s is not an object", outer);
    if (setup->remove)
        jsonc_remove(text, outer, server_name, ret_text);
    else
        jsonc_set(text, outer, server_name, entry, ret_text);
    // What was written must read as meant, whatever was there.
    value changed;
    if (!jsonc_read(setup->region, buffer_span(ret_text), &changed, error))
        return false;
    value found = map_get(map_get(changed, outer), server_name);
    return (setup->remove ? value_is_nil(found) : value_equal(found, entry)) ||
           error_set(error, ERROR_INVALID, "%s.%s cannot be changed safely; change it by hand",
                     outer, server_name);
}

static bool change_text(const struct setup *setup, struct span text, value entry,
                        struct buffer *ret_text, struct error *error)
{
    const char *outer = setup->client->outer;
    switch (setup->client->format) {
    case CLIENT_TOML:
        return setup->remove ? toml_remove(text, outer, server_name, ret_text, error)
                             : toml_set(text, outer, server_name, entry, ret_text, error);
    case CLIENT_YAML:
        return setup->remove ? yaml_remove(text, outer, server_name, ret_text, error)
                             : yaml_set(text, outer, server_name, entry, ret_text, error);
    default: return change_json(setup, text, entry, ret_text, error);
    }
}

// --- the command ---------------------------------------------------------------------------------

static bool is_confirmed(const struct setup *setup)
{
    if (setup->yes || !isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
        return true;
    printf("\nWrite this? [y/N] ");
    fflush(stdout);
    char answer[16] = "";
    return fgets(answer, sizeof(answer), stdin) && (answer[0] == 'y' || answer[0] == 'Y');
}

static void print_advice(const struct setup *setup, FILE *out)
{
    const struct client *client = setup->client;
    const char *advice =
        setup->project && client->project_advice ? client->project_advice : client->advice;
    if (setup->remove)
        return;
    if (setup->server.is_project && setup->server.token)
        fputs("Put the token into the environment of the client as CADRE_TOKEN.\n", out);
    if (setup->server.url && !setup->server.token)
        fputs("There is no token yet, and the server asks for one: start it (cadre serve --http), "
              "then do this again.\n",
              out);
    if (setup->server.is_project && !setup->server.url && !setup->server.is_cached)
        fputs("The file names the program as cadre: it must be in the PATH of everyone.\n", out);
    if (advice)
        fprintf(out, "%s\n", advice);
}

static int write_change(const struct setup *setup, const char *path, struct span old_text,
                        struct span new_text)
{
    struct error error;
    CLEANUP_FREE char *backup = NULL;
    if (span_equal(old_text, new_text)) {
        printf("%s: nothing to change\n", path);
        print_advice(setup, stdout);
        return EXIT_SUCCESS;
    }
    file_change_print(stdout, path, old_text, new_text);
    if (!is_confirmed(setup))
        return fail("nothing was changed");
    if (!file_change_write(path, new_text, setup->project ? 0644 : 0600, &backup, &error))
        return fail(error.message);
    printf("\nwritten: %s\n", path);
    if (backup)
        printf("backup:  %s\n", backup);
    print_advice(setup, stdout);
    return EXIT_SUCCESS;
}

static int apply(const struct setup *setup, value entry)
{
    struct error error;
    bool exists;
    CLEANUP_FREE char *path = client_path(setup->client, setup->project, &error);
    if (!path)
        return fail(error.message);
    CLEANUP_BUFFER struct buffer old_text, new_text;
    buffer_init(&new_text, BUFFER_DEFAULT_LIMIT);
    bool ok = file_change_read(path, &old_text, &exists, &error);
    if (!ok)
        return fail(error.message);
    if (setup->print)
        buffer_clear(&old_text);
    if (!change_text(setup, buffer_span(&old_text), entry, &new_text, &error)) {
        fprintf(stderr, "cadre setup: %s: %s\n", path, error.message);
        return EXIT_FAILURE;
    }
    if (!setup->print)
        return write_change(setup, path, buffer_span(&old_text), buffer_span(&new_text));
    fprintf(stderr, "%s:\n", path);
    fputs(buffer_text(&new_text), stdout);
    print_advice(setup, stderr);
    return EXIT_SUCCESS;
}

// --- what the entry says -------------------------------------------------------------------------

static bool read_token(struct setup *setup, struct error *error)
{
    CLEANUP_FREE char *standard = path_in_state("token");
    const char *file = setup->token_file;
    if (!file && standard && access(standard, F_OK) == 0)
        file = standard;
    const char *variable = getenv("CADRE_TOKEN");
    if (file)
        return mcp_token_read(file, &setup->token, error);
    setup->token = variable && *variable ? memory_copy_string(variable) : NULL;
    return true;
}

static bool read_address(struct setup *setup)
{
    if (strstr(setup->http, "://")) {
        setup->url = memory_copy_string(setup->http);
        return true;
    }
    char host[256];
    uint16_t port;
    if (!option_address("--http port", setup->http, host, sizeof(host), &port))
        return false;
    bool is_v6 = strchr(host, ':');
    setup->url = memory_format("http://%s%s%s:%u/mcp", is_v6 ? "[" : "", host, is_v6 ? "]" : "",
                               (unsigned)port);
    return true;
}

static int run(struct setup *setup)
{
    struct error error;
    ssize_t length = readlink("/proc/self/exe", setup->program, sizeof(setup->program) - 1);
    if (length <= 0)
        return fail("cannot find the program's own path");
    setup->program[length] = '\0';
    if (setup->http && !read_address(setup))
        return EXIT_USAGE;
    if (setup->http && !setup->remove && !read_token(setup, &error))
        return fail(error.message);
    setup->server.program = setup->program;
    setup->server.url = setup->url;
    setup->server.token = setup->token;
    setup->server.is_project = setup->project;
    setup->server.is_cached = strstr(setup->program, "/_npx/");
    value entry = value_nil();
    if (!setup->remove) {
        entry = client_entry(setup->client, setup->region, &setup->server, &error);
        if (value_is_nil(entry))
            return fail(error.message);
    }
    return apply(setup, entry);
}

static int find_client(struct setup *setup, const char *name)
{
    setup->client = client_find(name);
    if (setup->client)
        return 0;
    const struct client *close = client_closest(name);
    fprintf(stderr, "cadre setup: unknown client '%s'; ", name);
    if (close)
        fprintf(stderr, "did you mean %s?\n", close->name);
    else
        fputs("cadre setup --help lists them\n", stderr);
    return EXIT_USAGE;
}

static int check(const struct setup *setup)
{
    if (setup->remove && (setup->print || setup->http))
        return usage("--remove goes with neither --print nor --http");
    if (setup->token_file && !setup->http)
        return usage("--token-file needs --http");
    if (setup->server.argument_count > 0 && (setup->http || setup->remove))
        return usage("options of serve are for standard input/output");
    return 0;
}

static void take_option(struct setup *setup, const struct option_reader *reader)
{
    switch (reader->row->id) {
    case OPTION_PRINT: setup->print = true; break;
    case OPTION_REMOVE: setup->remove = true; break;
    case OPTION_YES: setup->yes = true; break;
    case OPTION_HTTP: setup->http = reader->argument; break;
    case OPTION_TOKEN_FILE: setup->token_file = reader->argument; break;
    default: setup->project = reader->argument; break;
    }
}

int command_setup(int argc, char **argv)
{
    struct setup setup = {0};
    struct option_reader reader;
    option_reader_init(&reader, COMMAND_SETUP, argc, argv);
    int option;
    while ((option = option_reader_next(&reader)) > 0)
        take_option(&setup, &reader);
    if (option != OPTIONS_END)
        return option_reader_status(option);
    if (reader.word_count == 0)
        return usage("CLIENT is missing");
    setup.server.arguments = reader.words + 1;
    setup.server.argument_count = reader.word_count - 1;
    int status = find_client(&setup, reader.words[0]);
    status = status ? status : check(&setup);
    if (status)
        return status;
    setup.region = region_new(SIZE_MAX);
    status = run(&setup);
    region_free(setup.region);
    memory_free(setup.url);
    memory_free(setup.token);
    return status;
}
