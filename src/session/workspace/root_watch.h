// Watches the root of the workspace while sessions run: of the protected names (protected.h) what is
// absent and appears was made by a session, or by somebody who will do it again when he is told. It
// is moved aside, to NAME.moved-aside, and the sessions' clients are told. A symbolic link of such a
// name, which cannot be protected as a file or directory is, is put back when it was changed.
#pragma once

#include <event2/event.h>
#include <stdbool.h>

enum { ROOT_WATCH_NAMES = 16 };

struct root_watch;

// What was done, as a sentence; `data` as given to root_watch_new().
typedef void root_watch_fn(void *data, const char *message);

// From now on; `workspace` is a real path. 0 or negative errno: nothing is watched.
int root_watch_new(struct event_base *base, const char *workspace, root_watch_fn *told, void *data,
                   struct root_watch **ret_watch);
void root_watch_free(struct root_watch *watch);

// Looks now at what has happened since the last time; as the event loop does by itself, but in time
// for an answer. NULL: no watch.
void root_watch_look(struct root_watch *watch);
