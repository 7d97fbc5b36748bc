// A process of its own kernel session whose standard streams are pipes. It has a mark, and an entry
// in its environment, that all it starts inherit: piped_end() finds and kills them, and a guardian
// does when this process is gone. The caller must be a child subreaper.
#pragma once

#include <event2/event.h>
#include <stdint.h>
#include <sys/types.h>

#include "process/process.h"

enum { PIPED_STREAMS = 3 };

struct guardian;
struct reaper;

struct piped {
    struct reaper *reaper;
    struct process process;
    pid_t group;
    int fds[PIPED_STREAMS];  // our ends, which do not block; -1 = closed
    char *entry;             // "CADRE_COMMAND=…"
    uint64_t since_tick;
    uint64_t mark;
    struct guardian *guardian;
};

void piped_init(struct piped *piped, struct reaper *reaper);
struct piped_request {
    const char *const *argv;    // ends in NULL; argv[0] is looked up in PATH
    const char *const *pass;    // variables that it gets though they look like secrets; or NULL
    const char *const *set;     // variables of its own, "NAME=value"; or NULL
    char *const *environment;   // what it has otherwise; NULL: that of this process
    const char *directory;      // NULL: that of this process
    event_callback_fn on_exit;  // called when it has ended; reap it then
    void *data;
};

// 0 or negative errno. To be released either way.
int piped_start(struct piped *piped, const struct piped_request *request);
void piped_close(struct piped *piped, int stream);
void piped_kill_group(struct piped *piped);
// Kills all that it has started, also what has left its group.
void piped_end(struct piped *piped);
void piped_release(struct piped *piped);
