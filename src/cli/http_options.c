#include "cli/http_options.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "cli/commands.h"
#include "cli/options.h"

static enum http_option add(const char **list, size_t most, const struct option_reader *reader)
{
    for (size_t i = 0; i < most; i++)
        if (!list[i]) {
            list[i] = reader->argument;
            return HTTP_OPTION_TAKEN;
        }
    fprintf(stderr, "cadre %s: at most %zu times --%s\n", reader->command->name, most,
            reader->row->name);
    return HTTP_OPTION_WRONG;
}

static enum http_option add_counted(const char **list, size_t *count, size_t most,
                                    const struct option_reader *reader)
{
    enum http_option taken = add(list, most, reader);
    *count += taken == HTTP_OPTION_TAKEN;
    return taken;
}

enum http_option http_option_take(struct http_options *options, const struct option_reader *reader)
{
    struct token_options *tokens = &options->tokens;
    switch (reader->row->id) {
    case OPTION_HTTP: options->address = reader->argument; return HTTP_OPTION_TAKEN;
    case OPTION_TOKEN_FILE: tokens->file = reader->argument; return HTTP_OPTION_TAKEN;
    case OPTION_TOKEN:
        return add_counted(tokens->named, &tokens->named_count, COUNT_OF(tokens->named), reader);
    case OPTION_TOKEN_WORKSPACE:
        return add_counted(tokens->workspaces, &tokens->workspace_count,
                           COUNT_OF(tokens->workspaces), reader);
    case OPTION_TOKEN_SANDBOX:
        return add_counted(tokens->sandboxes, &tokens->sandbox_count, COUNT_OF(tokens->sandboxes),
                           reader);
    case OPTION_NO_TOKEN: tokens->none = true; return HTTP_OPTION_TAKEN;
    case OPTION_ALLOW_HOST: return add(options->allow_hosts, LISTENING_NAMES_MAX, reader);
    case OPTION_ALLOW_ORIGIN: return add(options->allow_origins, LISTENING_NAMES_MAX, reader);
    default: return HTTP_OPTION_OTHER;
    }
}

bool http_options_lack_address(const struct http_options *options,
                               const struct option_reader *reader)
{
    static const enum option_id others[] = {
        OPTION_TOKEN_FILE, OPTION_TOKEN,      OPTION_TOKEN_WORKSPACE, OPTION_TOKEN_SANDBOX,
        OPTION_NO_TOKEN,   OPTION_ALLOW_HOST, OPTION_ALLOW_ORIGIN};
    bool given = false;
    for (size_t i = 0; i < COUNT_OF(others); i++)
        given |= reader->given[others[i]];
    if (options->address || !given)
        return false;
    fprintf(stderr,
            "cadre %s: --token-file, --token, --token-workspace, --token-sandbox, --no-token, "
            "--allow-host and --allow-origin need --http\n",
            reader->command->name);
    return true;
}

int http_options_read(const struct http_options *options, const char *command,
                      struct listening *ret_listening)
{
    *ret_listening = (struct listening){.port = 0};
    struct listening *listening = ret_listening;
    struct error error;
    memcpy(listening->allow_hosts, options->allow_hosts, sizeof(options->allow_hosts));
    memcpy(listening->allow_origins, options->allow_origins, sizeof(options->allow_origins));
    if (strncmp(options->address, "unix:", 5) == 0)
        listening->socket_path = options->address + 5;
    else if (!option_address("--http port", options->address, listening->host,
                             sizeof(listening->host), &listening->port))
        return EXIT_USAGE;
    if (tokens_read(&options->tokens, listening->socket_path, &listening->tokens, &error))
        return 0;
    fprintf(stderr, "cadre %s: %s\n", command, error.message);
    return EXIT_USAGE;
}

void http_options_announce(const struct listening *listening, const char *url, const char *command)
{
    const struct token *own = &listening->tokens.list[0];
    bool is_socket = strncmp(url, "unix:", 5) == 0;
    if (!own->text && !is_socket)
        fprintf(stderr,
                "cadre %s: without a token every user of this machine can run code as you "
                "(--no-token)\n",
                command);
    if (own->is_new)
        fprintf(stderr, "listening on %s?token=%s\n", url, own->text);
    else if (own->path)
        fprintf(stderr, "listening on %s (token in %s)\n", url, own->path);
    else
        fprintf(stderr, "listening on %s\n", url);
}
