#include "program/run/parallel/isolation.h"

#include "program/run/run_memory.h"

struct branch_state isolation_begin(struct run *run, size_t index)
{
    struct branch_state outer = run->state->branch;
    struct branch_state *branch = &run->state->branch;
    *branch = (struct branch_state){
        .id = ++run->state->branches,
        .memory = value_retain(outer.memory),
        .written = set_new(run->region),
        .globals = outer.globals,
        .globals_shared = true,
        .prints = vector_new(run->region, 0),
        .random = run_random_branch(outer.random, index),
        .comparisons = vector_new(run->region, 0),
        .course = course_branch(outer.course, index),
    };
    return outer;
}

void isolation_drop(struct run *run, struct branch_state *branch)
{
    value_release(run->region, branch->memory);
    value_release(run->region, branch->written);
    value_release(run->region, branch->prints);
    value_release(run->region, branch->captures);
    value_release(run->region, branch->comparisons);
    if (!branch->globals_shared)
        run_memory_globals_free(run, branch->globals);
}

void isolation_merge(struct run *run, struct branch_state *branch)
{
    struct branch_state *outer = &run->state->branch;
    for (size_t i = 0; i < vector_count(branch->prints); i++)
        outer->prints =
            vector_push(run->region, outer->prints, value_retain(vector_at(branch->prints, i)));
    if (vector_count(branch->prints) > 0)
        outer->line_open = branch->line_open;
    run_random_join(&outer->random, &branch->random);
    for (size_t i = 0; i < vector_count(branch->comparisons); i++)
        outer->comparisons = vector_push(run->region, outer->comparisons,
                                         value_retain(vector_at(branch->comparisons, i)));
    for (size_t i = 0; i < branch->ledger.count; i++)
        ledger_add(run, &outer->ledger, branch->ledger.entries[i]);
    isolation_drop(run, branch);
}
