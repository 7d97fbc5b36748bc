// pmap and pcalls: branches run one at a time in the interpreter's thread, each on its own stack;
// only tool callbacks overlap, in other threads. So reference counts need not be atomic, and the
// results are those of one branch after the other. Without tools the branches simply run in order.
#pragma once

#include "program/run/run.h"

// The calls of one pmap (one function, several items) or pcalls (several functions, no items).
struct parallel_calls {
    const char *op;
    size_t count;
    const value *functions;  // one, or `count`
    bool one_function;
    value *items;  // arguments of call i from i * width on
    size_t width;
    bool settles;  // a result is {:ok v} or {:error …}, so that the others go on
};

// Leaves the branches that run in order inside of `level`: their memory is forgotten.
struct in_order;
void parallel_leave(struct run *run, struct in_order *level);

// Makes one of the calls; consumes its items.
value parallel_call(struct run *run, const struct parallel_calls *calls, size_t index);
