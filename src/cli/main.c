// `cadre COMMAND …`: finds the command and runs it.
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "cli/commands.h"
#include "config.h"
#include "program_host/program_pool.h"
#include "program_host/program_worker.h"

struct command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *summary;
};

static const struct command commands[] = {
    {"serve", command_serve, "MCP server on standard input/output, or on HTTP"},
    {"eval", command_eval, "evaluate Common Lisp in a crash-proof session"},
    {"repl", command_repl, "interactive Common Lisp with undo, restarts and frames"},
    {"run", command_run, "run a PTC-Lisp program, print its Step"},
    {"context", command_context, "items for prompts: add, list, show, rm, clear, render, pin"},
    {"doctor", command_doctor, "check this machine; print a client's configuration"},
};

enum { COMMAND_COUNT = COUNT_OF(commands) };

static void print_help(FILE *out)
{
    fputs("cadre: the Lisp machine for AI agents\n\nusage: cadre COMMAND [ARGUMENT...]\n\n", out);
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        fprintf(out, "  %-8s  %s\n", commands[i].name, commands[i].summary);
    fputs("\n`cadre COMMAND --help` explains a command; `cadre --version` prints the version.\n",
          out);
}

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

static int run(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
        print_help(stdout);
        return 0;
    }
    if (strcmp(name, "--version") == 0) {
        puts("cadre " CADRE_VERSION);
        return 0;
    }
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (strcmp(name, commands[i].name) == 0) {
            char full_name[32];  // for the messages of getopt()
            snprintf(full_name, sizeof(full_name), "cadre %s", name);
            argv[1] = full_name;
            return commands[i].run(argc - 1, argv + 1);
        }
    if (argc > 1)
        fprintf(stderr, "cadre: unknown command '%s'\n\n", name);
    print_help(stderr);
    return EXIT_USAGE;
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
    return finish(run(argc, argv));
}
