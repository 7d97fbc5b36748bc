// Who is told each change of what is kept for a workspace, in order and before it is answered: its
// cluster (docs/fleet.md). Nobody, where there is none. What is told is borrowed.
#pragma once

#include <stdint.h>

#include "base/span.h"

enum ledger_event {
    LEDGER_STARTED,  // a line of the journal; the evaluation that it begins runs
    LEDGER_ENTRY,    // another line of the journal
    LEDGER_UNSAVED,  // the saved images are not the session's state any more
    LEDGER_SAVED,    // there is a new image; the text is the directory
    LEDGER_FORKED,   // the journal begins as a copy; the text is the line that says of what
    LEDGER_REMOVED,  // nothing of the session is kept
};

struct ledger {
    void *data;
    void (*session)(void *data, const char *session, enum ledger_event event, struct span text);
    void (*context)(void *data, struct span changes);  // of the database, a changeset of SQLite
    void (*memory)(void *data, const char *name, struct span content);  // a program's, JSON
};
