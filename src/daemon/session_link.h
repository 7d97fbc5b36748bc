// A session of the daemon, from the client's side: messages of docs/daemon-protocol.md, "Sessions". A
// link that is lost is made anew with the next message that is sent.
#pragma once

#include "base/error.h"
#include "daemon/client_settings.h"
#include "value/value.h"

struct session_link;

// `client` says what it is, for other clients. NULL with a message: the daemon could not be reached, or
// refused.
struct session_link *session_link_open(const char *client, const struct settings *settings,
                                       const char *session, struct error *error);
void session_link_close(struct session_link *link);

// To be polled; -1: the link is lost.
int session_link_descriptor(const struct session_link *link);
// False with a message: it was not sent.
bool session_link_send(struct session_link *link, value message, struct error *error);
// Whether a whole message was read already, so that polling would be in vain.
bool session_link_has_message(const struct session_link *link);
// Waits for the next message, which is in `region`. False: the link is lost.
bool session_link_receive(struct session_link *link, struct region *region, value *ret_message);
