// Functions on functions: apply, comp, partial, juxt, … (docs/reference/language.md 7, 8.8).
#include <string.h>

#include "program/builtin/builtins.h"
#include "program/builtin/support.h"

// --- apply ---------------------------------------------------------------------------------------

value builtin_apply_spread(struct run *run, const struct builtin *self, value *arguments,
                           size_t count)
{
    value f = arguments[0];
    if (!run_is_callable(f))
        builtin_fail(run, self, NOT_CALLABLE, "%s cannot be called",
                     value_describe(f, (char[DESCRIBE_SIZE]){0}));
    value items = sequence_vector(run, self, (unsigned)count, arguments[count - 1]);
    size_t spread = vector_count(items);
    value *all = region_alloc(run->region, (spread + 1) * sizeof(value));
    run_spend(run, spread / 4);
    for (size_t i = 0; i < spread; i++)
        all[i] = value_retain(vector_at(items, i));
    value_release(run->region, items);
    value result = run_call_joined(run, f, arguments + 1, count - 2, all, spread);
    region_return(run->region, all, (spread + 1) * sizeof(value));
    value_release(run->region, f);
    return result;
}

// --- comp, partial, juxt -------------------------------------------------------------------------

static value call_comp(struct run *run, const value *parts, size_t part_count, value *arguments,
                       size_t count)
{
    value result = run_call(run, parts[part_count - 1], arguments, count);
    for (size_t i = part_count - 1; i-- > 0;)
        result = run_call1(run, parts[i], result);
    return result;
}

static const struct composed_type comp_type = {"comp", call_comp, 0, BUILTIN_ANY};

value builtin_comp(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)self;
    if (count == 0)
        return function_from_builtin(builtin_find(SPAN("identity")));
    return function_compose(run, &comp_type, arguments, count);
}

static value call_partial(struct run *run, const value *parts, size_t part_count, value *arguments,
                          size_t count)
{
    for (size_t i = 1; i < part_count; i++)
        value_retain(parts[i]);
    return run_call_joined(run, parts[0], parts + 1, part_count - 1, arguments, count);
}

static const struct composed_type partial_type = {"partial", call_partial, 0, BUILTIN_ANY};

value builtin_partial(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)self;
    return function_compose(run, &partial_type, arguments, count);
}

// Calls f with arguments that stay the caller's.
static value call_with_copies(struct run *run, value f, const value *arguments, size_t count)
{
    if (count == 1)
        return run_call_on(run, f, arguments[0]);
    for (size_t i = 0; i < count; i++)
        value_retain(arguments[i]);
    return run_call_joined(run, f, arguments, count, NULL, 0);
}

static value call_juxt(struct run *run, const value *parts, size_t part_count, value *arguments,
                       size_t count)
{
    value result = vector_new(run->region, part_count);
    for (size_t i = 0; i < part_count; i++)
        vector_add(run, &result, call_with_copies(run, parts[i], arguments, count));
    values_release(run, arguments, count);
    return result;
}

static const struct composed_type juxt_type = {"juxt", call_juxt, 0, BUILTIN_ANY};

value builtin_juxt(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)self;
    return function_compose(run, &juxt_type, arguments, count);
}

// --- complement, constantly, fnil ----------------------------------------------------------------

static value call_complement(struct run *run, const value *parts, size_t part_count,
                             value *arguments, size_t count)
{
    (void)part_count;
    value answer = run_call(run, parts[0], arguments, count);
    bool truth = value_is_true(answer);
    value_release(run->region, answer);
    return value_boolean(!truth);
}

static const struct composed_type complement_type = {"complement", call_complement, 0, BUILTIN_ANY};

value builtin_complement(struct run *run, const struct builtin *self, value *arguments,
                         size_t count)
{
    (void)self;
    return function_compose(run, &complement_type, arguments, count);
}

static value call_constantly(struct run *run, const value *parts, size_t part_count,
                             value *arguments, size_t count)
{
    (void)part_count;
    values_release(run, arguments, count);
    return value_retain(parts[0]);
}

static const struct composed_type constantly_type = {"constantly", call_constantly, 0, BUILTIN_ANY};

value builtin_constantly(struct run *run, const struct builtin *self, value *arguments,
                         size_t count)
{
    (void)self;
    return function_compose(run, &constantly_type, arguments, count);
}

static value call_fnil(struct run *run, const value *parts, size_t part_count, value *arguments,
                       size_t count)
{
    for (size_t i = 0; i + 1 < part_count && i < count; i++) {
        if (value_is_nil(arguments[i]))
            arguments[i] = value_retain(parts[i + 1]);
    }
    return run_call(run, parts[0], arguments, count);
}

static const struct composed_type fnil_type = {"fnil", call_fnil, 0, BUILTIN_ANY};

value builtin_fnil(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    run_check_callable(run, self, 1, arguments[0]);
    return function_compose(run, &fnil_type, arguments, count);
}

// --- predicates ----------------------------------------------------------------------------------

static value call_every_pred(struct run *run, const value *parts, size_t part_count,
                             value *arguments, size_t count)
{
    bool all = true;
    for (size_t i = 0; all && i < part_count; i++) {
        for (size_t j = 0; all && j < count; j++)
            all = run_test(run, parts[i], arguments[j]);
    }
    values_release(run, arguments, count);
    return value_boolean(all);
}

static const struct composed_type every_pred_type = {"every-pred", call_every_pred, 0, BUILTIN_ANY};

value builtin_every_pred(struct run *run, const struct builtin *self, value *arguments,
                         size_t count)
{
    (void)self;
    return function_compose(run, &every_pred_type, arguments, count);
}

static value call_some_fn(struct run *run, const value *parts, size_t part_count, value *arguments,
                          size_t count)
{
    value answer = value_nil();
    for (size_t i = 0; !value_is_true(answer) && i < part_count; i++) {
        for (size_t j = 0; !value_is_true(answer) && j < count; j++)
            answer = run_call_on(run, parts[i], arguments[j]);
    }
    values_release(run, arguments, count);
    return answer;
}

static const struct composed_type some_fn_type = {"some-fn", call_some_fn, 0, BUILTIN_ANY};

value builtin_some_fn(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)self;
    return function_compose(run, &some_fn_type, arguments, count);
}

// all-of, any-of and none-of search for the first part whose truth is `truth`.
static bool any_part(struct run *run, const value *parts, size_t part_count, value item, bool truth)
{
    bool found = false;
    for (size_t i = 0; !found && i < part_count; i++)
        found = run_test(run, parts[i], item) == truth;
    value_release(run->region, item);
    return found;
}

static value call_all_of(struct run *run, const value *parts, size_t part_count, value *arguments,
                         size_t count)
{
    (void)count;
    return value_boolean(!any_part(run, parts, part_count, arguments[0], false));
}

static value call_any_of(struct run *run, const value *parts, size_t part_count, value *arguments,
                         size_t count)
{
    (void)count;
    return value_boolean(any_part(run, parts, part_count, arguments[0], true));
}

static value call_none_of(struct run *run, const value *parts, size_t part_count, value *arguments,
                          size_t count)
{
    (void)count;
    return value_boolean(!any_part(run, parts, part_count, arguments[0], true));
}

static const struct composed_type all_of_type = {"all-of", call_all_of, 1, 1};
static const struct composed_type any_of_type = {"any-of", call_any_of, 1, 1};
static const struct composed_type none_of_type = {"none-of", call_none_of, 1, 1};

static value compose_predicates(struct run *run, const struct builtin *self,
                                const struct composed_type *type, value *arguments, size_t count)
{
    for (size_t i = 0; i < count; i++)
        run_check_callable(run, self, (unsigned)i + 1, arguments[i]);
    return function_compose(run, type, arguments, count);
}

value builtin_all_of(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    return compose_predicates(run, self, &all_of_type, arguments, count);
}

value builtin_any_of(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    return compose_predicates(run, self, &any_of_type, arguments, count);
}

value builtin_none_of(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    return compose_predicates(run, self, &none_of_type, arguments, count);
}
