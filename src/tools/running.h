// Evaluations that go on after their call was answered. Clients give up after a minute, some after
// half of one; so a call that takes longer than its `yield` answers with the output so far, and the
// tool `wait` gives the rest, lets the code read input, or interrupts it.
#pragma once

#include "tools/session_call.h"

struct running;

// The call of the evaluation is answered now: with its output so far, and with what it does.
void running_yield(struct session_call *run);
// The code reads and there is no input left.
void running_on_input(struct session_call *run);
// Text for the code to read, or its end.
void running_give_input(struct session_call *run);
// For the calls that wait for it.
void running_progress(struct session_call *run, double seconds, const char *message);
// Lines about evaluations of the session whose result nobody has asked for, for the next answer.
void running_append_notices(struct tools *tools, const char *session, struct buffer *text);

void running_free_all(struct tools *tools);
