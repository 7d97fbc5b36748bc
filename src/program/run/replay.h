// What makes a run repeatable, so that it can pause and be resumed by running anew: every tool call has
// a key that depends on nothing but the program's course, the clock is read from a record, and random
// numbers come from a seed (random.h). The host keeps the results of calls by their keys.
#pragma once

#include "base/buffer.h"
#include "program/run/run.h"

// Readings of the clock, of all branches; equal ones that follow each other are one entry.
struct clock_reading {
    uint64_t path;  // of the branch
    int64_t milliseconds;
    int64_t count;
};

struct clock_record {
    struct clock_reading *entries;  // in the run's region
    size_t count;
    size_t capacity;
    size_t given;         // the first ones, of the run that paused
    int64_t standing_ms;  // of a run inside of another one: its time does not pass
};

// Where a branch is in the run. Zero but for the path at its start.
struct course {
    uint64_t path;
    uint64_t groups;  // pmap and pcalls begun
    uint64_t calls;   // of tools
    size_t clock_at;  // the entry of its next reading
    int64_t clock_used;
};

// The call that a run waits for.
struct paused_call {
    bool is_set;
    uint32_t tool;
    uint64_t key;
    value arguments;
};

enum { REPLAY_KEY_DIGITS = 16 };

// Of a run, or of one inside of it, by the key of the call (0: none).
struct course course_start(uint64_t key);
struct course course_branch(struct course outer, size_t index);
uint64_t course_next_key(struct course *course);
// Of a call whose equals in this run have the same result, whichever comes first.
uint64_t course_shared_key(struct run *run, value cache_key);

int64_t run_clock_ms(struct run *run);
// What clock_record_write() wrote, read again: a vector, or nil. False: it is no such record.
bool clock_record_read(struct run *run, value readings);
void clock_record_write(const struct clock_record *record, struct buffer *buffer);

// The call cannot be answered now: ends the run, which can be resumed. A branch of pmap that comes to a
// call after another one has paused ends without making it.
_Noreturn void run_pause(struct run *run, uint32_t tool, value arguments, uint64_t key);
_Noreturn void run_pause_too(struct run *run);
