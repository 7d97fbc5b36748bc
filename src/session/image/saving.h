// Saving a session while it works on: a table of its own beside that of the session
// (docs/session-states.md). A copy of the newest snapshot saves itself as a core into a file in
// memory; a worker compresses that (image_file.h).
#pragma once

#include <event2/event.h>
#include <stdbool.h>
#include <stdint.h>

#include "session/channel.h"
#include "session/session.h"

struct link;
struct process_exit;
struct session;
struct worker;

enum save_state {
    SAVE_NONE,     // nothing is being saved; a timer may be set for the next one
    SAVE_WAKING,   // a copy of a snapshot is awaited
    SAVE_WRITING,  // it saves itself
    SAVE_PACKING,  // the image is written
    SAVE_STATE_COUNT,
};

struct saving {
    enum save_state state;
    struct event *timer;
    struct worker *source;   // WAKING: the snapshot
    struct link *awaited;    // WAKING: of the copy
    struct worker *process;  // WRITING, PACKING
    int core_fd;             // -1: none
    int64_t number;          // of the state that is saved now
    int64_t saved;           // of the newest image, -1 = none
    int64_t started_ms;
    int64_t not_before_ms;  // of the next one
    bool at_once;           // the next one does not wait
    bool is_urgent;         // its processes have the usual priority
    bool has_failed;        // the last one
    unsigned tries;         // NONE: of a snapshot; WAKING: of waking it
    bool is_refused;        // WAKING: the snapshot could not clone itself
    bool has_threads;       // WRITING: what is not saved
    unsigned listening;
    int64_t files;
    char *description;  // JSON of the image that is made now
    char *reason;       // WRITING: why the copy cannot save itself, in its own words; or NULL
    char *failure;      // why the last save failed; NULL: it did not, or another one was asked for
    // Of the newest image:
    bool saved_threads;
    unsigned saved_listening;
};

void saving_init(struct session *session);
void saving_release(struct session *session);

// The session has a new state: it is saved when it has been left alone for a while.
void saving_note(struct session *session);
// Saves the current state as soon as it can be, if it is not saved.
void saving_hurry(struct session *session);
// Somebody wants the current state saved and asks until it is done or has failed; `again`: not for
// the first time. *ret_reason is set when it has failed, and lives until the next save.
enum save_outcome saving_request(struct session *session, bool again, const char **ret_reason);
// Whether the current state is not saved yet and can be.
bool saving_is_due(const struct session *session);

// Events of its processes. The message is from the link that is awaited or from the copy.
void saving_on_message(struct session *session, struct link *link,
                       const struct channel_message *message);
void saving_on_exit(struct session *session, const struct worker *worker,
                    const struct process_exit *exit);
// A snapshot could not clone itself. True: it was asked for the copy that saves itself.
bool saving_on_wake_failed(struct session *session, const struct worker *source);
bool saving_owns(const struct session *session, const struct link *link);
