// Opens a page in the user's browser.
#pragma once

#include <stdbool.h>

// False: there is no screen, or no program that opens pages. What a process is started with others can
// read, so the browser is told a file, which leads on to the address.
bool browser_open(const char *address);
