// Names in the workspace that decide what other programs do when they are started there: sessions
// may read them, and not change them.
#pragma once

#include "session/workspace/reach.h"

extern const char *const protected_names[];
extern const size_t protected_name_count;

// Those that exist: into `protect`. What git needs for a worktree whose repository lies elsewhere:
// into `read`.
void protected_collect(const char *workspace, struct path_list *read, struct path_list *protect);
bool protected_is_name(const char *name);

void path_list_add(struct path_list *list, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void path_list_append(struct path_list *list, const struct path_list *more);
void path_list_release(struct path_list *list);
