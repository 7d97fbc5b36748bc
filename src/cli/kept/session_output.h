// `cadre sessions output`: output that was too long for its answer, as the daemon keeps it.
#pragma once

#include <stdint.h>

struct session_output_query {
    const char *workspace;  // real path
    const char *session;
    int64_t number;     // of the evaluation, 0 = the newest whose output is kept
    int64_t from;       // first line
    int64_t lines;      // at most, 0 = all
    const char *match;  // only lines that contain it, with their numbers; NULL: all
};

// Prints it; returns the exit status.
int session_output_print(const struct session_output_query *query);
