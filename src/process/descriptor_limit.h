// How many files processes may have open. The server takes all that it is allowed; what it starts has what the
// server was started with. Sessions get less than the server: the kernel counts the descriptors that are on
// their way through sockets by user, and refuses to send more from whom that number is above its own limit.
// A session could otherwise keep the server from handing descriptors to all the others.
#pragma once

// In the server, before it starts anything.
void descriptor_limit_raise(void);
// In a child, instead of the server's. Both async-signal-safe.
void descriptor_limit_restore(void);
void descriptor_limit_confine(void);  // for a session
