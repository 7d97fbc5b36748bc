#include "program/run/memory.h"

#include <stdio.h>
#include <string.h>

#include "program/compile/clojure_hints.h"
#include "program/compile/name_list.h"
#include "program/compile/suggest.h"
#include "value/collection/key_lookup.h"
#include "value/text/print.h"

void memory_start(struct run *run, value input)
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

static void globals_own(struct run *run)
{
    struct branch_state *branch = &run->state->branch;
    size_t count = run->state->program->global_count;
    struct global_slot *copy = region_alloc(run->region, (count + 1) * sizeof(*copy));
    for (size_t i = 0; i < count; i++) {
        copy[i] = branch->globals[i];
        value_retain(copy[i].value);
    }
    branch->globals = copy;
    branch->globals_shared = false;
}

void memory_globals_free(struct run *run, struct global_slot *globals)
{
    size_t count = run->state->program->global_count;
    for (size_t i = 0; i < count; i++)
        value_release(run->region, globals[i].value);
    region_return(run->region, globals, (count + 1) * sizeof(*globals));
}

void memory_define(struct run *run, size_t global, value name, value v)
{
    struct branch_state *branch = &run->state->branch;
    if (global < run->state->program->global_count) {
        if (branch->globals_shared)
            globals_own(run);
        struct global_slot *slot = &branch->globals[global];
        value old = slot->value;
        slot->value = value_retain(v);
        slot->is_bound = true;
        value_release(run->region, old);
    }
    branch->written = set_add(run->region, branch->written, value_retain(name));
    branch->memory = map_put(run->region, branch->memory, name, v);
}

void memory_write(struct run *run, value name, value v)
{
    const struct program *program = run->state->program;
    size_t global = 0;
    while (global < program->global_count &&
           !span_equal(program->globals[global].name, value_text(name)))
        global++;
    memory_define(run, global, name, v);
}

value memory_name(struct run *run, const char *op, value name)
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

value memory_read(struct run *run, value name)
{
    value item;
    return map_find_flexible(run->state->branch.memory, name, &item) ? value_retain(item)
                                                                     : value_nil();
}

value memory_lookup(struct run *run, value name, value otherwise)
{
    value item;
    bool found = map_find_flexible(run->state->branch.memory, name, &item);
    item = value_retain(found ? item : otherwise);
    value_release(run->region, name);
    value_release(run->region, otherwise);
    return item;
}

void memory_fail_unbound(struct run *run, uint32_t global)
{
    struct span name = run->state->program->globals[global].name;
    int length = name.length > 80 ? 80 : (int)name.length;
    run_raise(run, UNBOUND_VAR, NULL, "undefined variable: %.*s (its def has not run yet)", length,
              name.data);
}

// --- the contract -------------------------------------------------------------------------------

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

value memory_finish(struct run *run, value result)
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

value memory_delta(struct run *run)
{
    struct branch_state *branch = &run->state->branch;
    value delta = map_new(run->region);
    struct map_cursor cursor = set_iterate(branch->written);
    value name;
    while (set_next(&cursor, &name)) {
        run_spend(run, ENTRY_UNITS);
        value item = value_nil();
        map_find(branch->memory, name, &item);
        delta = map_put(run->region, delta, value_retain(name), value_retain(item));
    }
    return delta;
}

// --- names that nobody defines ------------------------------------------------------------------

enum { LISTED_NAMES = 32, SUGGESTED_NAMES = 8 };  // of the undefined ones, the first

// Names are exact: as a string or a keyword, but no `-` becomes `_`.
static bool memory_has(value memory, struct span name)
{
    if (memory.tag != VALUE_MAP)
        return false;
    value item;
    if (map_find(memory, value_string_borrow(NULL, name), &item))
        return true;
    value key;
    return map_find_entry_flexible(memory, value_string_borrow(NULL, name), &key, &item) &&
           span_equal(value_text(key), name);
}

static bool is_unbound(const struct global *global, value memory)
{
    return !global->is_defined && global->is_required && !memory_has(memory, global->name);
}

// The first unbound name in the source behind another one (NULL: at all).
static const struct global *next_unbound(const struct program *program, value memory,
                                         const struct global *after)
{
    const struct global *next = NULL;
    for (size_t i = 0; i < program->global_count; i++) {
        const struct global *global = &program->globals[i];
        if ((!after || global->offset > after->offset) &&
            (!next || global->offset < next->offset) && is_unbound(global, memory))
            next = global;
    }
    return next;
}

static struct suggestion suggest_name(const struct program *program, const struct global *global)
{
    struct suggestion best = global->local;
    for (size_t i = 0; i < program->global_count; i++) {
        if (program->globals[i].is_defined)
            suggest_closer(&best, global->name, program->globals[i].name);
    }
    suggest_builtin(&best, global->name);
    return best;
}

// What to write instead of an unbound name; NULL when nothing is close.
static const char *hint_for(const struct program *program, const struct global *global,
                            struct diagnostic *diagnostic, char text[SUGGESTION_TEXT])
{
    const char *advice = habit_advice(global->name);
    return advice ? advice : suggest_text(diagnostic, suggest_name(program, global), text);
}

bool program_check_names(const struct program *program, value memory,
                         struct diagnostic *ret_diagnostic)
{
    size_t count = 0;
    *ret_diagnostic = (struct diagnostic){0};
    for (size_t i = 0; i < program->global_count; i++)
        count += is_unbound(&program->globals[i], memory);
    if (count == 0)
        return true;
    struct name_list names = {0};
    const struct global *global = next_unbound(program, memory, NULL);
    ret_diagnostic->kind = UNBOUND_VAR;
    ret_diagnostic->offset = global->offset;
    for (; global && names.count < LISTED_NAMES; global = next_unbound(program, memory, global)) {
        char text[SUGGESTION_TEXT];
        const char *hint = NULL;
        if (names.count < SUGGESTED_NAMES)
            hint = hint_for(program, global, ret_diagnostic, text);
        bool is_repeated = hint && strstr(names.text, hint);
        name_list_add(&names, ", ", global->name, is_repeated ? NULL : hint);
    }
    names.count = count;
    snprintf(ret_diagnostic->message, sizeof(ret_diagnostic->message), "undefined variable%s: %s",
             count == 1 ? "" : "s", name_list_text(&names));
    return false;
}
