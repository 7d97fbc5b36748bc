// Rows of the table of options that several commands have.
#pragma once

#include "cli/table/command_table.h"

#define CONTEXT_DB_OPTION                                                                       \
    {                                                                                           \
        .id = OPTION_CONTEXT_DB, .name = "context-db", .argument = "FILE", .type = OPTION_PATH, \
        .summary = "store of context items (default: that of the workspace); "                  \
                   ":memory: keeps nothing",                                                    \
        .source = FROM_USER                                                                     \
    }
#define TIMEOUT_OPTION(default_text, default_value)                                            \
    {                                                                                          \
        .id = OPTION_TIMEOUT, .name = "timeout", .argument = "SECONDS", .type = OPTION_NUMBER, \
        .high = 86400, .summary = "time limit of one evaluation, 0 = none (" default_text ")", \
        .fallback = default_value, .source = FROM_ANYONE                                       \
    }
#define PACKAGE_OPTION                                                  \
    {                                                                   \
        .id = OPTION_PACKAGE, .name = "package", .argument = "PACKAGE", \
        .summary = "package to read and evaluate in"                    \
    }
#define SBCL_OPTION                                                                             \
    {                                                                                           \
        .id = OPTION_SBCL, .name = "sbcl", .argument = "PROGRAM", .type = OPTION_PATH,          \
        .summary = "use this SBCL instead of the one that comes with Cadre; its core is built " \
                   "on first use",                                                              \
        .source = FROM_USER                                                                     \
    }
#define HELP_OPTION                                                     \
    {                                                                   \
        .id = OPTION_HELP, .name = "help", .summary = "print this text" \
    }
