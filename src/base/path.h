// Directories of the user: where caches and state live (XDG), and making them; the program's own place.
#pragma once

// Creates what is missing above the file, mode 0700. 0 or negative errno.
int path_make_parents(const char *file);
// The same, and the directory itself.
int path_make_directories(const char *directory);

// "$XDG_STATE_HOME/cadre/NAME" or "$HOME/.local/state/cadre/NAME"; "$XDG_CACHE_HOME/cadre/NAME" or
// "$HOME/.cache/cadre/NAME"; "$XDG_CONFIG_HOME/cadre/NAME" or "$HOME/.config/cadre/NAME";
// "$XDG_RUNTIME_DIR/cadre/NAME". Owned by the caller; NULL when the environment names no absolute home.
char *path_in_state(const char *name);
char *path_in_cache(const char *name);
char *path_in_configuration(const char *name);
char *path_in_runtime(const char *name);

// The executable of this process, " (deleted)" behind it when the file is gone; "" where it cannot be
// read. Owned by the caller. Of a process that is not dumpable nobody else can tell.
char *path_of_program(void);

// Opens a real path as it is: -1 with ELOOP where something on the way is a symbolic link by now. So a
// directory that others may write cannot lead elsewhere.
int path_open_real(const char *path, int flags);
