// Runs that wait for an answer, kept as files of their owner until they are resumed: one JSON text each,
// mode 0600, at most PAUSED_RUNS_MAX in a directory, for PAUSED_DAYS. A token names the file and has a
// digest of its content, so that no other text is resumed; claiming a run takes it away, so that it is
// resumed once. Files are read and written in the background.
#pragma once

#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"

enum {
    PAUSED_RUNS_MAX = 100,
    PAUSED_DAYS = 7,
    PAUSED_TOKEN_SIZE = 66,      // 32 digits, '-', 32 digits, NUL
    PAUSED_FILE_MAX = 768 << 20  // the results of CALL_LOG_BYTES_MAX, quoted
};

struct background;
struct paused_run;

// The outcome of storing or claiming; `failure` is NULL when it went well. The text is that of the run
// that was claimed. The run is gone after the callback.
typedef void paused_run_fn(void *data, const char *token, struct span text,
                           const struct error *failure);

// Takes the text over. False: it cannot begin.
bool paused_run_store(struct background *background, const char *directory, struct buffer *text,
                      paused_run_fn *done, void *data, struct error *error);
// ERROR_INVALID: there is no such run, it is claimed, too old, or was changed.
bool paused_run_claim(struct background *background, const char *directory, struct span token,
                      paused_run_fn *done, void *data, struct error *error);

// The digest of a text, as a token has it.
void paused_run_digest(struct span text, char digits[33]);
