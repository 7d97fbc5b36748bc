// `cadre ui`: opens the inspector's page of a server that listens on HTTP, and prints its address.
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/ascii.h"
#include "base/buffer.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/private.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/table/option_reader.h"
#include "daemon/http/tokens.h"

enum { ANSWER_MS = 5000, HOST_SIZE = 256 };

struct ui {
    const char *address;  // [HOST:]PORT
    struct token_options options;
    bool prints_only;
    char host[HOST_SIZE];
    uint16_t port;
    struct tokens tokens;
};

// --- is it there? --------------------------------------------------------------------------------

union address {
    struct sockaddr_in6 v6;
    struct sockaddr_in v4;
    struct sockaddr any;
};

static socklen_t make_address(const struct ui *ui, union address *address)
{
    *address = (union address){.v6 = {0}};
    if (inet_pton(AF_INET, ui->host, &address->v4.sin_addr) == 1) {
        address->v4.sin_family = AF_INET;
        address->v4.sin_port = htons(ui->port);
        return sizeof(address->v4);
    }
    if (inet_pton(AF_INET6, ui->host, &address->v6.sin6_addr) != 1)
        return 0;
    address->v6.sin6_family = AF_INET6;
    address->v6.sin6_port = htons(ui->port);
    return sizeof(address->v6);
}

static void append_authority(const struct ui *ui, struct buffer *text)
{
    bool is_v6 = strchr(ui->host, ':');
    buffer_append_format(text, is_v6 ? "[%s]:%u" : "%s:%u", ui->host, (unsigned)ui->port);
}

// The status of the server's answer; 0: there is none, and errno says why.
static int ask(const struct ui *ui, int fd)
{
    CLEANUP_BUFFER struct buffer request;
    buffer_init(&request, BUFFER_DEFAULT_LIMIT);
    buffer_append_text(&request, "GET /healthz HTTP/1.1\r\nHost: ");
    append_authority(ui, &request);
    if (ui->tokens.list[0].text)
        buffer_append_format(&request, "\r\nAuthorization: Bearer %s", ui->tokens.list[0].text);
    buffer_append_text(&request, "\r\nConnection: close\r\n\r\n");
    char answer[16] = "";
    struct pollfd waiting = {.fd = fd, .events = POLLIN};
    int status = 0;
    errno = ETIMEDOUT;
    if (send(fd, request.data, request.length, MSG_NOSIGNAL) != (ssize_t)request.length ||
        poll(&waiting, 1, ANSWER_MS) != 1)
        return 0;
    errno = EPROTO;
    if (recv(fd, answer, sizeof(answer) - 1, 0) < 12 ||
        sscanf(answer, "HTTP/1.1 %3d", &status) != 1)
        return 0;
    return status;
}

static int find_status(const struct ui *ui)
{
    union address address;
    socklen_t size = make_address(ui, &address);
    int fd = socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int status = 0;
    if (size == 0)
        errno = EADDRNOTAVAIL;
    else if (fd >= 0 && connect(fd, &address.any, size) == 0)
        status = ask(ui, fd);
    int cause = errno;
    if (fd >= 0)
        close(fd);
    errno = cause;
    return status;
}

static bool check(const struct ui *ui)
{
    int status = find_status(ui);
    if (status == 200)
        return true;
    if (status == 401)
        fprintf(stderr,
                "cadre ui: the server on port %u has another token than %s; use --token-file\n",
                (unsigned)ui->port,
                ui->tokens.list[0].path ? ui->tokens.list[0].path : "the one given");
    else if (status == 0 && errno == ECONNREFUSED)
        fprintf(stderr,
                "cadre ui: no server listens on %s port %u; start one: cadre serve --http %u\n",
                ui->host, (unsigned)ui->port, (unsigned)ui->port);
    else if (status == 0)
        fprintf(stderr, "cadre ui: %s port %u: %s\n", ui->host, (unsigned)ui->port,
                strerror(errno));
    else
        fprintf(stderr, "cadre ui: the server on port %u answers with status %d\n",
                (unsigned)ui->port, status);
    return false;
}

// --- the browser ---------------------------------------------------------------------------------

// What a process is started with others can read, so the browser is told a file, which leads on.
static char *write_file(const char *address)
{
    struct private_file file;
    struct error error;
    bool made;
    char *path = path_in_state("inspector.html");
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, BUFFER_DEFAULT_LIMIT);
    buffer_append_format(&text,
                         "<!doctype html><meta charset=\"utf-8\"><title>Cadre</title>"
                         "<meta http-equiv=\"refresh\" content=\"0; url=%s\">"
                         "<a href=\"%s\">The inspector</a>\n",
                         address, address);
    if (!path || !private_make_parent(path, &error) || !private_create(path, &file, &error)) {
        memory_free(path);
        return NULL;
    }
    if (write(file.descriptor, text.data, text.length) != (ssize_t)text.length)
        private_create_abandon(&file);
    else if (private_create_commit(&file, true, &made, &error))
        return path;
    memory_free(path);
    return NULL;
}

// False: there is no screen, or no program that opens pages.
static bool open_browser(const char *address)
{
    const char *browser = getenv("BROWSER");
    bool has_screen = getenv("DISPLAY") || getenv("WAYLAND_DISPLAY") || browser;
    CLEANUP_FREE char *path = has_screen ? write_file(address) : NULL;
    if (!path)
        return false;
    const char *program = browser && *browser ? browser : "xdg-open";
    CLEANUP_FREE char *url = memory_format("file://%s", path);
    char *arguments[] = {(char *)program, url, NULL};
    posix_spawn_file_actions_t actions;
    pid_t pid;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    int failed = posix_spawnp(&pid, program, &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    return failed == 0;
}

// Everything but letters, digits, '-' and '_' is escaped: the page reads it back, and HTML too.
static void append_token(struct buffer *text, const char *token)
{
    for (; *token; token++)
        if (ascii_is_letter(*token) || ascii_is_digit(*token) || *token == '-' || *token == '_')
            buffer_append_byte(text, *token);
        else
            buffer_append_format(text, "%%%02X", (unsigned)(unsigned char)*token);
}

static int show(struct ui *ui)
{
    struct error error;
    if (!option_address("--http port", ui->address, ui->host, sizeof(ui->host), &ui->port))
        return EXIT_USAGE;
    if (!tokens_read(&ui->options, false, &ui->tokens, &error)) {
        fprintf(stderr, "cadre ui: %s\n", error.message);
        return EXIT_FAILURE;
    }
    if (!check(ui))
        return EXIT_FAILURE;
    CLEANUP_BUFFER struct buffer address;
    buffer_init(&address, BUFFER_DEFAULT_LIMIT);
    buffer_append_text(&address, "http://");
    append_authority(ui, &address);
    buffer_append_text(&address, "/#token=");
    append_token(&address, ui->tokens.list[0].text);
    puts(buffer_text(&address));
    fflush(stdout);
    if (!ui->prints_only && !open_browser(buffer_text(&address)))
        fputs("cadre ui: no browser was opened; open the address above\n", stderr);
    return EXIT_SUCCESS;
}

int command_ui(int argc, char **argv)
{
    struct ui ui = {.address = "7433"};
    struct option_reader reader;
    option_reader_init(&reader, COMMAND_UI, argc, argv);
    int option;
    while ((option = option_reader_next(&reader)) > 0)
        switch (option) {
        case OPTION_HTTP: ui.address = reader.argument; break;
        case OPTION_TOKEN_FILE: ui.options.file = reader.argument; break;
        case OPTION_PRINT: ui.prints_only = true; break;
        default: return option_reader_refuse(&reader);
        }
    if (option != OPTIONS_END)
        return option_reader_status(option);
    if (reader.word_count > 0) {
        fprintf(stderr, "cadre ui: unexpected argument '%s'\n", reader.words[0]);
        return EXIT_USAGE;
    }
    int status = show(&ui);
    tokens_release(&ui.tokens);
    return status;
}
