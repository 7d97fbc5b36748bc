// Rows of the table of options that all commands share which start Lisp sessions.
#pragma once

#include "cli/table/command_table.h"

// What sessions may reach (docs/security.md).
#define SANDBOX_OPTIONS                                                                      \
    {.id = OPTION_SANDBOX,                                                                   \
     .name = "sandbox",                                                                      \
     .argument = "MODE",                                                                     \
     .type = OPTION_CHOICE,                                                                  \
     .choices = "off workspace strict",                                                      \
     .summary = "what Lisp code may reach: workspace (default), strict (no network, writes " \
                "nothing that is kept), off (all its user may)",                             \
     .fallback = "workspace",                                                                \
     .source = FROM_ANYONE_NARROWER},                                                        \
        {.id = OPTION_WORKSPACE,                                                             \
         .name = "workspace",                                                                \
         .argument = "DIR",                                                                  \
         .type = OPTION_DIRECTORY,                                                           \
         .summary = "the directory it works on (default: the project "                       \
                    "around the working directory)",                                         \
         .source = FROM_COMMAND_LINE},                                                       \
        {.id = OPTION_ALLOW_READ,                                                            \
         .name = "allow-read",                                                               \
         .argument = "PATH",                                                                 \
         .type = OPTION_DIRECTORY,                                                           \
         .summary = "let it read this, too (repeatable)",                                    \
         .repeatable = true,                                                                 \
         .source = FROM_USER},                                                               \
        {.id = OPTION_ALLOW_WRITE,                                                           \
         .name = "allow-write",                                                              \
         .argument = "PATH",                                                                 \
         .type = OPTION_DIRECTORY,                                                           \
         .summary = "let it read and write this, too (repeatable)",                          \
         .repeatable = true,                                                                 \
         .source = FROM_USER},                                                               \
        {.id = OPTION_NO_NETWORK,                                                            \
         .name = "no-network",                                                               \
         .summary = "give it no network, not even this machine's",                           \
         .source = FROM_ANYONE_NARROWER},                                                    \
        {.id = OPTION_ALLOW_UNIX_SOCKETS,                                                    \
         .name = "allow-unix-sockets",                                                       \
         .summary = "let it use Unix sockets (docker, dbus, ssh-agent)",                     \
         .source = FROM_USER},                                                               \
    {                                                                                        \
        .id = OPTION_PASS_ENV, .name = "pass-env", .argument = "NAME",                       \
        .summary = "pass this environment variable, though its name looks like a secret "    \
                   "(repeatable)",                                                           \
        .repeatable = true, .source = FROM_USER                                              \
    }
