// The text form of a run of tests, for the tool and the command line.
#pragma once

#include "base/buffer.h"
#include "value/value.h"

// The first line: "275 of 300 tests passed, 25 failed (FiveAM), 12.3 s"
void render_tests_summary(struct buffer *text, value run);
// One failure with its place, form, values and output; `frozen`: say how to enter it.
void render_test_failure(struct buffer *text, value failure, bool frozen);
// The summary, the failures and the slowest tests; of what is frozen once the run is over.
void render_tests(struct buffer *text, value run);
// The same where nothing stays frozen.
void render_tests_outcome(struct buffer *text, value run);
