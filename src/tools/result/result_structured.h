// The structured form of what sessions answer, as in the tools' output schemas. Values are built in
// `region`; what comes from the reply is copied.
#pragma once

#include "session/session.h"

// {"ok":true, "session":…}
value structured_start(struct region *region, const char *session);
// {"ok":…, "session":…}, and the error of a reply that failed.
value structured_reply(struct region *region, const struct session_reply *reply);
// All members of evaluate-lisp's result but `timing`, which is given where it is asked for.
value structured_evaluation(struct region *region, const struct session_reply *reply);
value structured_limits(struct region *region, const struct session_limits *limits);
// Copies a member of the agent's result, if it is there, under the same name.
value structured_member(struct region *region, value map, value result, const char *name);
// {"number", "function", "arguments", "source"}
value structured_frame(struct region *region, value frame);
// The error with at most `frames` frames, and superclasses and slots of its condition where wanted.
value structured_error(struct region *region, value error, int64_t frames, bool with_condition);
