// The text of a paused run (paused_run.h): what it was given, the call it waits for, and all calls so far,
// from which the run goes on by being run anew. Written by run-program and by `cadre run --pause`; each
// can go on with the runs of the other.
#pragma once

#include "tools/program/toolbox_run.h"

enum { PAUSED_TEXT_DEPTH = 10000 };

struct paused_file {
    value record;  // a batch record that leads to the same place
    value call;    // {name, args}
    uint64_t key;  // of that call
    int64_t timeout_ms;
    struct span memory_name;  // of a named memory; empty: none
};

// What the call that a run waits for is answered with: it is made, refused, or has a result from
// elsewhere.
enum paused_answer_kind { ANSWER_ONCE, ANSWER_ALL, ANSWER_REFUSE, ANSWER_VALUE, ANSWER_ERROR };

struct paused_answer {
    enum paused_answer_kind kind;
    value given;  // VALUE: any; ERROR: string
};

// Of the Step's `paused`, as a worker writes it, and the record that was run.
struct paused_file paused_file_of(struct region *region, value paused, value record);
void paused_file_write(const struct paused_file *file, const struct toolbox_run *run,
                       struct region *region, struct buffer *text);
// Fills the run, which is new, with the calls and approvals so far. False: not of this version.
bool paused_file_read(struct paused_file *ret_file, struct toolbox_run *run, struct region *region,
                      struct span text);
// Was the call begun already, so that nobody knows whether it was made?
bool paused_file_is_unknown(const struct paused_file *file, const struct toolbox_run *run);

// From {"approve": "yes" | "no" | "all" | boolean}, or {"results": [{"value": …}]} or [{"error": "…"}];
// one of them is nil. False: neither.
bool paused_answer_read(value approve, value results, struct paused_answer *ret_answer);
void paused_file_answer(const struct paused_file *file, struct toolbox_run *run,
                        const struct paused_answer *answer);
