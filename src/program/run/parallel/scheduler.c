#include "program/run/parallel/scheduler.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "program/builtin/builtins.h"
#include "program/eval/eval.h"
#include "program/eval/stack.h"
#include "program/run/memory.h"
#include "program/run/parallel/fiber.h"
#include "program/run/parallel/threads.h"
#include "value/fuel.h"

enum {
    BRANCH_STACK = 64 * 1024,  // bytes above the margin, counted in the region
};

enum branch_status { BRANCH_READY, BRANCH_WAITING, BRANCH_WAITING_FOR_KEY, BRANCH_DONE };

// What changes when another branch goes on.
struct context {
    struct branch_state state;
    struct stack stack;
    char *stack_end;
    void **exit;
    struct stack_piece *exit_stack;
    const void *site;
    unsigned depth;
    struct branch *current;
};

// What a branch needs while it is under way.
struct turn {
    struct fiber fiber;
    struct context context;
    struct run *run;
    value key;  // of the cached result it is computing, or nil
};

struct branch {
    struct group *group;
    size_t index;
    value result;
    bool failed;
    enum branch_status status;
    struct branch_state state;  // when it is done
    struct turn *turn;
    struct branch *next_ready;
    struct branch *next;  // of all that are under way
};

// The branches of one pmap (one function, several items) or pcalls (several functions, no items).
struct group {
    const char *op;
    size_t count;
    const value *functions;  // one, or `count`
    bool one_function;
    value *items;  // arguments of branch i from i * width on
    size_t width;
    struct branch *branches;
    size_t started;
    size_t finished;
    size_t first_failed;  // SIZE_MAX: none
    struct failure failure;
    struct branch *parent;  // waits for the group; NULL: the scheduler itself
    struct group *outer;
    unsigned depth;  // pmap and pcalls around it
};

static value group_call(struct run *run, const struct group *group, size_t index)
{
    return run_call(run, group->functions[group->one_function ? 0 : index],
                    group->items + index * group->width, group->width);
}

struct parallel {
    struct pool *pool;
    struct group *groups;  // newest first
    struct branch *ready, **ready_end;
    struct branch *under_way;
    struct branch *current;  // NULL: the scheduler
    size_t active;           // branches that have started and do not wait for a group
    value in_flight;         // set of cache keys being computed
};

struct tool_job {
    struct pool_job job;
    const struct tool *tool;
    struct tool_call *call;
    struct branch *branch;
    bool ok;
};

// --- isolation: each branch sees the memory as it was --------------------------------------------

static struct branch_state branch_begin(struct run *run)
{
    struct branch_state outer = run->state->branch;
    struct branch_state *branch = &run->state->branch;
    *branch = (struct branch_state){
        .memory = value_retain(outer.memory),
        .written = set_new(run->region),
        .globals = outer.globals,
        .globals_shared = true,
        .prints = vector_new(run->region, 0),
    };
    return outer;
}

static void branch_drop(struct run *run, struct branch_state *branch)
{
    value_release(run->region, branch->memory);
    value_release(run->region, branch->written);
    value_release(run->region, branch->prints);
    if (!branch->globals_shared)
        memory_globals_free(run, branch->globals);
}

// Adds what a branch printed and called to the current state.
static void branch_merge(struct run *run, struct branch_state *branch)
{
    struct branch_state *outer = &run->state->branch;
    for (size_t i = 0; i < vector_count(branch->prints); i++)
        outer->prints =
            vector_push(run->region, outer->prints, value_retain(vector_at(branch->prints, i)));
    for (size_t i = 0; i < branch->ledger.count; i++)
        ledger_add(run, &outer->ledger, branch->ledger.entries[i]);
    branch_drop(run, branch);
}

// --- one after the other -------------------------------------------------------------------------

// Prints and ledger of the branch are the outer ones; memory is put back after each.
static value run_in_order(struct run *run, const struct group *group)
{
    struct run_state *state = run->state;
    bool outermost = state->branch_depth == 0;
    value results = vector_new(run->region, group->count);
    state->branch_depth++;
    for (size_t i = 0; i < group->count; i++) {
        if (outermost) {
            state->branch_op = group->op;
            state->branch_index = i;
        }
        struct branch_state outer = branch_begin(run);
        value_release(run->region, state->branch.prints);
        state->branch.prints = outer.prints;
        state->branch.ledger = outer.ledger;
        results = vector_push(run->region, results, group_call(run, group, i));
        outer.prints = state->branch.prints;
        outer.ledger = state->branch.ledger;
        state->branch.prints = value_nil();
        branch_drop(run, &state->branch);
        state->branch = outer;
    }
    state->branch_depth--;
    if (outermost)
        state->branch_op = NULL;
    return results;
}

// --- taking turns --------------------------------------------------------------------------------

static void context_save(struct run *run, struct context *context)
{
    struct run_state *state = run->state;
    *context = (struct context){
        .state = state->branch,
        .stack = state->stack,
        .stack_end = run->stack_end,
        .exit = state->exit,
        .exit_stack = state->exit_stack,
        .site = run->site,
        .depth = state->branch_depth,
        .current = state->parallel->current,
    };
}

static void context_load(struct run *run, const struct context *context)
{
    struct run_state *state = run->state;
    state->branch = context->state;
    state->stack = context->stack;
    run->stack_end = context->stack_end;
    state->exit = context->exit;
    state->exit_stack = context->exit_stack;
    run->site = context->site;
    state->branch_depth = context->depth;
    state->parallel->current = context->current;
}

static void make_ready(struct parallel *parallel, struct branch *branch)
{
    branch->status = BRANCH_READY;
    branch->next_ready = NULL;
    *parallel->ready_end = branch;
    parallel->ready_end = &branch->next_ready;
}

static struct branch *take_ready(struct parallel *parallel)
{
    struct branch *branch = parallel->ready;
    if (branch) {
        parallel->ready = branch->next_ready;
        if (!parallel->ready)
            parallel->ready_end = &parallel->ready;
    }
    return branch;
}

// Calls the branch's function; a failure stays in the branch.
static __attribute__((noinline)) void call_branch(struct branch *branch)
{
    struct run *run = branch->turn->run;
    void *exit[5];
    run->state->exit = exit;
    run->state->exit_stack = NULL;
    if (__builtin_setjmp(exit)) {
        stack_landed(branch->turn->run);
        branch->failed = true;
        return;
    }
    branch->result = group_call(run, branch->group, branch->index);
}

static void branch_main(void *data)
{
    struct branch *branch = data;
    call_branch(branch);
    stack_release(branch->turn->run);
    branch->status = BRANCH_DONE;
    fiber_finish(&branch->turn->fiber);
}

static void wake_key_waiters(struct parallel *parallel)
{
    for (struct branch *branch = parallel->under_way; branch; branch = branch->next) {
        if (branch->status == BRANCH_WAITING_FOR_KEY)
            make_ready(parallel, branch);
    }
}

// The set of keys, to be changed and put back. The change may end by a jump, when time or memory run
// out; a set that was already consumed must not be found by the other branches then.
static value take_keys(struct run *run, struct parallel *parallel)
{
    value keys = parallel->in_flight;
    parallel->in_flight = set_new(run->region);
    return keys;
}

static void forget_key(struct run *run, struct turn *turn)
{
    struct parallel *parallel = run->state->parallel;
    value key = turn->key;
    if (key.tag == VALUE_NIL)
        return;
    turn->key = value_nil();
    wake_key_waiters(parallel);
    parallel->in_flight = set_remove(run->region, take_keys(run, parallel), key);
}

static void turn_free(struct run *run, struct turn *turn)
{
    fiber_release(&turn->fiber);
    region_discharge(run->region, BRANCH_STACK);
    region_return(run->region, turn, sizeof(*turn));
}

static void branch_finished(struct run *run, struct branch *branch)
{
    struct parallel *parallel = run->state->parallel;
    struct group *group = branch->group;
    parallel->active--;
    group->finished++;
    if (branch->failed) {
        if (branch->index < group->first_failed) {
            group->first_failed = branch->index;
            group->failure = run->state->failure;
        }
        run->state->failure = (struct failure){0};
    }
    branch->state = branch->turn->context.state;
    struct branch **link = &parallel->under_way;
    while (*link != branch)
        link = &(*link)->next;
    *link = branch->next;
    forget_key(run, branch->turn);
    turn_free(run, branch->turn);
    branch->turn = NULL;
}

static bool group_is_done(const struct group *group)
{
    bool all_started = group->started == group->count || group->first_failed < group->started;
    return all_started && group->finished == group->started;
}

static void resume(struct run *run, struct branch *branch)
{
    struct parallel *parallel = run->state->parallel;
    struct turn *turn = branch->turn;
    struct context outer;
    context_save(run, &outer);
    context_load(run, &turn->context);
    fiber_resume(&turn->fiber);
    context_save(run, &turn->context);
    context_load(run, &outer);
    if (branch->status != BRANCH_DONE)
        return;
    branch_finished(run, branch);
    struct group *group = branch->group;
    if (group->parent && group_is_done(group)) {
        parallel->active++;
        make_ready(parallel, group->parent);
    }
}

static struct turn *turn_new(struct run *run, struct branch *branch)
{
    struct turn *turn = region_alloc(run->region, sizeof(*turn));
    size_t size = STACK_MARGIN + BRANCH_STACK + 16384;
    region_charge(run->region, BRANCH_STACK);
    if (!fiber_init(&turn->fiber, size, branch_main, branch))
        run_raise_limit(run, MEMORY_EXCEEDED, NULL, "max_memory", (int64_t)run->limits.max_memory,
                        "the system has no memory for the stack");
    turn->run = run;
    turn->key = value_nil();
    return turn;
}

// Starts the next branch of the newest group that has one left. NULL when there is none, or when as
// many run as may.
static struct branch *start_next(struct run *run)
{
    struct parallel *parallel = run->state->parallel;
    if (parallel->active >= run->limits.max_parallel)
        return NULL;
    struct group *group = parallel->groups;
    while (group && (group->started == group->count || group->first_failed < group->started))
        group = group->outer;
    if (!group)
        return NULL;
    struct branch *branch = &group->branches[group->started];
    // The memory a branch sees is that of the branch around it.
    struct branch_state here = run->state->branch;
    if (group->parent)
        run->state->branch = group->parent->turn->context.state;
    branch_begin(run);
    struct turn *turn = branch->turn = turn_new(run, branch);
    context_save(run, &turn->context);
    run->state->branch = here;
    turn->context.stack =
        (struct stack){.caller_end = turn->fiber.memory + STACK_MARGIN + 8192, .is_fiber = true};
    turn->context.stack_end = turn->context.stack.caller_end;
    turn->context.depth = group->depth + 1;
    turn->context.current = branch;
    branch->next = parallel->under_way;
    parallel->under_way = branch;
    group->started++;
    parallel->active++;
    return branch;
}

static void wait_for_tool(struct run *run)
{
    struct pool_job *job = pool_wait(run->state->parallel->pool, run->state->deadline_ns);
    run_refill(run);  // raises when the deadline has passed
    if (job)
        make_ready(run->state->parallel, ((struct tool_job *)job)->branch);
}

// The scheduler: runs branches until the group is done.
static void schedule(struct run *run, struct group *group)
{
    struct parallel *parallel = run->state->parallel;
    while (!group_is_done(group)) {
        struct branch *branch = take_ready(parallel);
        if (!branch)
            branch = start_next(run);
        if (branch)
            resume(run, branch);
        else
            wait_for_tool(run);
    }
}

static _Noreturn void fail_group(struct run *run, const struct group *group)
{
    struct failure *failure = &run->state->failure;
    *failure = group->failure;
    if (failure->kind != TOOL_ERROR)
        snprintf(failure->op, sizeof(failure->op), "%s", group->op);
    failure->has_index = true;
    failure->index = group->first_failed;
    run_leave(run);
}

static value collect(struct run *run, struct group *group)
{
    value results = vector_new(run->region, group->count);
    size_t last = group->first_failed < group->count ? group->first_failed + 1 : group->count;
    for (size_t i = 0; i < last; i++)
        branch_merge(run, &group->branches[i].state);
    if (group->first_failed < group->count)
        fail_group(run, group);
    for (size_t i = 0; i < group->count; i++)
        results = vector_push(run->region, results, group->branches[i].result);
    return results;
}

static void close_group(struct parallel *parallel, struct group *group)
{
    struct group **link = &parallel->groups;
    while (*link != group)
        link = &(*link)->outer;
    *link = group->outer;
}

static value run_together(struct run *run, struct group *group)
{
    group->branches = region_alloc_zero(run->region, group->count * sizeof(*group->branches));
    for (size_t i = 0; i < group->count; i++)
        group->branches[i] = (struct branch){.group = group, .index = i};
    group->depth = run->state->branch_depth;
    struct parallel *parallel = run->state->parallel;
    bool outermost = !parallel;
    if (outermost) {
        parallel = run->state->parallel = region_alloc_zero(run->region, sizeof(*parallel));
        parallel->ready_end = &parallel->ready;
        parallel->in_flight = set_new(run->region);
        parallel->pool = pool_new(run->limits.max_parallel);
    }
    group->outer = parallel->groups;
    parallel->groups = group;
    group->parent = parallel->current;
    if (group->parent) {
        struct branch *self = group->parent;
        self->status = BRANCH_WAITING;
        parallel->active--;
        if (group_is_done(group))
            parallel->active++;
        else
            fiber_yield(&self->turn->fiber);
    } else {
        schedule(run, group);
    }
    close_group(parallel, group);
    if (outermost)
        parallel_release(run);
    value results = collect(run, group);
    region_return(run->region, group->branches, group->count * sizeof(*group->branches));
    return results;
}

void parallel_release(struct run *run)
{
    struct parallel *parallel = run->state->parallel;
    if (!parallel)
        return;
    pool_free(parallel->pool);
    for (struct branch *branch = parallel->under_way; branch; branch = branch->next) {
        struct stack outer = run->state->stack;
        run->state->stack = branch->turn->context.stack;
        run->state->stack.current = NULL;
        stack_release(run);
        run->state->stack = outer;
        turn_free(run, branch->turn);
    }
    run->state->parallel = NULL;
}

// --- tools ---------------------------------------------------------------------------------------

static void run_job(struct pool_job *job)
{
    struct tool_job *tool_job = (struct tool_job *)job;
    tool_job->ok = tool_call_run(tool_job->tool->function, tool_job->tool->data, tool_job->call);
}

static void run_job_here(void *data)
{
    struct fuel before = fuel;
    fuel = (struct fuel){0};
    run_job(data);
    fuel = before;
}

static void park(struct run *run, enum branch_status status)
{
    struct branch *self = run->state->parallel->current;
    self->status = status;
    fiber_yield(&self->turn->fiber);
}

bool parallel_call(struct run *run, const struct tool *tool, struct tool_call *call)
{
    struct parallel *parallel = run->state->parallel;
    struct branch *self = parallel->current;
    struct tool_job *job = region_alloc(run->region, sizeof(*job));
    *job = (struct tool_job){.job.function = run_job, .tool = tool, .call = call, .branch = self};
    if (self && parallel->pool && pool_submit(parallel->pool, &job->job))
        park(run, BRANCH_WAITING);
    else
        stack_call_host(run, run_job_here, job);
    bool ok = job->ok;
    region_return(run->region, job, sizeof(*job));
    return ok;
}

bool parallel_wait_for(struct run *run, value key)
{
    struct parallel *parallel = run->state->parallel;
    if (!parallel || !parallel->current || !set_has(parallel->in_flight, key))
        return false;
    park(run, BRANCH_WAITING_FOR_KEY);
    return true;
}

void parallel_started(struct run *run, value key)
{
    struct parallel *parallel = run->state->parallel;
    if (!parallel || !parallel->current)
        return;
    parallel->current->turn->key = value_retain(key);
    parallel->in_flight = set_add(run->region, take_keys(run, parallel), value_retain(key));
}

void parallel_finished(struct run *run)
{
    struct parallel *parallel = run->state->parallel;
    if (parallel && parallel->current)
        forget_key(run, parallel->current->turn);
}

// --- the builtins --------------------------------------------------------------------------------

static value run_branches(struct run *run, struct group *group)
{
    const struct tool_table *tools = run->state->program->tools;
    group->first_failed = SIZE_MAX;
    bool together = tools && tools->count > 0 && group->count > 1 && run->limits.max_parallel > 1;
    return together ? run_together(run, group) : run_in_order(run, group);
}

value builtin_pmap(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    run_check_callable(run, self, 1, arguments[0]);
    struct group group = {
        .op = self->name,
        .functions = &arguments[0],
        .one_function = true,
        .width = count - 1,
        .count = SIZE_MAX,
    };
    for (size_t i = 1; i < count; i++) {
        arguments[i] = sequence_vector(run, self, (unsigned)i + 1, arguments[i]);
        if (vector_count(arguments[i]) < group.count)
            group.count = vector_count(arguments[i]);
    }
    size_t size = (group.count * group.width + 1) * sizeof(value);
    group.items = region_alloc(run->region, size);
    for (size_t i = 0; i < group.count; i++) {
        for (size_t j = 0; j < group.width; j++)
            group.items[i * group.width + j] = value_retain(vector_at(arguments[j + 1], i));
    }
    value results = run_branches(run, &group);
    region_return(run->region, group.items, size);
    for (size_t i = 0; i < count; i++)
        value_release(run->region, arguments[i]);
    return results;
}

// Can it be called without arguments?
static bool takes_nothing(value f)
{
    const struct builtin *builtin = function_builtin(f);
    if (builtin)
        return builtin_accepts(builtin, 0);
    if (value_is_foreign(f, &closure_type))
        return ((const struct closure *)f.object)->code->parameter_count == 0;
    return f.tag == VALUE_FUNCTION;
}

value builtin_pcalls(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!takes_nothing(arguments[i]))
            run_type_error(run, self, (unsigned)i + 1, "a function of no arguments", arguments[i],
                           NULL);
    }
    struct group group = {.op = self->name, .functions = arguments, .count = count};
    value results = run_branches(run, &group);
    for (size_t i = 0; i < count; i++)
        value_release(run->region, arguments[i]);
    return results;
}
