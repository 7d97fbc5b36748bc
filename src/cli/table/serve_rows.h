// Rows of the options of the server: `cadre serve` and `cadre daemon`.
#pragma once

#include "cli/table/sandbox_rows.h"
#include "cli/table/shared_rows.h"
#include "cli/table/tools_rows.h"

// Whom a server on HTTP serves.
#define HTTP_CLIENT_OPTIONS                                                                        \
    {.id = OPTION_TOKEN_FILE,                                                                      \
     .name = "token-file",                                                                         \
     .argument = "FILE",                                                                           \
     .type = OPTION_PATH,                                                                          \
     .summary = "your bearer token (or CADRE_TOKEN; default: one that is made once and kept)",     \
     .source = FROM_USER},                                                                         \
        {.id = OPTION_TOKEN,                                                                       \
         .name = "token",                                                                          \
         .argument = "NAME=FILE",                                                                  \
         .summary =                                                                                \
             "a token of another client, with sessions and context of its own (repeatable)",       \
         .repeatable = true,                                                                       \
         .source = FROM_USER_FILE},                                                                \
        {.id = OPTION_TOKEN_WORKSPACE,                                                             \
         .name = "token-workspace",                                                                \
         .argument = "NAME=DIR",                                                                   \
         .summary =                                                                                \
             "a workspace that the holder of this token may use, by the header Cadre-Workspace; "  \
             "the first one without it (repeatable)",                                              \
         .repeatable = true,                                                                       \
         .source = FROM_USER_FILE},                                                                \
        {.id = OPTION_TOKEN_SANDBOX,                                                               \
         .name = "token-sandbox",                                                                  \
         .argument = "NAME=MODE",                                                                  \
         .summary = "the widest sandbox of the holder of this token (repeatable)",                 \
         .repeatable = true,                                                                       \
         .source = FROM_USER_FILE},                                                                \
        {.id = OPTION_NO_TOKEN,                                                                    \
         .name = "no-token",                                                                       \
         .summary =                                                                                \
             "ask for no token on loopback: every user of this machine can run code as you",       \
         .source = FROM_COMMAND_LINE},                                                             \
        {.id = OPTION_ALLOW_HOST,                                                                  \
         .name = "allow-host",                                                                     \
         .argument = "NAME",                                                                       \
         .summary = "also accept this Host (repeatable)",                                          \
         .repeatable = true,                                                                       \
         .source = FROM_USER},                                                                     \
    {                                                                                              \
        .id = OPTION_ALLOW_ORIGIN, .name = "allow-origin", .argument = "ORIGIN",                   \
        .summary = "also accept this Origin (repeatable)", .repeatable = true, .source = FROM_USER \
    }

static const struct option_row serve_options[] = {
    {.id = OPTION_HTTP,
     .name = "http",
     .argument = "[HOST:]PORT",
     .summary = "serve HTTP (endpoint /mcp); HOST is 127.0.0.1 by default; unix:PATH: a socket for "
                "your own processes",
     .source = FROM_USER},
    HTTP_CLIENT_OPTIONS,
    {.id = OPTION_TOOLS,
     .name = "tools",
     .argument = "SET",
     .summary = "core, default, full, or names separated by commas",
     .fallback = "default",
     .source = FROM_ANYONE},
    {.id = OPTION_RESULTS,
     .name = "results",
     .argument = "FORM",
     .type = OPTION_CHOICE,
     .choices = "text structured",
     .summary = "text (default), or structured: text and structuredContent",
     .fallback = "text",
     .source = FROM_ANYONE},
    {.id = OPTION_PRIVATE,
     .name = "private",
     .summary = "no daemon: sessions of this process alone, which end with it and are not kept",
     .source = FROM_USER},
    CONTEXT_DB_OPTION,
    {.id = OPTION_AUTO_CONTEXT,
     .name = "auto-context",
     .argument = "MODE",
     .type = OPTION_CHOICE,
     .choices = "off errors history all",
     .summary = "keep evaluations as context items: off, errors, history, all",
     .source = FROM_ANYONE},
    PROGRAM_TOOLS_OPTION,
    MCP_CONFIG_OPTION,
    IMPORT_OPTION,
    TIMEOUT_OPTION("default 30", "30"),
    {.id = OPTION_YIELD,
     .name = "yield",
     .argument = "SECONDS",
     .type = OPTION_NUMBER,
     .low = 0,
     .high = 86400,
     .summary = "answer a longer call with its output so far, 0 = never (default 20)",
     .fallback = "20",
     .source = FROM_ANYONE},
    {.id = OPTION_MAX_MEMORY,
     .name = "max-memory",
     .argument = "MB",
     .type = OPTION_NUMBER,
     .low = 64,
     .high = 1 << 20,
     .summary =
         "stop an evaluation at this much live data (default 1024, at most 45 % of the heap)",
     .fallback = "1024",
     .source = FROM_ANYONE},
    {.id = OPTION_HEAP,
     .name = "heap",
     .argument = "MB",
     .type = OPTION_NUMBER,
     .low = 256,
     .high = 1 << 20,
     .summary = "Lisp heap of a session (default 2560)",
     .fallback = "2560",
     .source = FROM_ANYONE},
    SBCL_OPTION,
    {.id = OPTION_SNAPSHOTS,
     .name = "snapshots",
     .argument = "N",
     .type = OPTION_NUMBER,
     .low = 1,
     .high = 256,
     .summary = "snapshots kept per session (default 16)",
     .fallback = "16",
     .source = FROM_ANYONE},
    {.id = OPTION_MAX_SESSIONS,
     .name = "max-sessions",
     .argument = "N",
     .type = OPTION_NUMBER,
     .low = 1,
     .high = 1 << 16,
     .summary = "sessions of a client (default: as many as the memory allows)",
     .source = FROM_ANYONE},
    SANDBOX_OPTIONS,
    {.id = OPTION_LOG_LEVEL,
     .name = "log-level",
     .argument = "LEVEL",
     .type = OPTION_CHOICE,
     .choices = "error warning info debug",
     .summary = "error, warning (default), info, debug; on standard error",
     .fallback = "warning",
     .source = FROM_ANYONE},
    HELP_OPTION,
    {0},
};

static const struct subcommand_row daemon_subcommands[] = {
    {"status", "", "what it serves"},
    {"stop", "", "saves the sessions and ends"},
    {0},
};

static const struct subcommand_row cluster_subcommands[] = {
    {"status", "", "the nodes, their load, and the workspaces with their owners"},
    {"drain", "NODE", "the node saves its workspaces and hands them over; waits until it has none"},
    {0},
};

static const struct option_row cluster_options[] = {HELP_OPTION, {0}};

static const struct option_row daemon_options[] = {
    {.id = OPTION_LINGER,
     .name = "linger",
     .argument = "SECONDS",
     .type = OPTION_NUMBER,
     .low = 0,
     .high = INT64_C(86400) * 365,
     .summary = "stay so long without clients and live sessions (default 600)",
     .fallback = "600",
     .source = FROM_USER},
    {.id = OPTION_HIBERNATE,
     .name = "hibernate",
     .argument = "SECONDS",
     .type = OPTION_NUMBER,
     .low = 0,
     .high = INT64_C(86400) * 365,
     .summary = "an idle session is saved and gives up its processes after this (default 900)",
     .fallback = "900",
     .source = FROM_USER},
    {.id = OPTION_MEMORY_BUDGET,
     .name = "memory-budget",
     .argument = "MB",
     .type = OPTION_NUMBER,
     .low = 0,
     .high = 1 << 30,
     .summary =
         "memory of all sessions above which the least recently used one hibernates, 0 = none "
         "(default: half of the machine's)",
     .source = FROM_USER},
    {.id = OPTION_QUOTA,
     .name = "quota",
     .argument = "MB",
     .type = OPTION_NUMBER,
     .low = 0,
     .high = 1 << 30,
     .summary = "size of all that is kept on disk, above which cadre sessions prune removes the "
                "oldest, once an hour (default 5000)",
     .fallback = "5000",
     .source = FROM_USER},
    {.id = OPTION_HTTP,
     .name = "http",
     .argument = "[HOST:]PORT",
     .summary = "also listen on HTTP, for the workspace of the working directory, as cadre serve "
                "--http does; then it does not end by itself"},
    HTTP_CLIENT_OPTIONS,
    {.id = OPTION_CLUSTER,
     .name = "cluster",
     .argument = "URLS",
     .summary = "with --http: be a node of the cluster at these NATS servers, nats://HOST:PORT or "
                "tls://HOST:PORT, separated by commas; requests are for workspaces of the cluster",
     .source = FROM_USER},
    {.id = OPTION_CLUSTER_CREDS,
     .name = "cluster-creds",
     .argument = "FILE",
     .type = OPTION_PATH,
     .summary = "credentials for the NATS servers (JWT and NKEY)",
     .source = FROM_USER},
    {.id = OPTION_CLUSTER_CA,
     .name = "cluster-ca",
     .argument = "FILE",
     .type = OPTION_PATH,
     .summary = "certificates that the NATS servers are checked with (default: the system's)",
     .source = FROM_USER},
    {.id = OPTION_CLUSTER_REPLICAS,
     .name = "cluster-replicas",
     .argument = "N",
     .type = OPTION_NUMBER,
     .low = 1,
     .high = 5,
     .summary = "on how many NATS servers all is stored, when the first node makes it (default 3)",
     .fallback = "3",
     .source = FROM_USER},
    {.id = OPTION_NODE,
     .name = "node",
     .argument = "NAME",
     .summary = "name of this node in the cluster (default: that of the machine)",
     .source = FROM_USER},
    {.id = OPTION_WORKSPACE,
     .name = "workspace",
     .argument = "NAME",
     .summary = "with --cluster: the workspace of requests that name none"},
    {.id = OPTION_NO_JOURNAL,
     .name = "no-journal",
     .summary = "do not write down what is evaluated",
     .source = FROM_USER},
    {.id = OPTION_LOG_LEVEL,
     .name = "log-level",
     .argument = "LEVEL",
     .type = OPTION_CHOICE,
     .choices = "error warning info debug",
     .summary = "messages on standard error: error, warning, info, debug",
     .fallback = "warning",
     .source = FROM_USER},
    HELP_OPTION,
    {0},
};

static const struct subcommand_row sessions_subcommands[] = {
    {"list", "", "all workspaces and their sessions (the default)"},
    {"show", "[NAME]", "what was evaluated, as Markdown"},
    {"watch", "[NAME]", "what is evaluated, as it happens"},
    {"output", "[NAME] [NUMBER]", "output that was too long for its answer: of evaluation NUMBER"},
    {"save", "[NAME]", "save it now, and wait for it"},
    {"rm", "[NAME]", "end it and remove all that is kept of it"},
    {"fork", "FROM AS", "a new session AS with the state of FROM: a session, or main@12"},
    {"adopt", "FROM AS", "the state of FROM becomes that of the session AS"},
    {"warm", "", "make the core of the workspace's project beforehand"},
    {"prune", "", "remove sessions of directories that are gone, and the oldest above --quota"},
    {"export", "[NAME]", "its definitions as a Lisp file, or --format transcript"},
    {0},
};

static const struct option_row sessions_options[] = {
    {.id = OPTION_WORKSPACE,
     .name = "workspace",
     .argument = "DIR",
     .type = OPTION_DIRECTORY,
     .summary =
         "the workspace whose sessions are meant (default: found from the working directory)"},
    {.id = OPTION_FORMAT,
     .name = "format",
     .argument = "FORMAT",
     .type = OPTION_CHOICE,
     .choices = "lisp transcript",
     .summary = "lisp (default), or transcript",
     .fallback = "lisp",
     .subcommands = "export"},
    {.id = OPTION_JSON, .name = "json", .summary = "print JSON", .subcommands = "list"},
    {.id = OPTION_FROM,
     .name = "from",
     .argument = "LINE",
     .type = OPTION_NUMBER,
     .low = 1,
     .high = INT64_MAX,
     .summary = "the first line (default 1)",
     .fallback = "1",
     .subcommands = "output"},
    {.id = OPTION_LINES,
     .name = "lines",
     .argument = "N",
     .type = OPTION_NUMBER,
     .low = 1,
     .high = INT64_MAX,
     .summary = "so many lines at most (default: all)",
     .subcommands = "output"},
    {.id = OPTION_MATCH,
     .name = "match",
     .argument = "TEXT",
     .type = OPTION_TEXT,
     .summary = "only lines that contain it, with their numbers",
     .subcommands = "output"},
    {.id = OPTION_QUOTA,
     .name = "quota",
     .argument = "MB",
     .type = OPTION_NUMBER,
     .high = 1 << 30,
     .summary = "size of all that is kept on disk, oldest go first (default 5000)",
     .fallback = "5000",
     .subcommands = "prune",
     .source = FROM_USER},
    {.id = OPTION_KEEP_GONE,
     .name = "keep-gone",
     .summary = "keep what is of directories that are gone while there is room, as the daemon does",
     .subcommands = "prune"},
    HELP_OPTION,
    {0},
};
