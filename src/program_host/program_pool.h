// Programs of the server run in resident worker processes that are locked
// (process/sandbox/sandbox.h) before they see the first program. A worker runs one program at a
// time; what the program's tools do happens here, in the server: calls and results travel over the
// worker's only descriptor.
//
// A worker that does not answer by its deadline + PROGRAM_GRACE_MS is killed; so is one that breaks
// the protocol. The next program gets another worker. Everything happens on the caller's event_base.
//
// Clients take turns: there are more workers than one client, or one flow of its requests, may use
// at a time, so that endless programs of one keep no other waiting; of those that wait, the program
// of the client that runs the fewest goes first. A client that runs nothing never waits.
#pragma once

#include <event2/event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span.h"

enum {
    PROGRAM_GRACE_MS = 50,
    PROGRAM_CALLER_MS = 1000,        // more, for one that waits for a tool: see on_watchdog()
    PROGRAM_FLOW_MAX = 4,            // running at once for one flow
    PROGRAM_CLIENT_MAX = 12,         // for one client
    PROGRAM_WORKERS_MAX = 16,        // for all; one more for each client that runs none
    PROGRAM_WORKERS_KEPT = 4,        // when nothing runs
    PROGRAM_QUEUE_MAX = 256,         // waiting, of one client
    PROGRAM_MESSAGE_MAX = 64 << 20,  // bytes of one message in either direction
    PROGRAM_WORKER_FD = 3,           // the worker's end
};

// Both directions: two little-endian u32 (type, length), then the payload.
enum program_message {
    PROGRAM_READY = 1,  // worker, once, when it is locked: {"landlock":true}
    // server: a batch record (docs/language.md); with "keep":true the memory comes back as text,
    // with "definitions" its functions are defined before the program, with "max_step_bytes":N the
    // answer to a larger Step is {"step":null}
    PROGRAM_RUN = 2,
    PROGRAM_STEP =
        3,  // worker: {"step":{…}}, and with "keep" {"memory":{"data","definitions","lost"}}
    // worker: {"call":7,"key":"HEX","name":"search","arguments":{…}}; the key is that of run/replay.h
    PROGRAM_CALL = 4,
    PROGRAM_RESULT =
        5,  // server: {"call":7,"value":…}, {"call":7,"error":"…"} or {"call":7,"pending":true}
};

struct program_pool;
struct program_call;
struct reaper;

// The answer: the payload of PROGRAM_STEP, or {NULL, 0} and why there is none.
typedef void program_done_fn(void *data, struct span answer, const char *failure);
// A call of a tool: to be answered exactly once with program_call_reply(), now or later. The
// arguments are JSON, valid until the function returns. After the run ended the reply is dropped.
typedef void program_tool_fn(void *data, struct program_call *call, struct span name,
                             struct span arguments);

// A call was replied to, before the run was over.
typedef void program_replied_fn(void *data, uint64_t key, bool ok, struct span text);

struct program_request {
    struct span record;  // JSON; copied
    int64_t timeout_ms;  // of the evaluation; the watchdog's base
    const void *client;  // whose it is, by identity
    uint64_t flow;       // which of the client's sessions or connections it came from
    program_done_fn *done;
    program_tool_fn *tool;
    program_replied_fn *replied;  // or NULL
    void *data;
};

// `program` is the file that becomes the worker (with the argument "program-worker"). `reaper` collects the workers
// that are killed, and outlives the pool.
struct program_pool *program_pool_new(struct reaper *reaper, const char *program);
void program_pool_free(struct program_pool *pool);  // pending requests get no answer
// For the commands that tools run.
struct reaper *program_pool_reaper(struct program_pool *pool);

// 0: refused, too many of this client wait.
uint64_t program_submit(struct program_pool *pool, const struct program_request *request);
void program_cancel(struct program_pool *pool, uint64_t ticket);

// `text` is the JSON of the result, or the text of the error.
void program_call_reply(struct program_call *call, bool ok, struct span text);
// There is no answer yet: the run pauses. Instead of a reply.
void program_call_pause(struct program_call *call);
// The same in every run of the program that goes the same way.
uint64_t program_call_key(const struct program_call *call);
// Free for the tool's use.
void program_call_set_data(struct program_call *call, void *data);
void *program_call_data(const struct program_call *call);
// When the run is over before the reply: `ended` is called once, then the call is replied to as
// usual.
void program_call_on_end(struct program_call *call, void (*ended)(void *data));
