// The listener of the inspector's page, which `cadre ui` has opened. It stays until the daemon ends, but
// does not keep it from ending while nobody reads. While somebody does, a daemon that takes the place of
// one that was killed or replaced opens it again, so that the page goes on.
#pragma once

#include "base/span.h"
#include "daemon/daemon_internal.h"

// Answers where the page is, and opens a listener where none shows it. `line` is the greeting.
void page_open(struct connection *connection, struct span line);
// Opens the one that an earlier daemon has left.
void page_restore(struct daemon *daemon);
bool page_is_read(const struct page *page);
// As the connections of the daemon: first nothing is read or written any more.
void page_hang_up(struct page *page);
void page_free(struct page *page);
