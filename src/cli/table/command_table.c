#include "cli/table/command_table.h"

#include <string.h>

#include "cli/table/sandbox_rows.h"
#include "cli/table/serve_rows.h"
#include "cli/table/shared_rows.h"
#include "cli/table/tools_rows.h"
#include "cli/table/workbench_rows.h"
#include "program/compile/suggest.h"

#define CLIENTS                                                                                \
    "claude-code claude-desktop cursor vscode codex gemini opencode zed windsurf copilot-cli " \
    "goose"

// --- eval and repl -------------------------------------------------------------------------------

static const struct option_row eval_options[] = {
    PACKAGE_OPTION,
    TIMEOUT_OPTION("default 30", "30"),
    {.id = OPTION_TIME, .name = "time", .summary = "report time, memory and page faults"},
    {.id = OPTION_COMPILE_ONLY,
     .name = "compile-only",
     .summary = "compile and report diagnostics, run nothing"},
    {.id = OPTION_JSON,
     .name = "json",
     .summary = "print lines of JSON: {\"stream\",\"text\"} as output comes, at last {\"result\"}"},
    {.id = OPTION_SESSION,
     .name = "session",
     .argument = "NAME",
     .summary = "evaluate in this kept session of the workspace, which remembers"},
    SBCL_OPTION,
    SANDBOX_OPTIONS,
    HELP_OPTION,
    {0},
};

static const struct option_row repl_options[] = {
    PACKAGE_OPTION,
    TIMEOUT_OPTION("default none", "0"),
    {.id = OPTION_SESSION,
     .name = "session",
     .argument = "NAME",
     .fallback = "main",
     .summary = "join this kept session of the workspace"},
    {.id = OPTION_PRIVATE,
     .name = "private",
     .summary = "no daemon: a session of its own, which ends with the command",
     .source = FROM_USER},
    SBCL_OPTION,
    SANDBOX_OPTIONS,
    HELP_OPTION,
    {0},
};

// --- run -----------------------------------------------------------------------------------------

static const struct option_row run_options[] = {
    {.id = OPTION_EXPRESSION,
     .name = "e",
     .argument = "SOURCE",
     .summary = "the program itself instead of a file"},
    {.id = OPTION_CONTEXT,
     .name = "context",
     .argument = "FILE",
     .type = OPTION_PATH,
     .summary =
         "the context: JSON, JSON lines (.jsonl) or EDN (.edn); - is standard input; what is "
         "no object is its member input"},
    {.id = OPTION_MEMORY,
     .name = "memory",
     .argument = "FILE",
     .type = OPTION_PATH,
     .summary = "the memory, likewise"},
    {.id = OPTION_TOOLS,
     .name = "tools",
     .argument = "FILE",
     .type = OPTION_PATH,
     .summary = "the tools that the program may call, likewise"},
    MCP_CONFIG_OPTION,
    IMPORT_OPTION,
    {.id = OPTION_SIGNATURE,
     .name = "signature",
     .argument = "TEXT",
     .summary = "types of inputs and result"},
    {.id = OPTION_VALIDATION,
     .name = "validation",
     .argument = "MODE",
     .type = OPTION_CHOICE,
     .choices = "enabled warn_only disabled strict",
     .summary = "enabled (default), warn_only, disabled or strict"},
    {.id = OPTION_TIMEOUT,
     .name = "timeout",
     .argument = "MS",
     .summary = "time limit (default 1000)"},
    {.id = OPTION_MAX_MEMORY,
     .name = "max-memory",
     .argument = "BYTES",
     .summary = "memory limit (default 10000000)"},
    {.id = OPTION_FLOAT_PRECISION,
     .name = "float-precision",
     .argument = "N",
     .summary = "round the floats of the result"},
    {.id = OPTION_RUN_OPTION,
     .name = "o",
     .argument = "NAME=VALUE",
     .repeatable = true,
     .summary = "any other limit, or memory=explicit"},
    {.id = OPTION_PAUSE,
     .name = "pause",
     .argument = "FILE",
     .type = OPTION_PATH,
     .summary =
         "keep a run whose next call somebody must approve in FILE, exit status 3; without it "
         "such calls fail"},
    {.id = OPTION_RESUME,
     .name = "resume",
     .argument = "FILE",
     .type = OPTION_PATH,
     .summary = "go on with the run in FILE, with --approve or --results and the same tools"},
    {.id = OPTION_APPROVE,
     .name = "approve",
     .argument = "ANSWER",
     .type = OPTION_CHOICE,
     .choices = "yes no all",
     .summary = "make the call: yes, no, or all calls of its tool in this run"},
    {.id = OPTION_RESULTS,
     .name = "results",
     .argument = "JSON",
     .summary = "instead: what the call gives, [{\"value\": …}] or [{\"error\": \"…\"}]"},
    {.id = OPTION_CHECK, .name = "check", .summary = "parse and analyse only"},
    {.id = OPTION_VALUE,
     .name = "value",
     .summary = "print the result alone: a string as it is, others as Lisp; prints and failures "
                "go to standard error"},
    {.id = OPTION_JSON, .name = "json", .summary = "with --value: the result as JSON"},
    {.id = OPTION_HUMAN,
     .name = "human",
     .summary = "show errors with the source line on standard error"},
    {.id = OPTION_BATCH,
     .name = "batch",
     .argument = "FILE",
     .type = OPTION_PATH,
     .summary = "run one JSON record per line; - reads standard input"},
    {.id = OPTION_BUILTINS, .name = "builtins", .summary = "print the builtins"},
    {.id = OPTION_GUIDE, .name = "guide", .summary = "print the language in one page"},
    SANDBOX_OPTIONS,
    HELP_OPTION,
    {0},
};

// --- context -------------------------------------------------------------------------------------

static const struct subcommand_row context_subcommands[] = {
    {"add", "[CONTENT|-]", "add an item and print its id; without CONTENT, read standard input"},
    {"list", "", "list items, oldest first"},
    {"show", "ID", "print the content of an item"},
    {"search", "TEXT", "print the lines of items that have the text"},
    {"rm", "ID...", "delete items; 2 stands for ctx-2"},
    {"pin", "ID...", "never drop these items"},
    {"unpin", "ID...", "undo pin"},
    {"clear", "", "delete all unpinned items"},
    {"render", "", "print items as Markdown"},
    {"set", "[NAME VALUE]",
     "show or change settings: max-items (1 to 1000, default 50), auto-context (off, errors, "
     "history, all)"},
    {0},
};

static const struct option_row context_options[] = {
    {.id = OPTION_TYPE,
     .name = "type",
     .argument = "TYPE",
     .summary = "text (default), code, file, repl-history, error, custom; of a file by its name",
     .subcommands = "add"},
    {.id = OPTION_META,
     .name = "meta",
     .argument = "KEY=VALUE",
     .repeatable = true,
     .summary = "metadata (repeatable)",
     .subcommands = "add"},
    {.id = OPTION_META_JSON,
     .name = "meta-json",
     .argument = "OBJECT",
     .summary = "metadata that is more than strings",
     .subcommands = "add"},
    {.id = OPTION_FILE,
     .name = "file",
     .argument = "FILE[:A[-B]]",
     .type = OPTION_PATH,
     .summary = "a file, or its lines A to B",
     .subcommands = "add"},
    {.id = OPTION_ID,
     .name = "id",
     .argument = "ID",
     .summary = "with --pin or --unpin: change an item that exists",
     .subcommands = "add"},
    {.id = OPTION_PIN, .name = "pin", .summary = "never drop the item", .subcommands = "add"},
    {.id = OPTION_UNPIN,
     .name = "unpin",
     .summary = "with --id: let the item be dropped",
     .subcommands = "add"},
    {.id = OPTION_TYPES,
     .name = "types",
     .argument = "A,B",
     .summary = "only items of these types",
     .subcommands = "list search clear render"},
    {.id = OPTION_LIMIT,
     .name = "limit",
     .argument = "N",
     .summary = "only the newest N items",
     .subcommands = "list search render"},
    {.id = OPTION_ALL, .name = "all", .summary = "pinned ones too", .subcommands = "clear"},
    {.id = OPTION_MAX_CHARS,
     .name = "max-chars",
     .argument = "N",
     .summary = "as many of the newest items as fit",
     .subcommands = "render"},
    {.id = OPTION_STYLE,
     .name = "style",
     .argument = "STYLE",
     .summary = "block (default) or inline",
     .subcommands = "render"},
    {.id = OPTION_WORKSPACE,
     .name = "workspace",
     .argument = "DIR",
     .type = OPTION_DIRECTORY,
     .summary = "the workspace whose items are meant (default: found from the working directory)"},
    CONTEXT_DB_OPTION,
    {.id = OPTION_JSON, .name = "json", .summary = "print the structured result"},
    HELP_OPTION,
    {0},
};

// --- setup ---------------------------------------------------------------------------------------

static const struct option_row setup_options[] = {
    {.id = OPTION_HTTP,
     .name = "http",
     .argument = "[HOST:]PORT|URL",
     .summary = "connect to a running server instead of starting one"},
    {.id = OPTION_TOKEN_FILE,
     .name = "token-file",
     .argument = "FILE",
     .type = OPTION_PATH,
     .summary = "its token (default: the one of the state directory, or CADRE_TOKEN)"},
    {.id = OPTION_PROJECT,
     .name = "project",
     .argument = "DIR",
     .type = OPTION_DIRECTORY,
     .summary = "write the file of this project, for everyone who works on it; a token is only "
                "named in it, as CADRE_TOKEN of the environment"},
    {.id = OPTION_PRINT, .name = "print", .summary = "print the configuration, change nothing"},
    {.id = OPTION_REMOVE, .name = "remove", .summary = "take the entry out again"},
    {.id = OPTION_YES, .name = "yes", .summary = "do not ask before writing"},
    HELP_OPTION,
    {0},
};

// --- config and trust ----------------------------------------------------------------------------

static const struct option_row config_options[] = {
    {.id = OPTION_WORKSPACE,
     .name = "workspace",
     .argument = "DIR",
     .type = OPTION_DIRECTORY,
     .summary = "the workspace (default: the project around the working directory)"},
    {.id = OPTION_JSON, .name = "json", .summary = "print JSON"},
    {.id = OPTION_SCHEMA,
     .name = "schema",
     .summary = "print the JSON Schema of configuration files, for editors"},
    HELP_OPTION,
    {0},
};

static const struct option_row trust_options[] = {
    {.id = OPTION_LIST, .name = "list", .summary = "list what is trusted"},
    {.id = OPTION_REMOVE, .name = "remove", .summary = "trust the directories no longer"},
    HELP_OPTION,
    {0},
};

// --- ui ------------------------------------------------------------------------------------------

static const struct option_row ui_options[] = {
    {.id = OPTION_HTTP,
     .name = "http",
     .argument = "[HOST:]PORT",
     .summary = "the page of a server that listens there (default: the daemon's page)"},
    {.id = OPTION_TOKEN_FILE,
     .name = "token-file",
     .argument = "FILE",
     .type = OPTION_PATH,
     .summary = "its token (default: the one of the state directory, or CADRE_TOKEN)"},
    {.id = OPTION_PRINT, .name = "print", .summary = "print the address, open nothing"},
    SBCL_OPTION,
    SANDBOX_OPTIONS,
    HELP_OPTION,
    {0},
};

// --- doctor --------------------------------------------------------------------------------------

static const struct option_row doctor_options[] = {
    {.id = OPTION_CLIENT,
     .name = "client",
     .argument = "CLIENT",
     .type = OPTION_CHOICE,
     .choices = CLIENTS,
     .summary = "print the configuration for an MCP client instead, as cadre setup --print does"},
    SBCL_OPTION,
    SANDBOX_OPTIONS,
    HELP_OPTION,
    {0},
};

// --- the commands --------------------------------------------------------------------------------

const struct command_row command_table[COMMAND_COUNT] = {
    [COMMAND_SERVE] =
        {.name = "serve",
         .summary = "MCP server on standard input/output, or on HTTP",
         .usage = "[OPTION...]",
         .description = "Serves MCP to the client on standard input/output, or to many clients "
                        "on HTTP. On standard input/output the sessions are those of the "
                        "workspace: the daemon has them, which is started when there is none, "
                        "and they outlive this process, on HTTP too. With --private, and for the "
                        "holders of other tokens than the user's, they end with it.",
         .options = serve_options,
         .examples = "cadre serve\n"
                     "cadre serve --http 7433\n"
                     "cadre serve --tools core --timeout 120\n"},
    [COMMAND_DAEMON] =
        {.name = "daemon",
         .summary = "the process that owns the sessions of all workspaces",
         .usage = "[OPTION...]\n"
                  "status | stop",
         .description =
             "Owns the sessions of all workspaces of a user, so that they outlive the clients. "
             "cadre serve starts it when there is none, in the background; this command runs it "
             "in the foreground. It ends by itself when no client is connected and no session "
             "has a live process.",
         .subcommands = daemon_subcommands,
         .options = daemon_options,
         .notes = "Its socket is $XDG_RUNTIME_DIR/cadre/daemon.sock, its log "
                  "$XDG_STATE_HOME/cadre/daemon.log when it was started in the background.",
         .examples = "cadre daemon status\n"
                     "cadre daemon stop\n"},
    [COMMAND_EVAL] =
        {.name = "eval",
         .summary = "evaluate Common Lisp in a crash-proof session",
         .usage = "[OPTION...] CODE|FILE|- [-- ARGUMENT...]",
         .description =
             "Evaluates Common Lisp forms. Output appears as it comes; then the values on "
             "standard output, or the error on standard error. An argument that names a file or "
             "ends in .lisp is read from that file; - reads the code from standard input; "
             "anything else is code.\n\n"
             "The code reads standard input; the time it waits for it does not count. What "
             "follows -- is for the code: (rest sb-ext:*posix-argv*).",
         .options = eval_options,
         .operand = {.taken = true, .type = OPTION_PATH},
         .notes = "Exit status: 0 success, 1 the evaluation failed, 2 wrong usage.",
         .examples = "cadre eval '(+ 1 2)'\n"
                     "cadre eval --session main '(defun f (x) (* x 2))'\n"
                     "cadre eval --timeout 5 script.lisp -- first second\n"
                     "echo '(princ \"hello\")' | cadre eval -\n"},
    [COMMAND_REPL] =
        {.name = "repl",
         .summary = "interactive Common Lisp with undo, restarts and frames",
         .usage = "[OPTION...]",
         .description =
             "Interactive Common Lisp, in the session of the workspace that agents use, too: what "
             "they evaluate appears as it happens. Input may span several lines; :help lists the "
             "commands. Tab completes, Ctrl-C interrupts an evaluation, Ctrl-D leaves; the session "
             "stays. Evaluations have no time limit unless --timeout sets one.",
         .options = repl_options,
         .examples = "cadre repl\n"
                     "cadre repl --session experiments\n"
                     "cadre repl --private\n"
                     "cadre repl --package my-project --timeout 60\n"},
    [COMMAND_RUN] =
        {.name = "run",
         .summary = "run a PTC-Lisp program, print its Step",
         .usage = "FILE|- [OPTION...]\n"
                  "-e SOURCE [OPTION...]\n"
                  "--batch FILE|-\n"
                  "--builtins | --guide",
         .description = "Runs a program from a file, from standard input (-) or from an argument "
                        "(-e), and prints the Step as one line of JSON.",
         .options = run_options,
         .operand = {.taken = true, .type = OPTION_PATH},
         .notes = "A batch record has program and optionally id, context, memory, tools, "
                  "signature, validation and options (an object of limits); --batch takes no "
                  "other options.\n"
                  "\n"
                  "Exit status: 0 success, 1 failed Step, 2 wrong usage.",
         .examples = "cadre run -e '(+ 1 2)'\n"
                     "cadre run report.ptc --context orders.json\n"},
    [COMMAND_CONTEXT] =
        {.name = "context",
         .summary = "items for prompts: add, list, show, search, rm, clear, render, pin",
         .usage = "COMMAND [OPTION...] [ARGUMENT...]",
         .description = "Keeps items of code, text, files, history and errors, and renders them "
                        "as Markdown for prompts.",
         .subcommands = context_subcommands,
         .options = context_options,
         .notes = "Exit status: 0 success, 1 the store refused, 2 wrong usage.",
         .examples = "cadre context add --file src/main.lisp:10-40\n"
                     "cadre context render --max-chars 8000\n"},
    [COMMAND_SESSIONS] =
        {.name = "sessions",
         .summary = "kept sessions: list, show, watch, fork, save, export and more",
         .usage = "[SUBCOMMAND] [NAME] [NUMBER] [OPTION...]",
         .description = "Sessions that cadre serve has kept, of all workspaces. NAME is main where "
                        "none is given.",
         .subcommands = sessions_subcommands,
         .options = sessions_options,
         .examples = "cadre sessions\n"
                     "cadre sessions export > project.lisp\n"
                     "cadre sessions fork main@12 before\n"
                     "cadre sessions watch\n"},
    [COMMAND_SETUP] =
        {.name = "setup",
         .summary = "connect an MCP client to this server",
         .usage = "CLIENT [OPTION...] [-- OPTION of serve...]",
         .description =
             "Writes an entry named cadre into the configuration of an MCP client: claude-code, "
             "claude-desktop, cursor, vscode, codex, gemini, opencode, zed, windsurf, copilot-cli "
             "or goose. Shows what changes, asks on a terminal, keeps a backup beside the file, "
             "and leaves everything else in it as it is, comments too. Says what else the client "
             "wants.",
         .options = setup_options,
         .operand = {.taken = true, .choices = CLIENTS},
         .notes = "Exit status: 0 success, 1 nothing was changed, 2 wrong usage.",
         .examples = "cadre setup claude-code\n"
                     "cadre setup cursor -- --tools core\n"
                     "cadre setup codex --http 7433\n"
                     "cadre setup vscode --project . --print\n"
                     "cadre setup gemini --remove\n"},
    [COMMAND_CLUSTER] =
        {.name = "cluster",
         .summary = "nodes and workspaces of the cluster of this machine's daemon",
         .usage = "status | drain NODE",
         .description =
             "Asks the daemon of this machine, a node of a cluster (cadre daemon --cluster), what "
             "it "
             "knows of the nodes and of who owns which workspace; or lets a node give up its "
             "workspaces: each is saved and goes to another node with the next request for it, and "
             "none is lost. The node takes no others until it is started again.",
         .subcommands = cluster_subcommands,
         .options = cluster_options,
         .examples = "cadre cluster status\n"
                     "cadre cluster drain node2\n"},
    [COMMAND_CONFIG] =
        {.name = "config",
         .summary = "show the settings and where they come from",
         .usage = "[OPTION...] [NAME]",
         .description =
             "Prints every setting, its value and where the value comes from, or the value of one "
             "setting.\n"
             "\n"
             "Settings are options under the same names. From the weakest to the strongest they "
             "come from $XDG_CONFIG_HOME/cadre/config.json; from .cadre/config.json in the "
             "workspace, once it is trusted (cadre trust) and only as far as a workspace may "
             "decide; from CADRE_NAME in the environment, in capitals and with _ for -; from the "
             "command line. A configuration file is a JSON object, for example {\"timeout\": 60, "
             "\"tools\": \"core\"}.",
         .options = config_options,
         .notes = "Exit status: 0 success, 1 no such setting, 2 a file or variable is wrong.",
         .examples = "cadre config\n"
                     "cadre config timeout\n"
                     "cadre config --schema > cadre.schema.json\n"},
    [COMMAND_UI] =
        {.name = "ui",
         .summary = "open the page on which one sees what agents do",
         .usage = "[OPTION...]",
         .description =
             "Opens the inspector in the browser, for the workspace of the working directory, and "
             "prints its address with the user's token: whoever has the address can do what the "
             "token's holder can. The page is the daemon's, which is started when there is none; "
             "it listens on port 7433 of 127.0.0.1, or on any free one where that is taken, and "
             "stays until the daemon ends.",
         .options = ui_options,
         .notes = "A session that the page starts may reach what the options say; those that are "
                  "there stay as they are.",
         .examples = "cadre ui\n"
                     "cadre ui --workspace ~/src/my-project\n"
                     "cadre ui --http 8080 --print\n"},
    [COMMAND_TRUST] =
        {.name = "trust",
         .summary = "let files of a workspace decide things",
         .usage = "DIR...\n"
                  "--list\n"
                  "--remove DIR...",
         .description =
             "The files .cadre/config.json, .cadre/init.lisp, .cadre/programs/* and .mcp.json of a "
             "workspace count only after they were trusted as they are now: read them, then run "
             "cadre trust. A file that changes does not count until it is trusted again.\n"
             "\n"
             "What a session may reach, listeners, tokens, tools of programs and the Lisp itself "
             "are never taken from a workspace, except to allow less.",
         .options = trust_options,
         .operand = {.taken = true, .type = OPTION_DIRECTORY},
         .notes = "Exit status: 0 success, 1 failure, 2 wrong usage.",
         .examples = "cadre trust ~/src/my-project\n"
                     "cadre trust --list\n"},
    [COMMAND_TOOLS] = TOOLS_COMMAND,
    [COMMAND_FIX] = FIX_COMMAND,
    [COMMAND_TEST] = TEST_COMMAND,
    [COMMAND_HOOK] = HOOK_COMMAND,
    [COMMAND_DOCTOR] =
        {.name = "doctor",
         .summary = "check this machine; print a client's configuration",
         .usage = "[--client CLIENT] [--sbcl PROGRAM]",
         .description =
             "Checks kernel features and limits; starts SBCL with its core, evaluates a form "
             "and loads a module. Says how to mend what does not work.",
         .options = doctor_options,
         .notes = "Exit status: 0 everything works, 1 there are problems, 2 wrong usage.",
         .examples = "cadre doctor\n"},
};

// --- looking up ----------------------------------------------------------------------------------

const struct command_row *command_find(const char *name)
{
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (strcmp(command_table[i].name, name) == 0)
            return &command_table[i];
    return NULL;
}

const struct option_row *command_option(const struct command_row *command, struct span name)
{
    for (const struct option_row *row = command->options; row->name; row++)
        if (span_equal_text(name, row->name))
            return row;
    return NULL;
}

struct span command_suggest(const char *name)
{
    struct suggestion best = {0};
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        suggest_closer(&best, span_from(name), span_from(command_table[i].name));
    return best.name;
}

struct span command_suggest_option(const struct command_row *command, struct span name)
{
    struct suggestion best = {0};
    for (const struct option_row *row = command->options; row->name; row++)
        suggest_closer(&best, name, span_from(row->name));
    return best.name;
}

bool option_is_short(const struct option_row *row)
{
    return strlen(row->name) == 1;
}

struct span option_list_next(const char **list)
{
    const char *start = *list + strspn(*list, " ");
    struct span word = {start, strcspn(start, " ")};
    *list = start + word.length;
    return word;
}

bool option_list_contains(const char *list, struct span word)
{
    for (struct span each = option_list_next(&list); each.length; each = option_list_next(&list))
        if (span_equal(each, word))
            return true;
    return false;
}
