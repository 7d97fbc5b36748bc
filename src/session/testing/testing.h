// A run of tests (docs/session-protocol.md 5.5): its copy forks itself for each test. The failures that
// were frozen become errors of the session, apart from those of its own evaluations: those of the last
// run are kept, and no run takes the place of an evaluation's.
#pragma once

#include <stdint.h>

struct channel_message;
struct job;
struct session;
struct worker;

// The copy asks for the channel of a post-mortem. 0 or a negative number.
int tests_offer_channel(struct worker *worker, uint32_t number);
void tests_release_channels(struct worker *worker);
// Enters the post-mortems that the result of the run announces, before the copy and what it has
// started are killed.
void tests_keep_postmortems(struct job *job, struct worker *copy);
// Records the frozen failures; the member `run` of the result is what is handed on.
void tests_finish(struct session *session, struct job *job);
// Forgets what the last run left for the next one.
void tests_release(struct session *session);
void tests_read_progress(struct job *job, const struct channel_message *message);
