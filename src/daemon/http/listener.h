// Clients that want a listener on HTTP: `cadre serve --http`, whose listener is open as long as its
// connection, and `cadre ui`, which wants the inspector's page.
#pragma once

#include "base/span.h"
#include "daemon/daemon_internal.h"

// Opens the listener of the connection's greeting.
void listener_open(struct connection *connection);

// Answers where the page is. Where no listener shows it, one is opened, which stays until the daemon
// ends, but does not keep it from ending while nobody reads. `line` is the greeting.
void page_open(struct connection *connection, struct span line);
bool page_is_read(const struct page *page);
// As the connections of the daemon: first nothing is read or written any more.
void page_hang_up(struct page *page);
void page_free(struct page *page);
