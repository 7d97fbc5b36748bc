// `cadre ui`: opens the inspector's page in the browser, and prints its address. The page is the daemon's,
// where no address of another server is given.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/ascii.h"
#include "base/assert.h"
#include "base/buffer.h"
#include "base/memory.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/sandbox_options.h"
#include "cli/table/option_reader.h"
#include "cli/ui/browser.h"
#include "cli/ui/probe.h"
#include "daemon/http/listener_client.h"
#include "daemon/rendezvous.h"
#include "session/workspace/workspace.h"

enum { USUAL_PORT = 7433 };

struct ui {
    const char *address;  // [HOST:]PORT of a server; NULL: the daemon
    struct token_options options;
    bool prints_only;
    const char *sbcl;
    struct session_sandbox sandbox;
    struct sandbox_options sandbox_options;
    struct tokens tokens;
};

static int fail(const char *message)
{
    fprintf(stderr, "cadre ui: %s\n", message);
    return EXIT_FAILURE;
}

// --- the page's address --------------------------------------------------------------------------

// Everything but letters, digits, '-' and '_' is escaped: the page reads it back, and HTML too.
static void append_escaped(struct buffer *text, const char *part)
{
    for (; *part; part++)
        if (ascii_is_letter(*part) || ascii_is_digit(*part) || *part == '-' || *part == '_')
            buffer_append_byte(text, *part);
        else
            buffer_append_format(text, "%%%02X", (unsigned)(unsigned char)*part);
}

// `workspace` NULL: the server's.
static int show(const struct ui *ui, const char *server, const char *workspace)
{
    CLEANUP_BUFFER struct buffer address;
    buffer_init(&address, BUFFER_DEFAULT_LIMIT);
    buffer_append_format(&address, "%s/#token=", server);
    const char *token = ui->tokens.list[0].text;
    CHECK(token);  // none is left out without --no-token
    append_escaped(&address, token);
    if (workspace) {
        buffer_append_text(&address, "&workspace=");
        append_escaped(&address, workspace);
    }
    puts(buffer_text(&address));
    fflush(stdout);
    if (!ui->prints_only && !browser_open(buffer_text(&address)))
        fputs("cadre ui: no browser was opened; open the address above\n", stderr);
    return EXIT_SUCCESS;
}

// --- of a server ---------------------------------------------------------------------------------

static int explain(const struct ui *ui, const struct probe *probe, int status)
{
    unsigned port = probe->port;
    const char *path = ui->tokens.list[0].path;
    if (status == 401)
        fprintf(stderr,
                "cadre ui: the server on port %u has another token than %s; use --token-file\n",
                port, path ? path : "the one given");
    else if (status == 0 && errno == ECONNREFUSED)
        fprintf(stderr,
                "cadre ui: no server listens on %s port %u; start one: cadre serve --http %u\n",
                probe->host, port, port);
    else if (status == PROBE_FOREIGN)
        fprintf(stderr,
                "cadre ui: another user listens on %s port %u, and would be told the token; use "
                "another port\n",
                probe->host, port);
    else if (status == 0)
        fprintf(stderr, "cadre ui: %s port %u: %s\n", probe->host, port, strerror(errno));
    else
        fprintf(stderr, "cadre ui: the server on port %u answers with status %d\n", port, status);
    return EXIT_FAILURE;
}

static int show_server(const struct ui *ui, const struct probe *probe)
{
    CLEANUP_BUFFER struct buffer server;
    buffer_init(&server, BUFFER_DEFAULT_LIMIT);
    buffer_append_text(&server, "http://");
    probe_append_authority(probe, &server);
    return show(ui, buffer_text(&server), NULL);
}

// --- of the daemon -------------------------------------------------------------------------------

static bool daemon_runs(void)
{
    int fd = rendezvous_connect();
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

// On the usual port, or on any free one where that is taken. The listener takes the tokens.
static char *find_page(struct ui *ui, const struct settings *settings, struct error *error)
{
    struct listening listening = {.host = "127.0.0.1", .port = USUAL_PORT, .tokens = ui->tokens};
    char *url = listener_client_page("/proc/self/exe", settings, &listening, error);
    if (url)
        return url;
    listening.port = 0;
    return listener_client_page("/proc/self/exe", settings, &listening, error);
}

static int show_daemon(struct ui *ui)
{
    struct workspace workspace;
    struct error error;
    struct settings settings = {.selection = "full"};
    settings.sessions = (struct session_config){
        .sbcl = ui->sbcl, .limits = session_limits_default(), .sandbox = ui->sandbox};
    if (!workspace_resolve(ui->sandbox.workspace, NULL, &workspace, &error))
        return fail(error.message);
    CLEANUP_FREE char *url = find_page(ui, &settings, &error);
    char *path = url ? strstr(url, "/mcp") : NULL;
    if (path)
        *path = '\0';
    int status = path ? show(ui, url, workspace.path)
                      : fail(url ? "the daemon's page has no address" : error.message);
    workspace_release(&workspace);
    return status;
}

// --- the command ---------------------------------------------------------------------------------

// Without an address: the daemon's page, but a server without one on the usual port is not passed over.
static int find_and_show(struct ui *ui)
{
    struct probe probe = {.host = "127.0.0.1", .port = USUAL_PORT};
    struct error error;
    if (ui->address &&
        !option_address("--http port", ui->address, probe.host, sizeof(probe.host), &probe.port))
        return EXIT_USAGE;
    if (!tokens_read(&ui->options, false, &ui->tokens, &error))
        return fail(error.message);
    probe.token = ui->tokens.list[0].text;
    if (!ui->address && daemon_runs())
        return show_daemon(ui);
    int status = probe_status(&probe);
    if (status == 200)
        return show_server(ui, &probe);
    return ui->address ? explain(ui, &probe, status) : show_daemon(ui);
}

int command_ui(int argc, char **argv)
{
    struct ui ui = {.address = NULL};
    struct option_reader reader;
    option_reader_init(&reader, COMMAND_UI, argc, argv);
    int option;
    while ((option = option_reader_next(&reader)) > 0)
        switch (option) {
        case OPTION_HTTP: ui.address = reader.argument; break;
        case OPTION_TOKEN_FILE: ui.options.file = reader.argument; break;
        case OPTION_PRINT: ui.prints_only = true; break;
        case OPTION_SBCL: ui.sbcl = reader.argument; break;
        default:
            if (sandbox_option_take(&ui.sandbox_options, &ui.sandbox, &reader) !=
                SANDBOX_OPTION_TAKEN)
                return option_reader_refuse(&reader);
        }
    if (option != OPTIONS_END)
        return option_reader_status(option);
    if (reader.word_count > 0) {
        fprintf(stderr, "cadre ui: unexpected argument '%s'\n", reader.words[0]);
        return EXIT_USAGE;
    }
    int status = find_and_show(&ui);
    tokens_release(&ui.tokens);
    return status;
}
