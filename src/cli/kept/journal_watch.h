// `cadre sessions watch`: the journal of a session as it grows. It leads to journal_watch.c.
#pragma once

// Prints what is written into the journal in the directory `place` from now on, until Ctrl-C or until the
// session is removed. The exit status.
int sessions_watch(const char *place);
