#include "program/run/run.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/utf8.h"
#include "program/builtin/decimal.h"
#include "program/builtin/regex/regex.h"
#include "program/compile/literals.h"
#include "program/eval/eval.h"
#include "program/eval/generator.h"
#include "program/eval/stack.h"
#include "program/run/output_limit.h"
#include "program/run/parallel/parallel.h"
#include "program/run/parallel/scheduler.h"
#include "program/run/run_memory.h"
#include "program/run/run_state.h"
#include "program/run/step.h"
#include "program/run/validation.h"
#include "value/collection/key_lookup.h"
#include "value/fuel.h"
#include "value/text/print.h"

enum {
    FUEL_PORTION = 10000,        // units between two readings of the clock
    VALUE_FUEL_PORTION = 50000,  // the same inside value/, whose units are smaller
};

// --- leaving -------------------------------------------------------------------------------------

void run_leave(struct run *run)
{
    struct run_state *state = run->state;
    if (state->branch_op && state->failure.kind != FAILURE_NONE) {
        struct failure *failure = &state->failure;
        if (failure->kind != TOOL_ERROR)
            snprintf(failure->op, sizeof(failure->op), "%s", state->branch_op);
        failure->has_index = true;
        failure->index = state->branch_index;
    }
    parallel_leave(run, state->exit.level);
    stack_unwind(run, state->exit.stack);
    __builtin_longjmp(state->exit.registers, 1);
}

static void set_failure(struct run *run, enum failure_kind kind, const char *op)
{
    struct failure *failure = &run->state->failure;
    failure->kind = kind;
    snprintf(failure->op, sizeof(failure->op), "%s", op ? op : "");
    const struct expression *site = run->site;
    failure->has_offset = site != NULL;
    if (site)
        failure->offset = site->offset;
}

void run_raise(struct run *run, enum failure_kind kind, const char *op, const char *format, ...)
{
    set_failure(run, kind, op);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(run->state->failure.message, DIAGNOSTIC_MESSAGE_SIZE, format, arguments);
    va_end(arguments);
    run_leave(run);
}

void run_raise_at(struct run *run, enum failure_kind kind, uint32_t offset, const char *message)
{
    set_failure(run, kind, NULL);
    struct failure *failure = &run->state->failure;
    failure->has_offset = true;
    failure->offset = offset;
    snprintf(failure->message, sizeof(failure->message), "%s", message);
    run_leave(run);
}

void run_raise_limit(struct run *run, enum failure_kind kind, const char *op, const char *option,
                     int64_t limit, const char *message)
{
    set_failure(run, kind, op);
    struct failure *failure = &run->state->failure;
    failure->limit_option = option;
    failure->limit_value = limit;
    snprintf(failure->message, sizeof(failure->message), "%s: %s (option %s)",
             failure_kind_name(kind), message, option);
    run_leave(run);
}

void run_return(struct run *run, value v)
{
    struct run_state *state = run->state;
    if (state->branch_depth)
        run_raise(run, RUNTIME_ERROR, "return", "return: not inside pmap or pcalls");
    state->result = v;
    state->returned = true;
    run_leave(run);
}

void run_fail_value(struct run *run, value v)
{
    struct run_state *state = run->state;
    if (state->branch_depth)
        run_raise(run, RUNTIME_ERROR, "fail", "fail: not inside pmap or pcalls");
    output_limit_check(run, v, "the failure");
    struct failure *failure = &state->failure;
    value reason = value_nil(), message = value_nil();
    if (v.tag == VALUE_MAP) {
        map_find_flexible(v, value_string_borrow(run->region, SPAN("reason")), &reason);
        map_find_flexible(v, value_string_borrow(run->region, SPAN("message")), &message);
    } else if (v.tag == VALUE_STRING) {
        message = v;
    }
    if (reason.tag == VALUE_KEYWORD || reason.tag == VALUE_STRING)
        failure->kind_text = value_string(run->region, value_text(reason));
    failure->long_message =
        message.tag == VALUE_STRING ? value_retain(message) : value_printed(run->region, v);
    failure->details = map_put_text(run->region, map_new(run->region), "value", v);
    run_raise(run, FAIL, "fail", "fail");
}

// --- warnings ------------------------------------------------------------------------------------

enum { WARNED_PLACES = 32 };

static bool is_warned(value comparisons, int64_t place)
{
    size_t count = vector_count(comparisons);
    for (size_t i = 0; i < count; i++) {
        if (vector_at(vector_at(comparisons, i), 0).integer == place)
            return true;
    }
    return count >= WARNED_PLACES;
}

void run_warn_comparison(struct run *run, value a, value b)
{
    enum { SHOWN = 60 };
    bool is_pair = (a.tag == VALUE_STRING && b.tag == VALUE_KEYWORD) ||
                   (a.tag == VALUE_KEYWORD && b.tag == VALUE_STRING);
    if (!is_pair || !span_equal(value_text(a), value_text(b)))
        return;
    const struct expression *site = run->site;
    struct branch_state *branch = &run->state->branch;
    int64_t place = site ? (int64_t)site->offset : -1;
    if (is_warned(branch->comparisons, place))
        return;
    struct span name = value_text(a);
    name.length = utf8_offset(name.data, name.length, SHOWN);
    value entry[] = {
        value_integer(place),
        value_string_format(run->region,
                            "compared the string \"%.*s\" with the keyword :%.*s; keys of JSON "
                            "data are strings",
                            (int)name.length, name.data, (int)name.length, name.data),
    };
    branch->comparisons =
        vector_push(run->region, branch->comparisons, vector_from(run->region, entry, 2));
}

void run_warn_member(struct run *run, value set, value item)
{
    if (item.tag != VALUE_STRING && item.tag != VALUE_KEYWORD)
        return;
    struct span name = value_text(item);
    value other = {.tag = item.tag == VALUE_STRING ? VALUE_KEYWORD : VALUE_STRING,
                   .flags = VALUE_BORROWED,
                   .aux = (uint32_t)name.length,
                   .text = name.data};
    if (set_has(set, other))
        run_warn_comparison(run, item, other);
}

// The warnings of all branches, one for each place.
static void collect_comparisons(struct run *run)
{
    struct run_state *state = run->state;
    value seen = vector_new(run->region, 0), all = state->branch.comparisons;
    for (size_t i = 0; all.tag == VALUE_VECTOR && i < vector_count(all); i++) {
        value entry = vector_at(all, i);
        if (is_warned(seen, vector_at(entry, 0).integer))
            continue;
        seen = vector_push(run->region, seen, value_retain(entry));
        state->warnings =
            vector_push(run->region, state->warnings, value_retain(vector_at(entry, 1)));
    }
}

// --- time and memory -----------------------------------------------------------------------------

static uint64_t units_spent(const struct run *run)
{
    const struct run_state *state = run->state;
    return (uint64_t)((int64_t)state->granted - run->fuel) + state->value_units;
}

static void check_time(struct run *run)
{
    struct run_state *state = run->state;
    bool out_of_steps =
        run->limits.max_steps >= 0 && units_spent(run) > (uint64_t)run->limits.max_steps;
    bool is_cancelled =
        state->is_cancelled && __atomic_load_n(state->is_cancelled, __ATOMIC_ACQUIRE);
    bool out_of_compute =
        state->compute_until_ns < INT64_MAX && clock_thread_ns() >= state->compute_until_ns;
    if (!out_of_steps && !out_of_compute && !is_cancelled && clock_now_ns() < state->deadline_ns)
        return;
    run->site = NULL;
    if (state->paused.is_set && !is_cancelled)
        run_pause_too(run);
    if (is_cancelled)
        run_raise(run, TIMEOUT, NULL, "cancelled by the host");
    char message[80];
    if (out_of_compute) {
        snprintf(message, sizeof(message), "the program's own work exceeded %lld ms",
                 (long long)run->limits.compute_ms);
        run_raise_limit(run, TIMEOUT, NULL, "max_compute", run->limits.compute_ms, message);
    }
    snprintf(message, sizeof(message), "evaluation exceeded %lld ms",
             (long long)run->limits.timeout_ms);
    run_raise_limit(run, TIMEOUT, NULL, "timeout", run->limits.timeout_ms, message);
}

static int64_t portion(const struct run *run, int64_t usual)
{
    int64_t most = run->limits.max_steps;
    return most >= 0 && most < usual ? most : usual;
}

void run_refill(struct run *run)
{
    check_time(run);
    if (run->fuel >= 0)
        return;
    int64_t more = portion(run, FUEL_PORTION) - run->fuel;
    run->fuel += more;
    run->state->granted += (uint64_t)more;
}

static void on_fuel_empty(void *data)
{
    struct run *run = data;
    int64_t more = portion(run, VALUE_FUEL_PORTION);
    run->state->value_units += (uint64_t)(run->state->value_portion - fuel.left);
    run->state->value_portion = more;
    fuel.left = more;
    check_time(run);
}

static void memory_exhausted(void *data, size_t size)
{
    (void)size;
    struct run *run = data;
    run->site = NULL;
    char message[80];
    snprintf(message, sizeof(message), "evaluation exceeded %zu bytes", run->limits.max_memory);
    run_raise_limit(run, MEMORY_EXCEEDED, NULL, "max_memory", (int64_t)run->limits.max_memory,
                    message);
}

// --- set-up --------------------------------------------------------------------------------------

static value path_value(struct run *run, const struct form *form)
{
    if (form->kind == FORM_VECTOR)
        return form_value(run->region, form);
    value key = form_value(run->region, form);
    return vector_from(run->region, &key, 1);
}

static value constant_value(struct run *run, const struct constant *constant)
{
    struct run_state *state = run->state;
    switch (constant->kind) {
    case CONSTANT_FORM:
        if (constant->form->kind == FORM_REGEX)
            return regex_new(run, constant->form->text);
        return form_value(run->region, constant->form);
    case CONSTANT_KEYWORD: return value_keyword(run->region, constant->name);
    case CONSTANT_CONTEXT: {
        value key = value_keyword(run->region, constant->name);
        value item = value_nil();
        if (state->context.tag == VALUE_MAP)
            map_find_flexible(state->context, key, &item);
        value_retain(item);
        value_release(run->region, key);
        return item;
    }
    case CONSTANT_HISTORY: return value_retain(state->history[constant->index - 1]);
    case CONSTANT_TOOL: return tool_function(run, constant->index);
    case CONSTANT_PATH: return path_value(run, constant->form);
    }
    __builtin_unreachable();
}

static void make_instance(struct run *run)
{
    struct run_state *state = run->state;
    const struct program *program = state->program;
    struct instance *instance = &state->instance;
    instance->program = program;
    if (program->constant_count)
        instance->constants =
            region_alloc(run->region, program->constant_count * sizeof(*instance->constants));
    for (size_t i = 0; i < program->constant_count; i++)
        instance->constants[i] = constant_value(run, &program->constants[i]);
    if (program->lookup_count)
        instance->lookups =
            region_alloc_zero(run->region, program->lookup_count * sizeof(*instance->lookups));
    for (size_t i = 0; i < program->lookup_count; i++)
        instance->lookups[i].key = value_keyword(run->region, program->lookups[i]);
}

static void load_history(struct run_state *state, value history)
{
    size_t count = history.tag == VALUE_VECTOR ? vector_count(history) : 0;
    for (size_t i = 0; i < 3; i++)
        state->history[i] = i < count ? vector_at(history, count - 1 - i) : value_nil();
}

// --- running -------------------------------------------------------------------------------------

struct execution {
    const struct program_inputs *inputs;
    struct run run;
    struct run_state state;
    size_t base;  // bytes of the inputs
    bool evaluating;
    int64_t ended_ns;
    value delta;
};

static void enter_top_level(void *data)
{
    struct run *run = data;
    const struct code *code = run->state->program->code;
    size_t size = sizeof(struct frame) + code->slot_count * sizeof(value);
    struct frame *frame = region_alloc_zero(run->region, size);
    frame->instance = &run->state->instance;
    run->state->result = closure_run(run, frame, code);
    region_return(run->region, frame, size);
}

typedef void phase_fn(struct execution *execution);

// Runs one phase; false when it failed or returned early.
static __attribute__((noinline)) bool guarded(struct execution *execution, phase_fn *phase)
{
    void *registers[5];
    execution->state.exit =
        (struct run_exit){.registers = registers, .stack = stack_mark(&execution->run)};
    if (__builtin_setjmp(registers)) {
        stack_landed(&execution->run);
        return false;
    }
    phase(execution);
    return true;
}

static void set_up(struct execution *execution)
{
    struct run *run = &execution->run;
    struct run_state *state = &execution->state;
    const struct program_inputs *inputs = execution->inputs;
    state->branch.prints = vector_new(run->region, 0);
    state->branch.comparisons = vector_new(run->region, 0);
    state->warnings = vector_new(run->region, 0);
    state->tool_cache = map_new(run->region);
    run_validate_tools(run);
    state->context =
        run_validate_inputs(run, inputs->parsed_signature, value_retain(inputs->context));
    state->input_memory = inputs->memory;
    load_history(state, inputs->history);
    if (!clock_record_read(run, inputs->clock))
        run_raise(run, INVALID_RECORD, NULL, "clock: not the record of a run");
    make_instance(run);
    run_memory_start(run, inputs->memory);
}

static void evaluate_program(struct execution *execution)
{
    struct run *run = &execution->run;
    struct run_state *state = &execution->state;
    struct region *region = run->region;
    execution->base = region->live;
    region->peak = region->live;
    size_t most = SIZE_MAX / 2 - region->live;
    region_set_limit(region, region->live +
                                 (run->limits.max_memory < most ? run->limits.max_memory : most));
    if (execution->inputs->options.fail_allocation)
        region_fail_nth(region, (size_t)execution->inputs->options.fail_allocation);
    execution->evaluating = true;
    state->started_ns = clock_now_ns();
    state->deadline_ns = state->started_ns + run->limits.timeout_ms * 1000000;
    if (run->limits.compute_ms >= 0)
        state->compute_until_ns = clock_thread_ns() + run->limits.compute_ms * 1000000;
    run_refill(run);
    size_t need = state->program->code->stack_need;
    if (stack_is_low(run->stack_end, need))
        stack_call(run, need, enter_top_level, run);
    else
        enter_top_level(run);
}

static void finish(struct execution *execution)
{
    struct run *run = &execution->run;
    struct run_state *state = &execution->state;
    const struct program_inputs *inputs = execution->inputs;
    run->site = NULL;
    state->result = run_realize(run, state->result);
    state->result = run_memory_finish(run, state->result);
    if (inputs->options.float_precision >= 0)
        state->result =
            decimal_round_floats(run, state->result, (unsigned)inputs->options.float_precision);
    state->result = run_validate_output(run, inputs->parsed_signature, state->result);
    execution->delta = run_memory_delta(run);
    output_limit_check(run, state->result, "the result");
    output_limit_check(run, execution->delta, "the memory");
}

static bool execute(struct execution *execution)
{
    if (!guarded(execution, set_up))
        return false;
    if (!guarded(execution, evaluate_program) && !execution->state.returned)
        return false;
    return guarded(execution, finish);
}

static void start_execution(struct execution *execution, struct program *program,
                            const struct program_inputs *inputs)
{
    struct run *run = &execution->run;
    struct run_state *state = &execution->state;
    execution->inputs = inputs;
    *run = (struct run){
        .region = inputs->region,
        .limits = inputs->options.limits,
        .state = state,
    };
    state->program = program;
    state->explicit_memory = inputs->options.explicit_memory;
    state->user = inputs->user;
    state->is_cancelled = inputs->is_cancelled;
    run_random_start(&state->branch.random, inputs->options.seed);
    state->depth = inputs->inner ? inputs->inner->depth : 0;
    state->clock.standing_ms = inputs->inner ? inputs->inner->clock_ms : 0;
    state->branch.course = course_start(inputs->inner_key);
    state->validation = inputs->validation;
    state->stack.caller_end = (char *)__builtin_frame_address(0) - STACK_CALLER_BUDGET;
    run->stack_end = state->stack.caller_end;
    run->fuel = portion(run, FUEL_PORTION);
    state->granted = (uint64_t)run->fuel;
    state->value_portion = portion(run, VALUE_FUEL_PORTION);
    state->deadline_ns = state->compute_until_ns = INT64_MAX;
    region_set_limit(inputs->region, SIZE_MAX / 2);
    region_on_exhausted(inputs->region, memory_exhausted, run);
}

static void fill_step(struct execution *execution, bool ok, struct step *step)
{
    struct run *run = &execution->run;
    struct run_state *state = &execution->state;
    const struct program_inputs *inputs = execution->inputs;
    step->failure = state->failure;
    step->result = state->result;
    step->delta = execution->delta;
    step->memory = ok ? state->branch.memory : inputs->memory;
    step->prints = state->branch.prints;
    step->warnings = state->warnings;
    step->ledger = state->branch.ledger;
    step->signature = inputs->signature;
    step->has_seed = state->branch.random.is_used;
    step->seed = state->branch.random.seed;
    step->paused = state->paused;
    step->clock = state->clock;
    step->has_usage = execution->evaluating;
    step->duration_ms = (execution->ended_ns - state->started_ns) / 1000000;
    step->memory_bytes = run->region->peak - execution->base;
    step->steps = (uint64_t)((int64_t)state->granted - run->fuel) - run->work;
    if (!ok && state->failure.has_offset)
        source_position(step->source, state->failure.offset, &step->line, &step->column);
}

void run_execute(struct program *program, const struct program_inputs *inputs,
                 struct step *ret_step)
{
    struct execution execution = {0};
    *ret_step = (struct step){
        .region = inputs->region,
        .program = program_retain(program),
        .source = program->source,
        .tools = program->tools,
    };
    struct fuel before = fuel;
    start_execution(&execution, program, inputs);
    fuel = (struct fuel){
        .left = execution.state.value_portion,
        .handler = on_fuel_empty,
        .data = &execution.run,
        .region = inputs->region,
    };
    bool ok = execute(&execution);
    if (ok)
        execution.state.paused.is_set = false;
    execution.ended_ns = clock_now_ns();
    fuel = before;
    region_fail_nth(inputs->region, 0);
    scheduler_release(&execution.run);
    stack_release(&execution.run);
    tool_calls_release(&execution.run);
    regex_cache_free(&execution.run);
    region_on_exhausted(inputs->region, NULL, NULL);
    region_set_limit(inputs->region, SIZE_MAX / 2);
    collect_comparisons(&execution.run);
    fill_step(&execution, ok, ret_step);
}
