#include "program/run/run_memory.h"

#include "program/builtin/builtin.h"
#include "value/collection/key_lookup.h"

void run_memory_start(struct run *run, value input)
{
    struct run_state *state = run->state;
    struct branch_state *branch = &state->branch;
    branch->memory = map_new(run->region);
    branch->written = set_new(run->region);
    if (input.tag == VALUE_MAP) {
        struct map_cursor cursor = map_iterate(input);
        value name, item;
        while (map_next(&cursor, &name, &item)) {
            value key = name.tag == VALUE_STRING ? value_keyword(run->region, value_text(name))
                                                 : value_retain(name);
            branch->memory = map_put(run->region, branch->memory, key, value_retain(item));
        }
    }
    size_t count = state->program->global_count;
    branch->globals = region_alloc_zero(run->region, (count + 1) * sizeof(*branch->globals));
    for (size_t i = 0; i < count; i++) {
        value key = value_keyword(run->region, state->program->globals[i].name);
        value item;
        if (map_find(branch->memory, key, &item)) {
            branch->globals[i].value = value_retain(item);
            branch->globals[i].is_bound = true;
        }
        value_release(run->region, key);
    }
}

void run_memory_own_globals(struct run *run)
{
    struct branch_state *branch = &run->state->branch;
    if (!branch->globals_shared)
        return;
    size_t count = run->state->program->global_count;
    struct global_slot *copy = region_alloc(run->region, (count + 1) * sizeof(*copy));
    for (size_t i = 0; i < count; i++) {
        copy[i] = branch->globals[i];
        value_retain(copy[i].value);
    }
    branch->globals = copy;
    branch->globals_shared = false;
}

void run_memory_globals_free(struct run *run, struct global_slot *globals)
{
    size_t count = run->state->program->global_count;
    for (size_t i = 0; i < count; i++)
        value_release(run->region, globals[i].value);
    region_return(run->region, globals, (count + 1) * sizeof(*globals));
}

void run_memory_define(struct run *run, size_t global, value name, value v)
{
    struct branch_state *branch = &run->state->branch;
    if (global < run->state->program->global_count) {
        run_memory_own_globals(run);
        struct global_slot *slot = &branch->globals[global];
        value old = slot->value;
        slot->value = value_retain(v);
        slot->is_bound = true;
        value_release(run->region, old);
    }
    branch->written = set_add(run->region, branch->written, value_retain(name));
    branch->memory = map_put(run->region, branch->memory, name, v);
}

void run_memory_write(struct run *run, value name, value v)
{
    const struct program *program = run->state->program;
    size_t global = 0;
    while (global < program->global_count &&
           !span_equal(program->globals[global].name, value_text(name)))
        global++;
    run_memory_define(run, global, name, v);
}

value run_memory_name(struct run *run, const char *op, value name)
{
    if (name.tag == VALUE_STRING) {
        value keyword = value_keyword(run->region, value_text(name));
        value_release(run->region, name);
        return keyword;
    }
    if (name.tag != VALUE_KEYWORD) {
        char text[DESCRIBE_SIZE];
        run_raise(run, TYPE_ERROR, op, "%s: the name must be a keyword or a string, got %s", op,
                  value_describe(name, text));
    }
    return name;
}

value run_memory_read(struct run *run, value name)
{
    value item;
    return map_find_flexible(run->state->branch.memory, name, &item) ? value_retain(item)
                                                                     : value_nil();
}

value run_memory_lookup(struct run *run, value name, value otherwise)
{
    value item;
    bool found = map_find_flexible(run->state->branch.memory, name, &item);
    item = value_retain(found ? item : otherwise);
    value_release(run->region, name);
    value_release(run->region, otherwise);
    return item;
}

void run_memory_fail_unbound(struct run *run, uint32_t global)
{
    struct span name = run->state->program->globals[global].name;
    int length = name.length > 80 ? 80 : (int)name.length;
    run_raise(run, UNBOUND_VAR, NULL, "undefined variable: %.*s (its def has not run yet)", length,
              name.data);
}

// --- the contract --------------------------------------------------------------------------------

enum { ENTRY_UNITS = 5 };  // of fuel: finding and putting an entry of a large map

static bool is_return_key(value key)
{
    return key.tag == VALUE_KEYWORD && span_equal_text(value_text(key), "return");
}

static void merge_entry(struct run *run, value key, value item)
{
    struct branch_state *branch = &run->state->branch;
    value name =
        key.tag == VALUE_STRING ? value_keyword(run->region, value_text(key)) : value_retain(key);
    branch->written = set_add(run->region, branch->written, value_retain(name));
    branch->memory = map_put(run->region, branch->memory, name, value_retain(item));
}

value run_memory_finish(struct run *run, value result)
{
    if (run->state->explicit_memory || result.tag != VALUE_MAP)
        return result;
    value returned = value_nil();
    bool has_return = false;
    struct map_cursor cursor = map_iterate(result);
    value key, item;
    while (map_next(&cursor, &key, &item)) {
        run_spend(run, ENTRY_UNITS);
        if (is_return_key(key)) {
            has_return = true;
            returned = item;
        } else {
            merge_entry(run, key, item);
        }
    }
    if (!has_return)
        return result;
    value_retain(returned);
    value_release(run->region, result);
    return returned;
}

// Atoms, exceptions and the like are not kept.
static bool ends_with_run(value v)
{
    return v.tag == VALUE_FUNCTION && !value_is_function(v);
}

value run_memory_delta(struct run *run)
{
    struct branch_state *branch = &run->state->branch;
    value delta = map_new(run->region);
    struct map_cursor cursor = set_iterate(branch->written);
    value name;
    while (set_next(&cursor, &name)) {
        run_spend(run, ENTRY_UNITS);
        value item = value_nil();
        map_find(branch->memory, name, &item);
        if (ends_with_run(item)) {
            branch->memory = map_remove(run->region, branch->memory, value_retain(name));
            continue;
        }
        delta = map_put(run->region, delta, value_retain(name), value_retain(item));
    }
    return delta;
}
