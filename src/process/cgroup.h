// Control groups of sessions: everything a session has started is in one group, whatever it does to
// its parents, kernel session, marks or environment. The kernel counts it and refuses more, and stops
// it all at once, so that a flood of processes can be killed without outrunning the search for them.
//
// Of version 2 where this process may make groups below its own (as root, or in a subtree that was
// delegated); the number of processes by version 1 where version 2 does not count them. Everything
// here may be missing: then the server counts and searches (offspring.h).
#pragma once

#include <stdbool.h>
#include <sys/types.h>

// The groups of one server.
struct cgroup_tree;

// NULL: no group can be made here. Removes what servers that were killed have left.
struct cgroup_tree *cgroup_tree_new(void);
void cgroup_tree_free(struct cgroup_tree *tree);
bool cgroup_tree_counts(const struct cgroup_tree *tree);
bool cgroup_tree_freezes(const struct cgroup_tree *tree);

struct cgroup;

// With room for `tasks` processes and threads. NULL: it cannot be made.
struct cgroup *cgroup_new(const struct cgroup_tree *tree, unsigned number, unsigned tasks);
// Its processes must have ended; else the group stays until the tree is freed.
void cgroup_free(struct cgroup *cgroup);
// In a child, before it starts anything. Async-signal-safe.
void cgroup_enter(const struct cgroup *cgroup);
// Moves a process from another group of the tree into this one.
void cgroup_take(const struct cgroup *cgroup, pid_t pid);
// Stops all its processes, and lets them go on; those that were killed end nevertheless.
bool cgroup_freeze(const struct cgroup *cgroup);
void cgroup_thaw(const struct cgroup *cgroup);
