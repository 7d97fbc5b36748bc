#include "program/run/parallel/scheduler.h"

#include <stdio.h>

#include "program/eval/eval.h"
#include "program/eval/stack.h"
#include "program/run/parallel/fiber.h"
#include "program/run/parallel/isolation.h"
#include "program/run/parallel/threads.h"
#include "value/fuel.h"

enum {
    BRANCH_STACK = 64 * 1024,  // bytes above the margin, counted in the region
};

enum branch_status { BRANCH_READY, BRANCH_WAITING, BRANCH_WAITING_FOR_KEY, BRANCH_DONE };

// The state of the run that is exchanged when another branch is resumed.
struct context {
    struct branch_state state;
    struct stack stack;
    char *stack_end;
    struct run_exit exit;
    struct in_order *in_order;
    unsigned guards;
    const void *site;
    unsigned depth;
    struct branch *current;
};

// What a branch needs from its start to its end.
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
    struct branch *next;  // of all that are active
};

// The branches of one pmap or pcalls.
struct group {
    const struct parallel_calls *calls;
    struct branch *branches;
    size_t started;
    size_t finished;
    size_t first_failed;  // SIZE_MAX: none
    struct failure failure;
    struct branch *parent;  // waits for the group; NULL: the scheduler itself
    struct group *outer;
    unsigned depth;   // pmap and pcalls around it
    unsigned guards;  // try and the like around it
};

struct scheduler {
    struct threads *threads;
    struct group *groups;  // newest first
    struct branch *ready, **ready_end;
    struct branch *active_branches;
    struct branch *current;  // NULL: the scheduler
    size_t active;           // branches that have started and do not wait for a group
    value in_flight;         // set of cache keys being computed
};

struct tool_job {
    struct thread_job job;
    const struct tool *tool;
    struct tool_call *call;
    struct branch *branch;
    bool ok;
};

// --- taking turns --------------------------------------------------------------------------------

static void context_save(struct run *run, struct context *context)
{
    struct run_state *state = run->state;
    *context = (struct context){
        .state = state->branch,
        .stack = state->stack,
        .stack_end = run->stack_end,
        .exit = state->exit,
        .in_order = state->in_order,
        .guards = state->guards,
        .site = run->site,
        .depth = state->branch_depth,
        .current = state->scheduler->current,
    };
}

static void context_load(struct run *run, const struct context *context)
{
    struct run_state *state = run->state;
    state->branch = context->state;
    state->stack = context->stack;
    run->stack_end = context->stack_end;
    state->exit = context->exit;
    state->in_order = context->in_order;
    state->guards = context->guards;
    run->site = context->site;
    state->branch_depth = context->depth;
    state->scheduler->current = context->current;
}

static void make_ready(struct scheduler *scheduler, struct branch *branch)
{
    branch->status = BRANCH_READY;
    branch->next_ready = NULL;
    *scheduler->ready_end = branch;
    scheduler->ready_end = &branch->next_ready;
}

static struct branch *pop_ready(struct scheduler *scheduler)
{
    struct branch *branch = scheduler->ready;
    if (branch) {
        scheduler->ready = branch->next_ready;
        if (!scheduler->ready)
            scheduler->ready_end = &scheduler->ready;
    }
    return branch;
}

// Calls the branch's function; a failure stays in the branch.
static __attribute__((noinline)) void call_branch(struct branch *branch)
{
    struct run *run = branch->turn->run;
    void *registers[5];
    run->state->exit = (struct run_exit){.registers = registers};
    run->state->in_order = NULL;
    run->state->guards = branch->group->guards;
    if (__builtin_setjmp(registers)) {
        stack_landed(branch->turn->run);
        branch->failed = true;
        return;
    }
    branch->result = parallel_call(run, branch->group->calls, branch->index);
}

static void branch_main(void *data)
{
    struct branch *branch = data;
    call_branch(branch);
    stack_release(branch->turn->run);
    branch->status = BRANCH_DONE;
    fiber_finish(&branch->turn->fiber);
}

static void wake_key_waiters(struct scheduler *scheduler)
{
    for (struct branch *branch = scheduler->active_branches; branch; branch = branch->next) {
        if (branch->status == BRANCH_WAITING_FOR_KEY)
            make_ready(scheduler, branch);
    }
}

// The set of keys, to be changed and put back. The change may end by a jump, when time or memory run
// out; a set that was already consumed must not be found by the other branches then.
static value detach_keys(struct run *run, struct scheduler *scheduler)
{
    value keys = scheduler->in_flight;
    scheduler->in_flight = set_new(run->region);
    return keys;
}

static void forget_key(struct run *run, struct turn *turn)
{
    struct scheduler *scheduler = run->state->scheduler;
    value key = turn->key;
    if (key.tag == VALUE_NIL)
        return;
    turn->key = value_nil();
    wake_key_waiters(scheduler);
    scheduler->in_flight = set_remove(run->region, detach_keys(run, scheduler), key);
}

static void turn_free(struct run *run, struct turn *turn)
{
    fiber_release(&turn->fiber);
    region_discharge(run->region, BRANCH_STACK);
    region_return(run->region, turn, sizeof(*turn));
}

static void branch_finished(struct run *run, struct branch *branch)
{
    struct scheduler *scheduler = run->state->scheduler;
    struct group *group = branch->group;
    scheduler->active--;
    group->finished++;
    if (branch->failed) {
        if (branch->index < group->first_failed) {
            group->first_failed = branch->index;
            group->failure = run->state->failure;
        }
        run->state->failure = (struct failure){0};
    }
    branch->state = branch->turn->context.state;
    struct branch **link = &scheduler->active_branches;
    while (*link != branch)
        link = &(*link)->next;
    *link = branch->next;
    forget_key(run, branch->turn);
    turn_free(run, branch->turn);
    branch->turn = NULL;
}

static bool group_is_done(const struct group *group)
{
    bool all_started =
        group->started == group->calls->count || group->first_failed < group->started;
    return all_started && group->finished == group->started;
}

static void resume(struct run *run, struct branch *branch)
{
    struct scheduler *scheduler = run->state->scheduler;
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
        scheduler->active++;
        make_ready(scheduler, group->parent);
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

// Starts the next branch of the newest group that has one left. NULL when there is none, or when
// max_parallel branches are active.
static struct branch *start_next(struct run *run)
{
    struct scheduler *scheduler = run->state->scheduler;
    if (scheduler->active >= run->limits.max_parallel)
        return NULL;
    struct group *group = scheduler->groups;
    while (group && (group->started == group->calls->count || group->first_failed < group->started))
        group = group->outer;
    if (!group)
        return NULL;
    struct branch *branch = &group->branches[group->started];
    // The memory a branch sees is that of the branch around it.
    struct branch_state here = run->state->branch;
    if (group->parent)
        run->state->branch = group->parent->turn->context.state;
    isolation_begin(run, group->started);
    struct turn *turn = branch->turn = turn_new(run, branch);
    context_save(run, &turn->context);
    run->state->branch = here;
    turn->context.stack =
        (struct stack){.caller_end = turn->fiber.memory + STACK_MARGIN + 8192, .is_fiber = true};
    turn->context.stack_end = turn->context.stack.caller_end;
    turn->context.depth = group->depth + 1;
    turn->context.current = branch;
    branch->next = scheduler->active_branches;
    scheduler->active_branches = branch;
    group->started++;
    scheduler->active++;
    return branch;
}

static void wait_for_tool(struct run *run)
{
    struct thread_job *job = threads_wait(run->state->scheduler->threads, run->state->deadline_ns);
    run_refill(run);  // raises when the deadline has passed
    if (job)
        make_ready(run->state->scheduler, ((struct tool_job *)job)->branch);
}

// The scheduler: runs branches until the group is done.
static void schedule(struct run *run, struct group *group)
{
    struct scheduler *scheduler = run->state->scheduler;
    while (!group_is_done(group)) {
        struct branch *branch = pop_ready(scheduler);
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
        snprintf(failure->op, sizeof(failure->op), "%s", group->calls->op);
    failure->has_index = true;
    failure->index = group->first_failed;
    run_leave(run);
}

static value collect(struct run *run, struct group *group)
{
    value results = vector_new(run->region, group->calls->count);
    size_t last =
        group->first_failed < group->calls->count ? group->first_failed + 1 : group->calls->count;
    for (size_t i = 0; i < last; i++)
        isolation_merge(run, &group->branches[i].state);
    if (group->first_failed < group->calls->count)
        fail_group(run, group);
    for (size_t i = 0; i < group->calls->count; i++)
        results = vector_push(run->region, results, group->branches[i].result);
    return results;
}

static void close_group(struct scheduler *scheduler, struct group *group)
{
    struct group **link = &scheduler->groups;
    while (*link != group)
        link = &(*link)->outer;
    *link = group->outer;
}

static struct scheduler *scheduler_new(struct run *run)
{
    struct scheduler *scheduler = region_alloc_zero(run->region, sizeof(*scheduler));
    scheduler->ready_end = &scheduler->ready;
    scheduler->in_flight = set_new(run->region);
    scheduler->threads = threads_new(run->limits.max_parallel);
    return scheduler;
}

// Runs a group inside a branch, which yields until the group is done.
static void wait_for_group(struct scheduler *scheduler, struct group *group)
{
    struct branch *self = group->parent;
    self->status = BRANCH_WAITING;
    scheduler->active--;
    if (group_is_done(group))
        scheduler->active++;
    else
        fiber_yield(&self->turn->fiber);
}

value scheduler_run(struct run *run, const struct parallel_calls *calls)
{
    size_t size = calls->count * sizeof(struct branch);
    struct group group = {
        .calls = calls,
        .branches = region_alloc_zero(run->region, size),
        .first_failed = SIZE_MAX,
        .depth = run->state->branch_depth,
        .guards = run->state->guards,
    };
    for (size_t i = 0; i < calls->count; i++)
        group.branches[i] = (struct branch){.group = &group, .index = i};
    run->state->branch.course.groups++;
    bool outermost = !run->state->scheduler;
    if (outermost)
        run->state->scheduler = scheduler_new(run);
    struct scheduler *scheduler = run->state->scheduler;
    group.outer = scheduler->groups;
    scheduler->groups = &group;
    group.parent = scheduler->current;
    if (group.parent)
        wait_for_group(scheduler, &group);
    else
        schedule(run, &group);
    close_group(scheduler, &group);
    if (outermost)
        scheduler_release(run);
    value results = collect(run, &group);
    region_return(run->region, group.branches, size);
    return results;
}

void scheduler_release(struct run *run)
{
    struct scheduler *scheduler = run->state->scheduler;
    if (!scheduler)
        return;
    threads_free(scheduler->threads);
    for (struct branch *branch = scheduler->active_branches; branch; branch = branch->next) {
        struct stack outer = run->state->stack;
        run->state->stack = branch->turn->context.stack;
        run->state->stack.current = NULL;
        stack_release(run);
        run->state->stack = outer;
        turn_free(run, branch->turn);
    }
    run->state->scheduler = NULL;
}

// --- tools ---------------------------------------------------------------------------------------

static void run_job(struct thread_job *job)
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
    struct branch *self = run->state->scheduler->current;
    self->status = status;
    fiber_yield(&self->turn->fiber);
}

bool scheduler_call_tool(struct run *run, const struct tool *tool, struct tool_call *call)
{
    struct scheduler *scheduler = run->state->scheduler;
    struct branch *self = scheduler->current;
    struct tool_job *job = region_alloc(run->region, sizeof(*job));
    *job = (struct tool_job){.job.function = run_job, .tool = tool, .call = call, .branch = self};
    if (self && scheduler->threads && threads_submit(scheduler->threads, &job->job))
        park(run, BRANCH_WAITING);
    else
        stack_call_host(run, run_job_here, job);
    bool ok = job->ok;
    region_return(run->region, job, sizeof(*job));
    return ok;
}

bool scheduler_wait_for_key(struct run *run, value key)
{
    struct scheduler *scheduler = run->state->scheduler;
    if (!scheduler || !scheduler->current || !set_has(scheduler->in_flight, key))
        return false;
    park(run, BRANCH_WAITING_FOR_KEY);
    return true;
}

void scheduler_key_started(struct run *run, value key)
{
    struct scheduler *scheduler = run->state->scheduler;
    if (!scheduler || !scheduler->current)
        return;
    scheduler->current->turn->key = value_retain(key);
    scheduler->in_flight = set_add(run->region, detach_keys(run, scheduler), value_retain(key));
}

void scheduler_key_finished(struct run *run)
{
    struct scheduler *scheduler = run->state->scheduler;
    if (scheduler && scheduler->current)
        forget_key(run, scheduler->current->turn);
}
