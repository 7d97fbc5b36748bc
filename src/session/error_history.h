// The error history of a session: the last SESSION_ERROR_HISTORY error maps
// (docs/reference/evaluator.md 2.9), and which of them is the last error.
//
// What comes from a worker is not trusted: error_history_import() copies only the known members,
// with the right types and bounded lengths.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "session/session.h"
#include "value/value.h"

struct error_record {
    int64_t id;
    value error;
};

struct error_history {
    struct region *region;  // of the error maps; NULL while there are none
    struct error_record records[SESSION_ERROR_HISTORY];  // oldest first
    size_t count;
    struct error_record tests[SESSION_TEST_ERRORS];  // of the last run of tests
    size_t test_count;
    int64_t last_id;     // the number given last
    int64_t last_error;  // number of the last error, 0 = none
};

// A clean copy of a worker's error map, in `region`.
value error_history_import(struct region *region, value error);

// Enters a copy of `error`, which must have its `id` = error_history_next_id(), and returns that
// number.
int64_t error_history_next_id(const struct error_history *history);
int64_t error_history_add(struct error_history *history, value error);
// The same for a failed test; not when they are full.
int64_t error_history_add_test(struct error_history *history, value error);
bool error_history_tests_are_full(const struct error_history *history);
void error_history_forget_tests(struct error_history *history);
const struct error_record *error_history_find(const struct error_history *history, int64_t id);
void error_history_clear(struct error_history *history);  // as after a reset: numbers start again

// For the image of a session: the newest records, as many as 64 KiB of JSON hold. Errors of tests are
// those of a run, and not among them.
value error_history_write(const struct error_history *history, struct region *region);
// The records that were written, into a history that has none.
void error_history_read(struct error_history *history, value written);
