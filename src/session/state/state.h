// The table of a session: state × event → action, which gives the next state. Nothing is handled
// outside it. States and cells are those of docs/session-states.md; every state has a timer that
// leads out of it (RUNNING only when the call has a timeout).
#pragma once

#include <stdbool.h>

enum session_state {
    STATE_DOWN,       // no process
    STATE_RESTORING,  // an image is unpacked
    STATE_STARTING,   // a core is being built, or a worker has been started and has not said hello
    STATE_IDLE,       // the head waits; it may be running finalizers
    STATE_RUNNING,    // the head works on a request
    STATE_INTERRUPTING,  // … and was asked to stop
    STATE_STOPPING,      // … and is being killed
    STATE_CLEARING,      // … and has answered; what it started is ending
    STATE_SNAPSHOTTING,  // the head makes a snapshot
    STATE_WAKING,        // the old head goes, a snapshot becomes head
    STATE_COPY,          // a copy works on a request, or is being made the head
    STATE_RESTING,       // its state is saved, its processes are ending
    STATE_CLOSING,       // all processes are being killed
    STATE_COUNT,
};

enum session_event_kind {
    EVENT_REQUEST,    // a request is first in the queue
    EVENT_MESSAGE,    // a message from the head, the copy, or a process that was woken
    EVENT_SNAPPED,    // the head announces a snapshot
    EVENT_HEAD_EXIT,  // the head has ended, or the process that should have become head
    EVENT_TIMER,
    EVENT_CANCEL,  // the running request is to be stopped
    EVENT_COPY_EXIT,
    EVENT_REST,      // the session is to give up its processes
    EVENT_SNAPSHOT,  // the current state is to be saved and has no snapshot
    EVENT_COUNT,
};

struct session;
struct channel_message;
struct process_exit;

struct session_event {
    enum session_event_kind kind;
    const struct channel_message *message;  // MESSAGE, SNAPPED
    const struct process_exit *exit;        // HEAD_EXIT, COPY_EXIT
    bool unread;                            // HEAD_EXIT: it had not read the running request
    bool channel_lost;  // HEAD_EXIT, COPY_EXIT: it was ended because its channel was shut down
    bool robbed;        // HEAD_EXIT: it was ended because another process took its request
};

typedef enum session_state session_action_fn(struct session *session,
                                             const struct session_event *event);

const char *session_state_name(enum session_state state);  // "idle"
const char *session_event_name(enum session_event_kind kind);

// Runs the action of the cell, enters the next state, then begins requests while the session is
// idle.
void session_handle(struct session *session, const struct session_event *event);
