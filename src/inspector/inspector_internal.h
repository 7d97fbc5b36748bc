// What the files of the inspector share.
#pragma once

#include <event2/event.h>

#include "inspector/evaluation_record.h"
#include "inspector/feed.h"
#include "inspector/inspector.h"
#include "inspector/program_record.h"

struct inspector {
    struct session_manager *sessions;
    struct session_observer session_observer;
    struct session_record *sessions_seen;
    struct program_records programs;
    struct tools_observer observer;
    struct feed feed;
    struct event *flush_timer;   // of output
    struct event *sample_timer;  // of memory
};

// --- inspector.c: what happens -------------------------------------------------------------------

// The record of a session, made when there is none.
struct session_record *inspector_session(struct inspector *inspector, const char *name);
