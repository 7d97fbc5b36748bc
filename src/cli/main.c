// `cadre COMMAND …`: finds the command and runs it.
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/table/help.h"
#include "cli/table/option_reader.h"
#include "config.h"
#include "program_host/program_pool.h"
#include "program_host/program_worker.h"
#include "session/image/image_file.h"
#include "session/project/project_core.h"
#include "tools/picture/picture_worker.h"

static int (*const functions[COMMAND_COUNT])(int argc, char **argv) = {
    [COMMAND_SERVE] = command_serve,     [COMMAND_EVAL] = command_eval,
    [COMMAND_REPL] = command_repl,       [COMMAND_RUN] = command_run,
    [COMMAND_CONTEXT] = command_context, [COMMAND_SETUP] = command_setup,
    [COMMAND_CLUSTER] = command_cluster, [COMMAND_CONFIG] = command_config,
    [COMMAND_TRUST] = command_trust,     [COMMAND_DOCTOR] = command_doctor,
    [COMMAND_DAEMON] = command_daemon,   [COMMAND_SESSIONS] = command_sessions,
    [COMMAND_TOOLS] = command_tools,     [COMMAND_UI] = command_ui,
    [COMMAND_FIX] = command_fix,         [COMMAND_TEST] = command_test,
    [COMMAND_HOOK] = command_hook,
};

// If a standard descriptor is closed, the next file or socket gets its number, and messages for
// standard error would be written into it.
static bool fill_standard_descriptors(void)
{
    int descriptor;
    do
        descriptor = open("/dev/null", O_RDWR);
    while (descriptor >= 0 && descriptor <= STDERR_FILENO);
    return descriptor >= 0 && close(descriptor) == 0;
}

static int unknown_command(const char *name)
{
    struct span close = command_suggest(name);
    fprintf(stderr, "cadre: unknown command '%s'", name);
    if (close.length)
        fprintf(stderr, "; did you mean %.*s?\n", (int)close.length, close.data);
    else
        fputs("; cadre --help lists them\n", stderr);
    return EXIT_USAGE;
}

// `cadre help [COMMAND]`.
static int show_help(const char *name)
{
    const struct command_row *command = name ? command_find(name) : NULL;
    if (name && !command)
        return unknown_command(name);
    if (command)
        help_print_command(stdout, command);
    else
        help_print(stdout);
    return EXIT_SUCCESS;
}

static int run(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0)
        return show_help(argc > 2 ? argv[2] : NULL);
    if (strcmp(name, "--version") == 0 || strcmp(name, "version") == 0) {
        puts("cadre " CADRE_VERSION);
        return EXIT_SUCCESS;
    }
    if (argc < 2) {
        help_print(stderr);
        return EXIT_USAGE;
    }
    const struct command_row *command = command_find(name);
    return command ? functions[command - command_table](argc - 1, argv + 1) : unknown_command(name);
}

// stdout is buffered: a write error may surface only here.
static int finish(int status)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return status;
    fputs("cadre: cannot write to standard output\n", stderr);
    return status ? status : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    if (!fill_standard_descriptors())
        return EXIT_FAILURE;
    // Internal: the server starts its program workers this way.
    if (argc > 1 && strcmp(argv[1], "program-worker") == 0)
        return program_worker_main(PROGRAM_WORKER_FD);
    if (argc > 1 && strcmp(argv[1], "image-worker") == 0)
        return image_worker_main(argc - 1, argv + 1);
    if (argc > 1 && strcmp(argv[1], "picture-worker") == 0)
        return picture_worker_main();
    if (argc > 1 && strcmp(argv[1], "project-worker") == 0)
        return project_worker_main(argc - 1, argv + 1);
    int status = finish(run(argc, argv));
    option_reader_release_configuration();
    return status;
}
