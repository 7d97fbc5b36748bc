// Options that come from elsewhere than the command line. From the weakest to the strongest:
//   $XDG_CONFIG_HOME/cadre/config.json   the user's
//   .cadre/config.json                   of the workspace: once trusted, and only what a workspace may
//                                        decide (enum option_source)
//   CADRE_NAME                           the environment
// Names and values are those of the options; the command line is above all of them.
#pragma once

#include "cli/table/command_table.h"
#include "session/workspace/trust.h"
#include "value/value.h"

enum setting_origin {
    SETTING_DEFAULT,
    SETTING_USER,
    SETTING_WORKSPACE,
    SETTING_ENVIRONMENT,
};

struct setting {
    enum setting_origin origin;
    value values;       // vector of strings, as on the command line; of a flag "true" or "false"
    const char *place;  // the file or the variable
};

struct configuration {
    struct region *region;  // owns values and places
    struct setting settings[OPTION_COUNT];
    char *user_path;  // or NULL
    bool has_user_file;
    char *workspace;       // the directory, or NULL
    char *workspace_path;  // of its file
    enum trust workspace_trust;
    value notes;  // vector of strings: what was found and is not used, and why
};

// False with a message: a file that counts is wrong. `workspace` is the directory that was given, or
// NULL to look for it. Must be released in both cases.
bool configuration_load(struct configuration *ret_configuration, const char *workspace,
                        struct error *error);
// The text as a C string that lives as long as the configuration.
const char *configuration_text(struct configuration *configuration, struct span text);
void configuration_release(struct configuration *configuration);

// The row of an option that may be configured, or NULL.
const struct option_row *configuration_row(struct span name);
// The first such row, or the next one; each name once. NULL at the end.
const struct option_row *configuration_next_row(const struct option_row *last);
// "CADRE_MAX_MEMORY"; false: the environment does not set this option.
enum { CONFIGURATION_VARIABLE_SIZE = 64 };
bool configuration_variable(const struct option_row *row,
                            char ret_name[CONFIGURATION_VARIABLE_SIZE]);
