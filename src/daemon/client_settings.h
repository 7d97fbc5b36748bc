// The options of `cadre serve` as a client sends them to the daemon: those of its connection, and
// those that are fixed for the sessions of its workspace.
#pragma once

#include "base/error.h"
#include "session/session.h"
#include "value/value.h"

enum { SETTINGS_NAMES_MAX = 32 };

struct settings {
    // Of the connection:
    const char *selection;
    bool structured_results;
    int64_t yield;
    const char *auto_context;                     // NULL: as the store says
    const char *context_db;                       // NULL: that of the workspace
    const char *program_tools;                    // NULL: none
    const char *servers[SETTINGS_NAMES_MAX + 1];  // files of MCP servers
    const char *imports[SETTINGS_NAMES_MAX + 1];  // clients whose MCP servers are taken
    // Of the sessions. The lists of its sandbox are those below.
    struct session_config sessions;
    const char *allow_read[SETTINGS_NAMES_MAX + 1];
    const char *allow_write[SETTINGS_NAMES_MAX + 1];
    const char *pass_environment[SETTINGS_NAMES_MAX + 1];
};

// As a map; relative paths are those of this process and become absolute.
value settings_write(struct region *region, const struct settings *settings);
// The strings are in `region`. False: not such a map.
bool settings_read(struct region *region, value map, struct settings *ret_settings,
                   struct error *error);
// Whether the MCP servers of this client are taken.
bool settings_import(const struct settings *settings, const char *client);
// A string as text in `region`; NULL: it is none.
char *settings_text(struct region *region, value item);
// What must be the same for all clients of a workspace, as text.
void settings_write_fixed(struct buffer *text, const struct settings *settings);
