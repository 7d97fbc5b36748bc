// Transients: cells with a collection, which conj! and the like change (docs/reference/language.md 8.13).
#include <string.h>

#include "program/builtin/builtins.h"
#include "program/builtin/support.h"
#include "program/eval/cell.h"
#include "program/run/run_state.h"

value builtin_transient(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    value v = arguments[0];
    bool is_vector = v.tag == VALUE_VECTOR && !value_is_seq(v);
    if (!is_vector && v.tag != VALUE_MAP && v.tag != VALUE_SET)
        run_type_error(run, self, 1, "a vector, map or set", v, NULL);
    return cell_new(run, CELL_TRANSIENT, v);
}

static struct cell *argument_transient(struct run *run, const struct builtin *self,
                                       const value *arguments)
{
    struct cell *cell = argument_cell_of(run, self, arguments, CELL_TRANSIENT);
    if (value_is_nil(cell->content))
        builtin_fail(run, self, RUNTIME_ERROR, "the transient was used after persistent!");
    return cell;
}

value builtin_persistent(struct run *run, const struct builtin *self, value *arguments,
                         size_t count)
{
    (void)count;
    value content = cell_exchange(argument_transient(run, self, arguments), value_nil());
    value_release(run->region, arguments[0]);
    return content;
}

bool value_is_transient(value v)
{
    const struct cell *cell = value_cell(v);
    return cell && cell->kind == CELL_TRANSIENT;
}

value transient_content(struct run *run, value transient)
{
    static const struct builtin self = {.name = "get"};
    return value_retain(argument_transient(run, &self, &transient)->content);
}

value transient_ask(struct run *run, const struct builtin *self, const value *arguments,
                    size_t count, builtin_fn *function)
{
    value given[3];
    memcpy(given, arguments, count * sizeof(value));
    given[0] = argument_transient(run, self, arguments)->content;
    return function(run, self, given, count);
}

// The content becomes what the function makes of it. It is moved out only when no failure can be caught,
// so that a collection with one owner is changed in place.
static value change(struct run *run, const struct builtin *self, value *arguments, size_t count,
                    builtin_fn *function)
{
    value transient = arguments[0];
    struct cell *cell = argument_transient(run, self, arguments);
    arguments[0] =
        run->state->guards == 0 ? cell_exchange(cell, value_nil()) : value_retain(cell->content);
    value changed = function(run, self, arguments, count);
    value_release(run->region, cell_exchange(cell, changed));
    return transient;
}

value builtin_conj_in_place(struct run *run, const struct builtin *self, value *arguments,
                            size_t count)
{
    if (count == 0)
        return cell_new(run, CELL_TRANSIENT, vector_new(run->region, 0));
    if (count == 1)
        return arguments[0];
    return change(run, self, arguments, count, builtin_conj);
}

value builtin_assoc_in_place(struct run *run, const struct builtin *self, value *arguments,
                             size_t count)
{
    return change(run, self, arguments, count, builtin_assoc);
}

value builtin_dissoc_in_place(struct run *run, const struct builtin *self, value *arguments,
                              size_t count)
{
    return change(run, self, arguments, count, builtin_dissoc);
}

value builtin_disj_in_place(struct run *run, const struct builtin *self, value *arguments,
                            size_t count)
{
    return change(run, self, arguments, count, builtin_disj);
}

value builtin_pop_in_place(struct run *run, const struct builtin *self, value *arguments,
                           size_t count)
{
    return change(run, self, arguments, count, builtin_pop);
}
