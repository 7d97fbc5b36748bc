// The fixtures behind the relay: this process becomes `cadre serve`, and a child of it, in the place of
// the daemon, has the fixtures. It leads to relayed.c.
#pragma once

// The socket on which the relay speaks MCP, in the child; -1 with a message. In this process it does not
// return.
int relayed_start(const char *cadre);
