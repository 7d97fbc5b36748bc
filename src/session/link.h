// What connects the supervisor with one process of a session: a channel and, when the process
// works, two pipes for its output. No two processes share one, and each is made for its process: a
// parked process has a channel alone, and its clone that is woken gets a channel and pipes of its
// own. So what user code does to its descriptors (shut them down, make them non-blocking, attach a
// filter, let a child read them) ends with its process.
//
// A process that has ended may leave children behind that still write to its pipes. Such a link is
// retired: its pipes are read until the last writer is gone, so that none of them dies of SIGPIPE.
//
// All pipes of a session feed its two captures. Without a request they are read up to max-output
// characters and no further: a child that writes without end waits then, and costs nothing.
//
// Limits: SESSION_RETIRED_LINKS retired links per session, then the oldest is closed.
#pragma once

#include <event2/event.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/span.h"
#include "session/channel.h"

struct capture;
struct session;
struct worker;

struct output_pipe {
    struct link *link;
    struct capture *capture;
    int fd;         // ours, non-blocking; -1 = none, or its last writer is gone
    int worker_fd;  // until it is handed over
    struct event *read_event;
    bool paused;  // the capture is full and nobody asked for more
};

struct link {
    struct link *next;  // all links of the session
    struct session *session;
    struct worker *worker;  // NULL: not known yet, or gone
    pid_t parked;           // who said that it is parked here; 0 = nobody yet
    bool retired;
    bool for_snapshot;  // offered with SNAP
    struct channel channel;
    struct output_pipe output;
    struct output_pipe errors;
};

// NULL with errno: the kernel refused it.
struct link *link_new(struct session *session, bool with_pipes);
void link_free(struct link *link);  // NULL is allowed
// Sends the worker's ends of `offered` with a message; the pipes' ends are closed here afterwards,
// and the channel's end too when it is for a process that will be parked. 0 or negative errno.
int link_offer(struct link *link, uint32_t type, uint32_t number, struct span payload,
               struct link *offered);
// The worker has been started with its ends.
void link_close_write_ends(struct link *link);
// Its process has ended.
void link_retire(struct link *link);
// Nothing that its pipes may still bring is wanted.
void link_close_pipes(struct link *link);

// Reads what is in the pipes now, but never endlessly.
void session_drain_output(struct session *session);
// Everything that could write to the pipes of ended processes has been killed.
void session_close_retired(struct session *session);
// A request begins: pipes that waited are read again.
void session_resume_output(struct session *session);
