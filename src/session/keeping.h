// What is kept of a session on disk, where its manager has a store: its journal, its images, and the
// rules by which it gives up its processes (docs/workspaces.md).
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "value/value.h"

struct job;
struct session;
struct session_manager;

// Sessions that are in the store are there again, without processes.
void keeping_load(struct session_manager *manager);
// The session's directory and journal; no effect without a store.
void keeping_open(struct session *session);
void keeping_close(struct session *session);
// The session was reset: what was saved is not its state any more.
void keeping_drop_images(struct session *session);
// The session was closed by its user: nothing of it stays.
void keeping_remove(const struct session *session);

// --- the journal ---------------------------------------------------------------------------------

void keeping_started(struct session *session, const struct job *job);
void keeping_completed(struct session *session, const struct job *job, bool ok, value error);
void keeping_moved(struct session *session, const char *event);
// The session has the state of `from`: its journal says what that is made of.
void keeping_became(struct session *session, const struct session *from, const struct job *job);
// Appends numbers and codes of the first of these entries, and how many more there are.
void keeping_append_entries(value entries, struct buffer *text);
// Appends which evaluations came after the state `number`, from the journal.
void keeping_append_later(struct session *session, int64_t number, struct buffer *text);

// --- who was here --------------------------------------------------------------------------------

// Notices evaluations of other clients since the last call of this one.
void keeping_notice_others(struct session *session, const struct job *job);

// --- images --------------------------------------------------------------------------------------

// The description of the image of the current state, JSON; `woke` is the copy's message.
char *keeping_describe(const struct session *session, value woke);
// A save has ended.
void keeping_on_saved(struct session *session);
// To be called every second or so: journals reach the disk, idle sessions hibernate.
void keeping_tick(struct session_manager *manager);
