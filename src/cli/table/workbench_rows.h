// Rows of the table for work on Lisp files: `cadre fix`, `cadre hook`, `cadre test`.
#pragma once

#include "cli/table/sandbox_rows.h"
#include "cli/table/shared_rows.h"

// --- fix and hook --------------------------------------------------------------------------------

static const struct option_row fix_options[] = {
    {.id = OPTION_CHECK, .name = "check", .summary = "show what would change, change nothing"},
    {.id = OPTION_BASE,
     .name = "base",
     .argument = "FILE",
     .type = OPTION_PATH,
     .summary = "an earlier version of the file that was balanced (default: what git has)"},
    HELP_OPTION,
    {0},
};

static const struct option_row hook_options[] = {HELP_OPTION, {0}};

// --- test ----------------------------------------------------------------------------------------

static const struct option_row test_options[] = {
    {.id = OPTION_TIMEOUT,
     .name = "timeout",
     .argument = "SECONDS",
     .type = OPTION_NUMBER,
     .low = 1,
     .high = 86400,
     .summary = "time limit of one test (default 30)",
     .fallback = "30"},
    {.id = OPTION_JOBS,
     .name = "jobs",
     .argument = "N",
     .type = OPTION_NUMBER,
     .low = 1,
     .high = 64,
     .summary = "tests at a time (default 1: they share files and ports)",
     .fallback = "1"},
    {.id = OPTION_ISOLATE,
     .name = "isolate",
     .argument = "WHAT",
     .type = OPTION_CHOICE,
     .choices = "test suite none",
     .summary = "what has a process of its own: each test (default), each suite, or nothing",
     .fallback = "test"},
    {.id = OPTION_FRAMEWORK,
     .name = "framework",
     .argument = "NAME",
     .summary = "only tests of this framework: FiveAM, Parachute, Rove, lisp-unit2, RT, Prove"},
    {.id = OPTION_JUNIT,
     .name = "junit",
     .argument = "FILE",
     .type = OPTION_PATH,
     .summary = "write the results to this file as JUnit XML"},
    {.id = OPTION_WATCH,
     .name = "watch",
     .summary = "run the tests again whenever a file of the systems changes, until Ctrl-C"},
    SBCL_OPTION,
    SANDBOX_OPTIONS,
    HELP_OPTION,
    {0},
};

#define FIX_COMMAND                                                                              \
    {                                                                                            \
        .name = "fix", .summary = "repair the parentheses of Lisp files",                        \
        .usage = "[--check] [--base FILE] FILE...\n"                                             \
                 "[--base FILE] - <IN >OUT",                                                     \
        .description =                                                                           \
            "Repairs unbalanced Lisp text: from its indentation, and from the earlier version "  \
            "that git has (the index, else the last commit). Prints what it changes as a diff, " \
            "and where and why on standard error. What is balanced stays as it is; where two "   \
            "repairs are as likely, nothing is changed.\n"                                       \
            "\n"                                                                                 \
            "A line that begins with ( at the margin begins a top-level form. A file that is "   \
            "balanced, but not as its lines are indented, is only reported.",                    \
        .options = fix_options, .operand = {.taken = true, .type = OPTION_PATH},                 \
        .notes = "Exit status: 0 balanced or repaired, 1 not repaired (with --check: something " \
                 "to repair), 2 wrong usage.",                                                   \
        .examples = "cadre fix src/parser.lisp\n"                                                \
                    "cadre fix --check *.lisp\n"                                                 \
    }

#define TEST_COMMAND                                                                              \
    {                                                                                             \
        .name = "test", .summary = "run the tests of a Lisp system",                              \
        .usage = "[OPTION...] SYSTEM [TEST]",                                                     \
        .description =                                                                            \
            "Loads an ASDF system with its tests and runs each test in a process of its own, so " \
            "that a crash, a hang, an exhausted heap or an exit is that test's failure. TEST is " \
            "the name of a test or a suite. Failures are printed with form, values, file, line "  \
            "and output.",                                                                        \
        .options = test_options, .operand = {.taken = true},                                      \
        .notes =                                                                                  \
            "Exit status: 0 all tests have passed or were skipped, 1 some have failed or the "    \
            "system could not be loaded, 2 wrong usage.",                                         \
        .examples = "cadre test my-app\n"                                                         \
                    "cadre test --junit results.xml --jobs 4 my-app\n"                            \
                    "cadre test --watch my-app parses-header\n"                                   \
    }

#define HOOK_COMMAND                                                                               \
    {                                                                                              \
        .name = "hook", .summary = "check Lisp files that an editor has written",                  \
        .usage = "claude",                                                                         \
        .description =                                                                             \
            "For hooks of Claude Code, PostToolUse of Write and Edit: reads the event as JSON "    \
            "from standard input. A Lisp file that was written and is not balanced is repaired "   \
            "as cadre fix does; of one that was edited the model is told. Other files and "        \
            "balanced ones are passed over.",                                                      \
        .options = hook_options,                                                                   \
        .operand = {.taken = true, .type = OPTION_CHOICE, .choices = "claude"},                    \
        .notes = "Exit status: 0 success, 1 the file or the event cannot be read, 2 wrong usage.", \
        .examples = "cadre hook claude <event.json\n"                                              \
    }
