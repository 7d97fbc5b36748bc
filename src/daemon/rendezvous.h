// How clients and the daemon of a user find each other: a lock file in the state directory, which
// the daemon holds (flock) and which names its socket. The socket is in $XDG_RUNTIME_DIR/cadre, else
// in the state directory; where that path is too long for a socket, in a directory of /tmp whose
// name is kept in the lock file like any other.
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

// What the lock file says.
struct rendezvous {
    pid_t pid;
    char *socket;
    char *version;
};

// Reads the lock file. False: there is none, or nothing in it.
bool rendezvous_read(struct rendezvous *ret_rendezvous);
void rendezvous_release(struct rendezvous *rendezvous);

// For clients: a connected socket of a daemon of this user. -ENOENT or -ECONNREFUSED: none runs.
// -EPERM: the other end is a process of another user.
int rendezvous_connect(void);
// Starts a daemon in the background, with its own kernel session, its log in the state directory.
bool rendezvous_start_daemon(const char *program, struct error *error);
// The same, and waits until it can be connected to: the socket, or negative with a message.
int rendezvous_connect_or_start(const char *program, struct error *error);

// For the daemon: takes the lock. The descriptor, or negative with a message that says who has it.
int rendezvous_lock(struct error *error);
// Binds the socket anew and writes the lock file. The listening socket, or negative with a message.
int rendezvous_listen(int lock, struct error *error);
// Whether the socket's file is still that of this listener.
bool rendezvous_is_there(void);
// Before the end.
void rendezvous_remove(int lock);
