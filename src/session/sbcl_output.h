// What the SBCL runtime itself prints, as against the code that it runs: its complaints on standard
// error, and the backtrace with which it dies, on standard output or, in newer versions, error.
#pragma once

#include "base/buffer.h"
#include "base/span.h"
#include "value/value.h"

enum { RUNTIME_EXIT_CODE = 1 };  // with which it gives up

// What a line is while the process still runs, by its beginning.
enum sbcl_output_line {
    SBCL_OUTPUT_CODE,     // of the code it runs
    SBCL_OUTPUT_RUNTIME,  // of the runtime, whatever follows
    SBCL_OUTPUT_UNCLEAR,  // of the runtime if that is about to end the process
};
enum sbcl_output_line sbcl_output_classify(struct span line);

// Divides standard error: lines of the runtime about guard pages, corruption, memory faults and
// heap statistics, and those with which it died if it did, go to `log`, everything else to `text`.
void sbcl_output_split(struct span errors, bool died, struct buffer *text, struct buffer *log);

// The line that says why the runtime gave up; empty when there is none. A line that is known to
// tell it is preferred to the line after "fatal error encountered in SBCL pid …:".
struct span sbcl_output_reason(struct span errors);

// Takes the backtrace with which a dying runtime ends its output out of it: a vector of frames as
// an error has them, innermost first, those of the agent left out. The runtime knows names but
// no arguments.
value sbcl_output_move_frames(struct region *region, struct buffer *output);
