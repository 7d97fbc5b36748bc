// The one table of commands and options. The parser, `--help`, the manual pages, the completions of
// the shells, the configuration files and their JSON Schema all come from its rows. To add an
// option: an id here, a row in command_table.c, a case in the command.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span.h"

enum option_id {
    OPTION_NONE,
    OPTION_ALL,
    OPTION_ALLOW_HOST,
    OPTION_ALLOW_ORIGIN,
    OPTION_ALLOW_READ,
    OPTION_ALLOW_UNIX_SOCKETS,
    OPTION_ALLOW_WRITE,
    OPTION_APPROVE,
    OPTION_AUTO_CONTEXT,
    OPTION_BASE,
    OPTION_BATCH,
    OPTION_BUILTINS,
    OPTION_CHECK,
    OPTION_CLIENT,
    OPTION_CLUSTER,
    OPTION_CLUSTER_CA,
    OPTION_CLUSTER_CREDS,
    OPTION_CLUSTER_REPLICAS,
    OPTION_COMPILE_ONLY,
    OPTION_CONTEXT,
    OPTION_CONTEXT_DB,
    OPTION_EXPRESSION,
    OPTION_FILE,
    OPTION_FLOAT_PRECISION,
    OPTION_FORMAT,
    OPTION_FRAMEWORK,
    OPTION_FROM,
    OPTION_GUIDE,
    OPTION_HEAP,
    OPTION_HELP,
    OPTION_HIBERNATE,
    OPTION_HTTP,
    OPTION_IMPORT,
    OPTION_HUMAN,
    OPTION_ID,
    OPTION_ISOLATE,
    OPTION_JOBS,
    OPTION_JSON,
    OPTION_JUNIT,
    OPTION_LIMIT,
    OPTION_LINES,
    OPTION_LINGER,
    OPTION_LIST,
    OPTION_LOG_LEVEL,
    OPTION_MATCH,
    OPTION_MAX_CHARS,
    OPTION_MAX_MEMORY,
    OPTION_MAX_SESSIONS,
    OPTION_MCP_CONFIG,
    OPTION_MEMORY,
    OPTION_MEMORY_BUDGET,
    OPTION_META,
    OPTION_META_JSON,
    OPTION_NODE,
    OPTION_NO_JOURNAL,
    OPTION_NO_TOKEN,
    OPTION_NO_NETWORK,
    OPTION_PACKAGE,
    OPTION_PASS_ENV,
    OPTION_PAUSE,
    OPTION_PIN,
    OPTION_PRINT,
    OPTION_PRIVATE,
    OPTION_PROGRAM_TOOLS,
    OPTION_PROJECT,
    OPTION_QUOTA,
    OPTION_KEEP_GONE,
    OPTION_REMOVE,
    OPTION_RESULTS,
    OPTION_RESUME,
    OPTION_RUN_OPTION,
    OPTION_SANDBOX,
    OPTION_SBCL,
    OPTION_SCHEMA,
    OPTION_SESSION,
    OPTION_SIGNATURE,
    OPTION_SNAPSHOTS,
    OPTION_STYLE,
    OPTION_TIME,
    OPTION_TIMEOUT,
    OPTION_TOKEN,
    OPTION_TOKEN_FILE,
    OPTION_TOKEN_SANDBOX,
    OPTION_TOKEN_WORKSPACE,
    OPTION_TOOLS,
    OPTION_TYPE,
    OPTION_TYPES,
    OPTION_UNPIN,
    OPTION_VALIDATION,
    OPTION_VALUE,
    OPTION_YIELD,
    OPTION_WATCH,
    OPTION_WORKSPACE,
    OPTION_YES,
    OPTION_COUNT,
};

enum option_type {
    OPTION_TEXT,
    OPTION_NUMBER,  // from low to high
    OPTION_CHOICE,  // one of choices
    OPTION_PATH,    // of a file
    OPTION_DIRECTORY,
};

// Where else than from the command line the value may come.
enum option_source {
    FROM_COMMAND_LINE,  // only
    FROM_USER,          // also from the user's configuration and environment
    FROM_USER_FILE,     // the same, but CADRE_NAME in the environment means something else
    FROM_ANYONE,        // also from the configuration of a trusted workspace
    // From a trusted workspace if it allows less than the user does: a later choice, a flag that is set.
    FROM_ANYONE_NARROWER,
};

struct option_row {
    enum option_id id;
    const char *name;         // without dashes; of one letter: a short option
    const char *argument;     // stands for the value in texts; NULL: a flag
    const char *summary;      // what it does, in one sentence without a full stop
    enum option_type type;    // of the value
    int64_t low, high;        // of a number
    const char *choices;      // separated by blanks
    const char *fallback;     // the default, when it is a plain value
    const char *subcommands;  // those that take it, separated by blanks; NULL: all
    bool repeatable;
    enum option_source source;
};

struct subcommand_row {
    const char *name;
    const char *arguments;
    const char *summary;
};

enum command_id {
    COMMAND_SERVE,
    COMMAND_DAEMON,
    COMMAND_EVAL,
    COMMAND_REPL,
    COMMAND_RUN,
    COMMAND_CONTEXT,
    COMMAND_SESSIONS,
    COMMAND_SETUP,
    COMMAND_CLUSTER,
    COMMAND_CONFIG,
    COMMAND_TRUST,
    COMMAND_UI,
    COMMAND_TOOLS,
    COMMAND_FIX,
    COMMAND_HOOK,
    COMMAND_TEST,
    COMMAND_DOCTOR,
    COMMAND_COUNT,
};

struct command_row {
    const char *name;
    const char *summary;
    const char *usage;        // what follows "cadre NAME", one way of calling it per line
    const char *description;  // paragraphs, separated by empty lines
    const struct subcommand_row *subcommands;  // ends with a row without a name; or NULL
    const struct option_row *options;          // the same
    struct {
        bool taken;
        enum option_type type;
        const char *choices;
    } operand;             // what the words are that are not options, for completion
    const char *notes;     // paragraphs after the options
    const char *examples;  // lines of shell
};

extern const struct command_row command_table[COMMAND_COUNT];

// NULL: there is none.
const struct command_row *command_find(const char *name);
const struct option_row *command_option(const struct command_row *command, struct span name);
// The closest name of a command, or of an option, or empty.
struct span command_suggest(const char *name);
struct span command_suggest_option(const struct command_row *command, struct span name);

bool option_is_short(const struct option_row *row);
// Whether a list of words separated by blanks contains the word.
bool option_list_contains(const char *list, struct span word);
// The first word of such a list; moves *list behind it. Empty at the end.
struct span option_list_next(const char **list);
