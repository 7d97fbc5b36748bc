// Rows of the table for `cadre tools`, and of the options that give programs tools.
#pragma once

#include "cli/table/command_table.h"

#define PROGRAM_TOOLS_OPTION                                                                       \
    {                                                                                              \
        .id = OPTION_PROGRAM_TOOLS, .name = "program-tools", .argument = "FILE",                   \
        .type = OPTION_PATH, .summary = "tools that programs may call (JSON)", .source = FROM_USER \
    }
#define MCP_CONFIG_OPTION                                                                       \
    {                                                                                           \
        .id = OPTION_MCP_CONFIG, .name = "mcp-config", .argument = "FILE", .type = OPTION_PATH, \
        .repeatable = true,                                                                     \
        .summary = "MCP servers whose tools programs may call: a file with mcpServers, as "     \
                   "clients use it (repeatable)",                                               \
        .source = FROM_USER                                                                     \
    }

#define IMPORT_OPTION                                                                         \
    {                                                                                         \
        .id = OPTION_IMPORT, .name = "import", .argument = "CLIENT", .type = OPTION_CHOICE,   \
        .choices = "claude-code claude-desktop cursor vscode project", .repeatable = true,    \
        .summary = "the same, from the file where this client has its MCP servers; project: " \
                   "the workspace's .mcp.json, if trusted (repeatable)",                      \
        .source = FROM_USER                                                                   \
    }

static const struct subcommand_row tools_subcommands[] = {
    {"list", "", "the servers with their tools, as programs call them"},
    {"check", "", "the servers: which answer, how many tools they have"},
    {"call", "SERVER/TOOL [JSON]", "call a tool and print its value as JSON"},
    {0},
};

static const struct option_row tools_options[] = {
    MCP_CONFIG_OPTION,
    IMPORT_OPTION,
    {.id = OPTION_JSON, .name = "json", .summary = "print JSON"},
    {.id = OPTION_HELP, .name = "help", .summary = "print this text"},
    {0},
};

#define TOOLS_COMMAND                                                                     \
    {                                                                                     \
        .name = "tools", .summary = "show and try the tools of your MCP servers",         \
        .usage = "list|check [OPTION...]\n"                                               \
                 "call [OPTION...] SERVER/TOOL [JSON]",                                   \
        .description = "Starts the MCP servers of the named files, lists their tools as " \
                       "programs see them, or calls one.",                                \
        .subcommands = tools_subcommands, .options = tools_options,                       \
        .notes = "Exit status: 0 success, 1 a server or the call failed, 2 wrong usage.", \
        .examples = "cadre tools list --mcp-config .mcp.json\n"                           \
                    "cadre tools check --import claude-code\n"                            \
                    "cadre tools call --mcp-config .mcp.json files/read-text-file "       \
                    "'{\"path\": \"README.md\"}'\n"                                       \
    }
