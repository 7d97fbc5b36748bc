// Manual pages in man(7) format, made from the table of commands at build time.
#pragma once

#include <stdio.h>

#include "cli/table/command_table.h"

// cadre.1
void manual_print(FILE *out);
// cadre-COMMAND.1
void manual_print_command(FILE *out, const struct command_row *command);
