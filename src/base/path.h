// Directories of the user: where caches and state live (XDG), and making them.
#pragma once

// Creates the directory and what is missing above it, mode 0700. 0 or negative errno.
int path_make_directories(const char *directory);

// "$XDG_STATE_HOME/cadre/NAME" or "$HOME/.local/state/cadre/NAME"; "$XDG_CACHE_HOME/cadre/NAME" or
// "$HOME/.cache/cadre/NAME". Owned by the caller; NULL when the environment names no absolute home.
char *path_in_state(const char *name);
char *path_in_cache(const char *name);
