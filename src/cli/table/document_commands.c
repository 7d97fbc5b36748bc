// A program for the build: prints a manual page or a completion, made from the table of commands.
//   document-commands manual | manual COMMAND | bash | zsh | fish
#include <stdlib.h>
#include <string.h>

#include "cli/table/completion.h"
#include "cli/table/manual.h"

static bool print(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "manual") == 0 && argc == 2) {
        manual_print(stdout);
    } else if (strcmp(what, "manual") == 0) {
        const struct command_row *command = command_find(argv[2]);
        if (!command)
            return false;
        manual_print_command(stdout, command);
    } else if (strcmp(what, "bash") == 0) {
        completion_print_bash(stdout);
    } else if (strcmp(what, "zsh") == 0) {
        completion_print_zsh(stdout);
    } else if (strcmp(what, "fish") == 0) {
        completion_print_fish(stdout);
    } else {
        return false;
    }
    return fflush(stdout) == 0 && !ferror(stdout);
}

int main(int argc, char **argv)
{
    return print(argc, argv) ? EXIT_SUCCESS : EXIT_FAILURE;
}
