// State within a run: atoms, volatiles, delays; functions that remember (docs/reference/language.md
// 8.13).
#include <string.h>

#include "program/builtin/builtins.h"
#include "program/builtin/support.h"
#include "program/eval/cell.h"
#include "program/eval/eval.h"

// The content must satisfy the validator at once, else the atom keeps the one that it has.
static void set_validator(struct run *run, const struct builtin *self, struct cell *cell,
                          value validator, unsigned argument)
{
    if (!value_is_nil(validator))
        run_check_callable(run, self, argument, validator);
    content_validate(run, validator, cell->content);
    value old = cell->validator;
    cell->validator = validator;
    value_release(run->region, old);
}

// (atom x :validator f :meta m), the options in any order
value builtin_atom(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    value atom = cell_new(run, CELL_ATOM, arguments[0]);
    for (size_t i = 1; i < count; i += 2) {
        value key = arguments[i];
        bool is_validator =
            key.tag == VALUE_KEYWORD && span_equal_text(value_text(key), "validator");
        if (is_validator && i + 1 < count)
            set_validator(run, self, value_cell(atom), arguments[i + 1], (unsigned)i + 2);
        else
            values_release(run, arguments + i + 1, i + 1 < count);
        value_release(run->region, key);
    }
    return atom;
}

value builtin_set_validator(struct run *run, const struct builtin *self, value *arguments,
                            size_t count)
{
    (void)count;
    struct cell *cell = argument_cell(run, self, arguments, 0);
    if (cell->kind != CELL_ATOM)
        run_type_error(run, self, 1, "an atom", arguments[0], NULL);
    set_validator(run, self, cell, arguments[1], 2);
    value_release(run->region, arguments[0]);
    return value_nil();
}

value builtin_volatile(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)self;
    (void)count;
    return cell_new(run, CELL_VOLATILE, arguments[0]);
}

value builtin_delay(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)self;
    (void)count;
    return cell_new(run, CELL_DELAY, arguments[0]);
}

// The content, owned; a delay is computed.
static value cell_read(struct run *run, struct cell *cell)
{
    if (!cell->is_pending)
        return value_retain(cell->content);
    object_retain(&cell->foreign.header);
    value computed = run_call(run, cell->content, NULL, 0);
    cell->is_pending = false;
    value_release(run->region, cell_exchange(cell, value_retain(computed)));
    object_release(run->region, &cell->foreign.header);
    return computed;
}

value builtin_deref(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    value result = cell_read(run, argument_cell(run, self, arguments, 0));
    value_release(run->region, arguments[0]);
    return result;
}

value builtin_force(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    const struct cell *cell = value_cell(arguments[0]);
    if (!cell || cell->kind != CELL_DELAY)
        return arguments[0];
    return builtin_deref(run, self, arguments, count);
}

value builtin_is_realized(struct run *run, const struct builtin *self, value *arguments,
                          size_t count)
{
    (void)run;
    (void)self;
    (void)count;
    const struct cell *cell = value_cell(arguments[0]);
    return value_boolean(!cell || !cell->is_pending);
}

value builtin_reset(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    struct cell *cell = argument_cell(run, self, arguments, 0);
    content_validate(run, cell->validator, arguments[1]);
    value_release(run->region, cell_exchange(cell, value_retain(arguments[1])));
    value_release(run->region, arguments[0]);
    return arguments[1];
}

// Can a call of this function see the cell? Builtins cannot, unless they call one that can.
static bool is_plain(value v)
{
    return v.tag != VALUE_FUNCTION || function_builtin(v);
}

// The new content: f of the old one and the other arguments. The content is moved out only when
// nobody can see that, so that a collection with one owner is changed in place.
static value swap(struct run *run, struct cell *cell, value *arguments, size_t count)
{
    value f = arguments[1], old;
    bool moves = run->state->guards == 0 && value_is_nil(cell->validator);
    for (size_t i = 1; i < count; i++)
        moves = moves && is_plain(arguments[i]);
    old = moves ? cell_exchange(cell, value_nil()) : value_retain(cell->content);
    value result = run_call_joined(run, f, &old, 1, arguments + 2, count - 2);
    content_validate(run, cell->validator, result);
    value_release(run->region, cell_exchange(cell, value_retain(result)));
    return result;
}

value builtin_swap(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    struct cell *cell = argument_cell(run, self, arguments, 0);
    run_check_callable(run, self, 2, arguments[1]);
    value result = swap(run, cell, arguments, count);
    value_release(run->region, arguments[0]);
    value_release(run->region, arguments[1]);
    return result;
}

value builtin_swap_values(struct run *run, const struct builtin *self, value *arguments,
                          size_t count)
{
    struct cell *cell = argument_cell(run, self, arguments, 0);
    run_check_callable(run, self, 2, arguments[1]);
    value old = value_retain(cell->content);
    value result = swap(run, cell, arguments, count);
    value_release(run->region, arguments[0]);
    value_release(run->region, arguments[1]);
    return vector_pair(run, old, result);
}

value builtin_reset_values(struct run *run, const struct builtin *self, value *arguments,
                           size_t count)
{
    (void)count;
    struct cell *cell = argument_cell(run, self, arguments, 0);
    content_validate(run, cell->validator, arguments[1]);
    value old = cell_exchange(cell, value_retain(arguments[1]));
    value_release(run->region, arguments[0]);
    return vector_pair(run, old, arguments[1]);
}

value builtin_compare_and_set(struct run *run, const struct builtin *self, value *arguments,
                              size_t count)
{
    struct cell *cell = argument_cell(run, self, arguments, 0);
    bool same = value_equal(cell->content, arguments[1]);
    if (same)
        content_validate(run, cell->validator, arguments[2]);
    if (same)
        value_release(run->region, cell_exchange(cell, value_retain(arguments[2])));
    values_release(run, arguments, count);
    return value_boolean(same);
}

// --- memoize -------------------------------------------------------------------------------------

// The parts are the function and a cell with a map from arguments to results.
static value call_memoized(struct run *run, const value *parts, size_t part_count, value *arguments,
                           size_t count)
{
    (void)part_count;
    struct cell *cache = value_cell(parts[1]);
    value found;
    if (cell_is_foreign(run, cache))
        return run_call(run, parts[0], arguments, count);
    value key = vector_copy_items(run, arguments, count);
    if (map_find(cache->content, key, &found)) {
        value_retain(found);
        value_release(run->region, key);
        values_release(run, arguments, count);
        return found;
    }
    value result = run_call(run, parts[0], arguments, count);
    value map = cell_exchange(cache, map_new(run->region));
    cell_exchange(cache, map_put(run->region, map, key, value_retain(result)));
    return result;
}

value builtin_memoize(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    static const struct composed_type type = {
        .name = "memoize", .call = call_memoized, .least = 0, .highest = BUILTIN_ANY};
    (void)count;
    run_check_callable(run, self, 1, arguments[0]);
    value parts[] = {arguments[0], cell_new(run, CELL_ATOM, map_new(run->region))};
    return function_compose(run, &type, parts, 2);
}

value builtin_trampoline(struct run *run, const struct builtin *self, value *arguments,
                         size_t count)
{
    run_check_callable(run, self, 1, arguments[0]);
    value result = run_call(run, arguments[0], arguments + 1, count - 1);
    value_release(run->region, arguments[0]);
    while (value_is_function(result)) {
        value next = run_call(run, result, NULL, 0);
        value_release(run->region, result);
        result = next;
    }
    return result;
}

// --- defmulti, defmethod -------------------------------------------------------------------------

enum multi_part { MULTI_DISPATCH, MULTI_NAME, MULTI_METHODS, MULTI_PARTS };

static value call_multi(struct run *run, const value *parts, size_t part_count, value *arguments,
                        size_t count)
{
    (void)part_count;
    value methods = value_cell(parts[MULTI_METHODS])->content, method;
    value copies = vector_copy_items(run, arguments, count);
    value key = run_call(run, parts[MULTI_DISPATCH], arguments, count);
    bool found = map_find(methods, key, &method) || map_find(methods,
                                                             (value){.tag = VALUE_KEYWORD,
                                                                     .flags = VALUE_BORROWED,
                                                                     .aux = strlen("default"),
                                                                     .text = "default"},
                                                             &method);
    if (!found) {
        struct span name = value_text(parts[MULTI_NAME]);
        char text[DESCRIBE_SIZE];
        run_raise(run, RUNTIME_ERROR, "defmulti", "%.*s has no method for %s; methods: %s",
                  (int)(name.length > 60 ? 60 : name.length), name.data, value_describe(key, text),
                  map_count(methods) ? "other values" : "none");
    }
    value_release(run->region, key);
    value_retain(method);
    value *again = region_alloc(run->region, (count + 1) * sizeof(value));
    for (size_t i = 0; i < count; i++)
        again[i] = value_retain(vector_at(copies, i));
    value_release(run->region, copies);
    value result = run_call(run, method, again, count);
    region_return(run->region, again, (count + 1) * sizeof(value));
    value_release(run->region, method);
    return result;
}

static const struct composed_type multi_type = {
    .name = "defmulti", .call = call_multi, .least = 0, .highest = BUILTIN_ANY};

value builtin_multi(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    run_check_callable(run, self, 1, arguments[0]);
    value parts[MULTI_PARTS] = {arguments[0], arguments[1],
                                cell_new(run, CELL_ATOM, map_new(run->region))};
    return function_compose(run, &multi_type, parts, MULTI_PARTS);
}

value builtin_add_method(struct run *run, const struct builtin *self, value *arguments,
                         size_t count)
{
    (void)count;
    const value *parts = function_parts(arguments[0], &multi_type);
    if (!parts)
        run_type_error(run, self, 1, "a name that defmulti defined", arguments[0], NULL);
    struct cell *methods = value_cell(parts[MULTI_METHODS]);
    value map = cell_exchange(methods, map_new(run->region));
    value_release(run->region,
                  cell_exchange(methods, map_put(run->region, map, arguments[1], arguments[2])));
    return arguments[0];
}
