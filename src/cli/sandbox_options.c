#include "cli/sandbox_options.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "session/workspace/workspace.h"

static enum sandbox_option add(const struct option_reader *reader, const char **names)
{
    for (size_t i = 0; i < SANDBOX_NAMES_MAX; i++)
        if (!names[i]) {
            names[i] = reader->argument;
            return SANDBOX_OPTION_TAKEN;
        }
    fprintf(stderr, "cadre %s: at most %d of --%s\n", reader->command->name, SANDBOX_NAMES_MAX,
            reader->row->name);
    return SANDBOX_OPTION_WRONG;
}

static enum sandbox_option add_path(const struct option_reader *reader, const char **names)
{
    struct stat status;
    if (stat(reader->argument, &status) == 0)
        return add(reader, names);
    fprintf(stderr, "cadre %s: --%s %s: %s\n", reader->command->name, reader->row->name,
            reader->argument, strerror(errno));
    return SANDBOX_OPTION_WRONG;
}

// What was given must be one that can be used: said now, and not at the first call.
static enum sandbox_option set_workspace(const struct option_reader *reader,
                                         struct session_sandbox *sandbox)
{
    struct workspace workspace;
    struct error error;
    if (!workspace_resolve(reader->argument, NULL, &workspace, &error)) {
        fprintf(stderr, "cadre %s: %s\n", reader->command->name, error.message);
        return SANDBOX_OPTION_WRONG;
    }
    workspace_release(&workspace);
    sandbox->workspace = reader->argument;
    return SANDBOX_OPTION_TAKEN;
}

enum sandbox_option sandbox_option_take(struct sandbox_options *options,
                                        struct session_sandbox *sandbox,
                                        const struct option_reader *reader)
{
    sandbox->allow_read = options->read;
    sandbox->allow_write = options->write;
    sandbox->pass_environment = options->pass;
    switch (reader->row->id) {
    case OPTION_SANDBOX:
        return sandbox_mode_parse(reader->argument, &sandbox->mode) ? SANDBOX_OPTION_TAKEN
                                                                    : SANDBOX_OPTION_WRONG;
    case OPTION_WORKSPACE: return set_workspace(reader, sandbox);
    case OPTION_ALLOW_READ: return add_path(reader, options->read);
    case OPTION_ALLOW_WRITE: return add_path(reader, options->write);
    case OPTION_PASS_ENV: return add(reader, options->pass);
    case OPTION_NO_NETWORK: sandbox->no_network = true; return SANDBOX_OPTION_TAKEN;
    case OPTION_ALLOW_UNIX_SOCKETS: sandbox->allow_unix_sockets = true; return SANDBOX_OPTION_TAKEN;
    default: return SANDBOX_OPTION_OTHER;
    }
}
