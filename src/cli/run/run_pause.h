// `cadre run --pause FILE` and `--resume FILE`: a run that needs an answer is kept in a file of the user,
// mode 0600, and goes on from it once. Files of paused runs of the server can be resumed, too.
#pragma once

#include "tools/program/paused_file.h"

struct run_pause {
    const char *keep_in;  // --pause; NULL: calls to be asked about are refused
    const char *from;     // --resume, or NULL
    const char *approve;  // --approve, or NULL
    const char *results;  // --results: JSON, or NULL
    struct buffer text;   // of the file, once read
    struct paused_answer answer;
};

// Reads the answer and the file, and takes the file away. False after a message.
bool run_pause_take(struct run_pause *pause, struct region *region);
// The run that waits goes into --pause, else back into --resume. False after a message.
bool run_pause_keep(const struct run_pause *pause, const struct buffer *text);
// Where a run that waits is kept.
const char *run_pause_path(const struct run_pause *pause);
void run_pause_release(struct run_pause *pause);
