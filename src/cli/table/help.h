// The texts of --help, made from the table of commands.
#pragma once

#include <stdio.h>

#include "cli/table/command_table.h"

// All commands, one line each.
void help_print(FILE *out);
// One command: usage, options, notes.
void help_print_command(FILE *out, const struct command_row *command);
