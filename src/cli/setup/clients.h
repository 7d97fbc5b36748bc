// The known MCP clients: where their configuration is, in which format, and what an entry for this
// server looks like in it.
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "value/value.h"

enum client_format { CLIENT_JSON, CLIENT_TOML, CLIENT_YAML };

// What the entry says.
struct client_server {
    const char *program;  // the path of cadre
    char *const *arguments;
    int argument_count;  // options of `cadre serve`
    const char *url;     // HTTP instead of standard input/output; or NULL
    const char *token;   // for HTTP; or NULL
    bool is_project;     // for a file that others may read: no token in it, no path of this machine
    bool is_cached;      // the program is in the cache of npx, which is emptied now and then
};

struct client {
    const char *name;
    const char *title;
    enum client_format format;
    const char *outer;     // the object that holds the servers
    const char *variable;  // names the directory of the file instead
    bool in_config_home;   // the file is below $XDG_CONFIG_HOME, otherwise below the home directory
    const char *path;      // of the user's file
    const char *alternative;   // used instead of it when it exists
    const char *file;          // its name in the directory that the variable names
    const char *project_path;  // of a project's file; or NULL
    const char *reference;     // how its files name a variable of the environment; or NULL
    value (*entry)(struct region *region, const struct client_server *server);
    const char *advice;          // what else it wants
    const char *project_advice;  // the same, for a project's file
};

// NULL: there is none.
const struct client *client_find(const char *name);
const struct client *client_closest(const char *name);
// The path of its file, owned by the caller; `project` is a directory or NULL. NULL with a message.
char *client_path(const struct client *client, const char *project, struct error *error);
// The entry; nil with a message when the client cannot be connected so.
value client_entry(const struct client *client, struct region *region,
                   const struct client_server *server, struct error *error);
