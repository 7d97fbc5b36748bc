#include "program/run/tool.h"

#include <math.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "program/eval/stack.h"
#include "program/run/output_limit.h"
#include "program/run/parallel/scheduler.h"
#include "program/run/run_state.h"
#include "program/run/validation.h"
#include "value/fuel.h"
#include "value/text/json.h"
#include "value/text/print.h"

enum {
    LEDGER_RESULT_BYTES = 16384,
    TOOL_ERROR_BYTES = UTF8_MAX_BYTES * TOOL_ERROR_LENGTH,  // the rest is cut
};

const char *tool_name(struct run *run, uint32_t tool)
{
    return run->state->program->tools->tools[tool].name;
}

// --- argument conversion -------------------------------------------------------------------------

struct conversion {
    struct run *run;
    const char *tool;
};

static value convert(const struct conversion *conversion, value v);

static value convert_key(const struct conversion *conversion, value key)
{
    struct region *region = conversion->run->region;
    if (key.tag == VALUE_STRING)
        return value_retain(key);
    if (key.tag != VALUE_KEYWORD)
        return value_printed(region, key);
    struct span name = value_text(key);
    char *copy = region_alloc(region, name.length + 1);
    for (size_t i = 0; i < name.length; i++)
        copy[i] = name.data[i] == '-' ? '_' : name.data[i];
    value text = value_string(region, (struct span){copy, name.length});
    region_return(region, copy, name.length + 1);
    return text;
}

static value convert_map(const struct conversion *conversion, value map)
{
    struct region *region = conversion->run->region;
    value result = map_new(region);
    struct map_cursor cursor = map_iterate(map);
    value key, item;
    while (map_next(&cursor, &key, &item)) {
        value name = convert_key(conversion, key);
        value present;
        if (map_find(result, name, &present))
            run_raise(conversion->run, INVALID_TOOL_ARGS, conversion->tool,
                      "tool '%s': two keys of the arguments become equal", conversion->tool);
        result = map_put(region, result, name, convert(conversion, item));
    }
    return result;
}

static value convert_vector(const struct conversion *conversion, value items)
{
    struct region *region = conversion->run->region;
    value result = vector_new(region, vector_count(items));
    for (size_t i = 0; i < vector_count(items); i++)
        result = vector_push(region, result, convert(conversion, vector_at(items, i)));
    return result;
}

struct deferred_conversion {
    const struct conversion *conversion;
    value v;
};

static void convert_deferred(void *data)
{
    struct deferred_conversion *deferred = data;
    deferred->v = convert(deferred->conversion, deferred->v);
}

// Recursion follows the data, so it checks the stack. Borrows v.
static value convert(const struct conversion *conversion, value v)
{
    struct run *run = conversion->run;
    run_spend(run, 1);
    if (stack_is_low(run->stack_end, 0)) {
        struct deferred_conversion deferred = {conversion, v};
        stack_call(run, 0, convert_deferred, &deferred);
        return deferred.v;
    }
    switch (v.tag) {
    case VALUE_KEYWORD: return value_string(run->region, value_text(v));
    case VALUE_MAP: return convert_map(conversion, v);
    case VALUE_VECTOR: return convert_vector(conversion, v);
    case VALUE_SET: {
        value items = set_sorted(run->region, v);
        value result = convert_vector(conversion, items);
        value_release(run->region, items);
        return result;
    }
    case VALUE_FUNCTION:
    case VALUE_REGEX:
    case VALUE_SYMBOL:
    case VALUE_VAR: {
        char text[DESCRIBE_SIZE];
        run_raise(run, INVALID_TOOL_ARGS, conversion->tool, "tool '%s': arguments cannot hold %s",
                  conversion->tool, value_describe(v, text));
    }
    default: return value_retain(v);
    }
}

static value convert_arguments(struct run *run, const struct tool *tool, value argument,
                               size_t count)
{
    if (count == 0)
        return map_new(run->region);
    if (count != 1 || argument.tag != VALUE_MAP) {
        char text[DESCRIBE_SIZE];
        run_raise(run, INVALID_TOOL_ARGS, tool->name,
                  "tool '%s': arguments must be one map or keyword value pairs, got %s", tool->name,
                  count == 1 ? value_describe(argument, text) : "several values");
    }
    struct conversion conversion = {run, tool->name};
    value converted = convert(&conversion, argument);
    value_release(run->region, argument);
    return converted;
}

// --- cache ---------------------------------------------------------------------------------------

// Whole floats as integers, so that 1 and 1.0 are one key. Borrows.
static value normalize(struct run *run, value v)
{
    struct region *region = run->region;
    run_spend(run, 1);
    if (v.tag == VALUE_FLOAT && v.number == floor(v.number) && fabs(v.number) < 0x1p62)
        return value_integer((int64_t)v.number);
    if (v.tag == VALUE_VECTOR) {
        value result = vector_new(region, vector_count(v));
        for (size_t i = 0; i < vector_count(v); i++)
            result = vector_push(region, result, normalize(run, vector_at(v, i)));
        return result;
    }
    if (v.tag == VALUE_MAP) {
        value result = map_new(region);
        struct map_cursor cursor = map_iterate(v);
        value key, item;
        while (map_next(&cursor, &key, &item))
            result = map_put(region, result, value_retain(key), normalize(run, item));
        return result;
    }
    return value_retain(v);
}

static value cache_key(struct run *run, uint32_t tool, value arguments)
{
    value parts[2] = {value_integer(tool), normalize(run, arguments)};
    return vector_from(run->region, parts, 2);
}

// --- ledger --------------------------------------------------------------------------------------

void ledger_add(struct run *run, struct ledger *ledger, struct ledger_entry entry)
{
    if (ledger->count == ledger->capacity) {
        size_t capacity = ledger->capacity ? ledger->capacity * 2 : 8;
        ledger->entries = region_resize(run->region, ledger->entries,
                                        ledger->capacity * sizeof(entry), capacity * sizeof(entry));
        ledger->capacity = capacity;
    }
    ledger->entries[ledger->count++] = entry;
}

// Data shared by many calls is written for each of them, so the ledger does not keep everything.
static struct ledger_entry ledger_entry_new(struct run *run, uint32_t tool, value arguments)
{
    struct ledger_entry entry = {.tool = tool};
    size_t size = output_limit_check(run, arguments, "a tool's arguments");
    if (output_limit_reserve(run, size))
        entry.arguments = value_retain(arguments);
    else
        entry.arguments_bytes = size;
    return entry;
}

// Keeps the result unless its JSON is long.
static void ledger_set_result(struct run *run, struct ledger_entry *entry, value result)
{
    struct buffer *json = &run->state->scratch;
    buffer_release(json);  // left by a branch of pmap that ran out of time
    buffer_init(json, BUFFER_DEFAULT_LIMIT);
    json_write(json, result, 0, NULL);
    if (json->failed || json->length > LEDGER_RESULT_BYTES ||
        !output_limit_reserve(run, json->length))
        entry->result_bytes = json->failed ? BUFFER_DEFAULT_LIMIT : json->length;
    else
        entry->result = value_retain(result);
    buffer_release(json);
}

// --- the call ------------------------------------------------------------------------------------

static void call_exhausted(void *data, size_t size)
{
    (void)size;
    struct tool_call *call = data;
    __builtin_longjmp(call->exit, 1);
}

bool tool_call_run(tool_fn *function, void *data, struct tool_call *call)
{
    region_on_exhausted(call->region, call_exhausted, call);
    if (__builtin_setjmp(call->exit)) {
        call->is_exhausted = true;
        return tool_call_fail(call, SPAN("the tool's result needs too much memory"));
    }
    return function(data, call);
}

bool tool_call_fail(struct tool_call *call, struct span text)
{
    buffer_clear(&call->error);
    buffer_append(&call->error, text.data,
                  text.length < TOOL_ERROR_BYTES ? text.length : TOOL_ERROR_BYTES);
    return false;
}

bool tool_call_pause(struct tool_call *call)
{
    call->is_pending = true;
    return tool_call_fail(call, SPAN("there is no answer yet"));
}

void tool_call_free(struct tool_call *call)
{
    buffer_release(&call->error);
    region_free(call->region);
    memory_free(call);
}

// Open calls are listed in the run, which frees them however it ends.
static struct tool_call *call_open(struct run *run, value arguments)
{
    struct tool_call *call = memory_try_alloc(sizeof(*call));
    if (!call)
        run_raise_limit(run, MEMORY_EXCEEDED, NULL, "max_memory", (int64_t)run->limits.max_memory,
                        "the system has no memory for a tool call");
    *call = (struct tool_call){
        .region = region_new(SIZE_MAX),
        .result = value_nil(),
        .user = run->state->user,
        .is_cancelled = run->state->is_cancelled,
        .deadline_ns = run->state->deadline_ns,
        .next = run->state->open_calls,
    };
    buffer_init(&call->error, TOOL_ERROR_BYTES);
    run->state->open_calls = call;
    region_on_exhausted(call->region, run->region->exhausted, run->region->exhausted_data);
    call->arguments = value_copy(call->region, arguments);
    size_t most = SIZE_MAX / 2 - call->region->live;
    size_t more = run->limits.max_memory < most ? run->limits.max_memory : most;
    region_set_limit(call->region, call->region->live + more);
    return call;
}

static void call_unlist(struct run *run, struct tool_call *call)
{
    struct tool_call **link = &run->state->open_calls;
    while (*link != call)
        link = &(*link)->next;
    *link = call->next;
}

void tool_calls_release(struct run *run)
{
    buffer_release(&run->state->scratch);
    while (run->state->open_calls) {
        struct tool_call *call = run->state->open_calls;
        run->state->open_calls = call->next;
        tool_call_free(call);
    }
}

struct host_call {
    const struct tool *tool;
    struct tool_call *call;
    bool ok;
};

static void call_host(void *data)
{
    struct host_call *host = data;
    host->ok = tool_call_run(host->tool->function, host->tool->data, host->call);
}

// In this thread, on a stack that is large enough for code of the host.
static bool call_here(struct run *run, const struct tool *tool, struct tool_call *call)
{
    struct host_call host = {.tool = tool, .call = call};
    struct fuel before = fuel;
    fuel = (struct fuel){0};
    stack_call_host(run, call_host, &host);
    fuel = before;
    return host.ok;
}

// The text of a failed tool is untrusted: made valid, and cut.
static value error_text(struct run *run, struct tool_call *call)
{
    value whole = value_string_repair(run->region, buffer_span(&call->error));
    struct span text = value_text(whole);
    text.length = utf8_offset(text.data, text.length, TOOL_ERROR_LENGTH);
    value kept = value_string(run->region, text);
    value_release(run->region, whole);
    return kept;
}

static _Noreturn void fail_result_size(struct run *run, const struct tool *tool)
{
    char message[80];
    snprintf(message, sizeof(message), "a tool's result exceeded %zu bytes",
             run->limits.max_memory);
    run_raise_limit(run, MEMORY_EXCEEDED, tool->name, "max_memory", (int64_t)run->limits.max_memory,
                    message);
}

// --- a program as a tool -------------------------------------------------------------------------

static void begin_inner(struct run *run, struct tool_call *call)
{
    call->inner = (struct inner_run){
        .limits = &run->limits,
        .seed = hash_combine(run->state->branch.random.seed, call->key) % (uint64_t)RUN_SEED_MAX,
        .clock_ms = run_clock_ms(run),
        .depth = run->state->depth + 1,
        .paused_arguments = value_nil(),
    };
}

static value keep_text(struct run *run, value v, size_t *ret_bytes)
{
    size_t size = output_limit_check(run, v, "a tool's arguments");
    if (output_limit_reserve(run, size))
        return value_copy(run->region, v);
    *ret_bytes = size;
    return value_nil();
}

// Its calls are those of the run, before the call of the program itself.
static void take_inner(struct run *run, const struct tool_call *call)
{
    run->state->branch.random.is_used |= call->inner.drew_random;
    for (size_t i = 0; i < call->inner.ledger.count; i++) {
        struct ledger_entry entry = call->inner.ledger.entries[i];
        entry.arguments = keep_text(run, entry.arguments, &entry.arguments_bytes);
        entry.result = keep_text(run, entry.result, &entry.result_bytes);
        entry.error = value_copy(run->region, entry.error);
        ledger_add(run, &run->state->branch.ledger, entry);
    }
}

static _Noreturn void fail_tool(struct run *run, const struct tool *tool, struct tool_call *call,
                                struct ledger_entry entry, value arguments)
{
    if (call->inner.is_paused)
        run_pause(run, call->inner.paused_tool,
                  value_copy(run->region, call->inner.paused_arguments), call->inner.paused_key);
    if (call->is_pending)
        run_pause(run, entry.tool, arguments, call->key);
    entry.failed = true;
    entry.error = error_text(run, call);
    ledger_add(run, &run->state->branch.ledger, entry);
    if (call->is_exhausted)
        fail_result_size(run, tool);
    if (call->is_late || run->state->paused.is_set)
        run_refill(run);
    call_unlist(run, call);
    tool_call_free(call);
    struct span text = value_text(entry.error);
    run->state->failure.long_message = value_string_format(run->region, "tool '%s' failed: %.*s",
                                                           tool->name, (int)text.length, text.data);
    run_raise(run, TOOL_ERROR, tool->name, "tool '%s' failed", tool->name);
}

static value perform(struct run *run, uint32_t index, value arguments, uint64_t key,
                     struct ledger_entry *entry)
{
    const struct tool *tool = &run->state->program->tools->tools[index];
    if (run->state->paused.is_set)
        run_pause_too(run);
    struct tool_call *call = call_open(run, arguments);
    call->key = key;
    if (tool->flags & TOOL_PROGRAM)
        begin_inner(run, call);
    int64_t started = clock_now_ns();
    bool ok =
        run->state->scheduler ? scheduler_call_tool(run, tool, call) : call_here(run, tool, call);
    entry->duration_ms = (clock_now_ns() - started) / 1000000;
    take_inner(run, call);
    if (!ok)
        fail_tool(run, tool, call, *entry, arguments);
    value result = value_copy(run->region, call->result);
    call_unlist(run, call);
    tool_call_free(call);
    return result;
}

static void count_call(struct run *run, const struct tool *tool)
{
    struct run_state *state = run->state;
    if (run->limits.max_tool_calls < 0 || state->tool_calls < run->limits.max_tool_calls) {
        state->tool_calls++;
        return;
    }
    char message[80];
    snprintf(message, sizeof(message), "the program exceeded %lld tool calls",
             (long long)run->limits.max_tool_calls);
    run_raise_limit(run, TOOL_CALL_LIMIT, tool->name, "max_tool_calls", run->limits.max_tool_calls,
                    message);
}

value tool_apply(struct run *run, uint32_t index, value argument, size_t count)
{
    struct run_state *state = run->state;
    const struct tool *tool = &state->program->tools->tools[index];
    value arguments = convert_arguments(run, tool, argument, count);
    arguments = run_validate_tool_arguments(run, tool, arguments);
    value key = value_nil();
    struct ledger_entry entry = ledger_entry_new(run, index, arguments);
    if (tool->flags & TOOL_CACHE) {
        key = cache_key(run, index, arguments);
        value hit;
        while (scheduler_wait_for_key(run, key))
            continue;
        if (map_find(state->tool_cache, key, &hit)) {
            value result = value_retain(hit);
            entry.cached = true;
            ledger_set_result(run, &entry, result);
            ledger_add(run, &state->branch.ledger, entry);
            value_release(run->region, key);
            value_release(run->region, arguments);
            return result;
        }
    }
    count_call(run, tool);
    bool is_shared = tool->flags & TOOL_CACHE;
    if (is_shared)
        scheduler_key_started(run, key);
    uint64_t call_key =
        is_shared ? course_shared_key(run, key) : course_next_key(&state->branch.course);
    value result = perform(run, index, arguments, call_key, &entry);
    value_release(run->region, arguments);
    result = run_validate_tool_result(run, tool, result, &entry);
    ledger_set_result(run, &entry, result);
    ledger_add(run, &state->branch.ledger, entry);
    if (tool->flags & TOOL_CACHE) {
        // Detached while it is changed: the change may leave by a jump, and other branches go on.
        value cache = state->tool_cache;
        state->tool_cache = map_new(run->region);
        state->tool_cache = map_put(run->region, cache, key, value_retain(result));
        scheduler_key_finished(run);
    }
    run_refill(run);
    return result;
}
