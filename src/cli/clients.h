// The configuration that connects a known MCP client to this cadre.
#pragma once

#include <stdbool.h>
#include <stdio.h>

// False: no such client. `program` is the path of the cadre binary.
bool client_print(FILE *out, const char *name, const char *program);
// "claude-code, claude-desktop, …"
void client_print_names(FILE *out);
