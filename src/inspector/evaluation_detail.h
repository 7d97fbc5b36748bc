// All that is shown of one evaluation, as JSON: what was asked, and the whole answer in the form of
// evaluate-lisp's structured result.
#pragma once

#include "session/session.h"

// What was asked: a map with `op` and its parameters. Of more than 256 KiB only the beginning.
value evaluation_request(struct region *region, const struct session_news *news);
// The code of a request, or what it is when it is none: the path of a file, the name of a system.
struct span evaluation_code(value request);
// To be freed; NULL when it does not fit into 3 MiB. `reply` NULL: there is none yet.
char *evaluation_detail(struct region *region, value request, const struct session_reply *reply);
