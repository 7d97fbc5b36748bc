// The daemon: one process per user that owns the sessions of all workspaces. Clients connect to its
// socket (rendezvous.h), greet (greeting.h) and are served.
//
// It ends when it is told to (SIGTERM, `cadre daemon stop`, a newer Cadre), or by itself when no
// client is connected and no session has a process.
#pragma once

#include "base/error.h"
#include "daemon/client_settings.h"
#include "daemon/fleet/fleet.h"
#include "daemon/http/listening.h"

struct daemon_options {
    int64_t linger_s;           // how long it stays without clients and live sessions
    int64_t hibernate_s;        // how long an idle session keeps its processes
    unsigned memory_budget_mb;  // of all sessions; 0: none
    bool no_journal;
    int64_t quota_mb;  // of all that is kept on disk
    // A listener of its own, for as long as it runs; NULL: none.
    struct listening *listening;
    const struct fleet_options *fleet;  // with a listener: the cluster that it joins; NULL: none
    const struct settings *settings;    // of its clients; they name the workspace
    void (*on_listen)(const struct listening *listening, const char *url);
};

// The exit status, after a message on standard error where it is not 0. Returns when it has ended.
int daemon_run(const struct daemon_options *options);
