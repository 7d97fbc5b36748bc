// Sequences without end, and lazy ones (docs/reference/language.md 8.14).
#include "program/builtin/builtins.h"
#include "program/builtin/support.h"
#include "program/eval/generator.h"

value builtin_iterate(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    run_check_callable(run, self, 1, arguments[0]);
    return generator_new(run, GENERATOR_ITERATE, arguments[0], arguments[1]);
}

value builtin_cycle(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    if (value_is_generator(arguments[0]) && generator_is_endless(arguments[0]))
        return arguments[0];
    value items = sequence_vector(run, self, 1, arguments[0]);
    if (vector_count(items) == 0)
        return vector_as_seq(items);
    return generator_new(run, GENERATOR_CYCLE, items, value_nil());
}

value builtin_repeat(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    if (count == 1)
        return generator_new(run, GENERATOR_REPEAT, arguments[0], value_nil());
    int64_t wanted = argument_position(run, self, arguments, 0);
    size_t n = wanted < 0 ? 0 : (size_t)wanted;
    value result = vector_new(run->region, n);
    for (size_t i = 0; i < n; i++) {
        run_spend(run, 1);
        vector_add(run, &result, value_retain(arguments[1]));
    }
    value_release(run->region, arguments[1]);
    return vector_as_seq(result);
}

value builtin_repeatedly(struct run *run, const struct builtin *self, value *arguments,
                         size_t count)
{
    value f = arguments[count - 1];
    run_check_callable(run, self, (unsigned)count, f);
    if (count == 1)
        return generator_memoized(run, GENERATOR_REPEATEDLY, f, value_nil());
    size_t n = argument_count(run, self, arguments, 0);
    value result = vector_new(run->region, 0);
    for (size_t i = 0; i < n; i++) {
        run_spend(run, 1);
        vector_add(run, &result, run_call(run, f, NULL, 0));
    }
    value_release(run->region, f);
    return vector_as_seq(result);
}

value builtin_lazy(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)self;
    (void)count;
    return generator_lazy(run, arguments[0]);
}

enum { ITERATION_OPTIONS = 4 };

// Where the option that this argument names is kept.
static value *iteration_option(struct run *run, const struct builtin *self, value *arguments,
                               size_t index, value options[ITERATION_OPTIONS])
{
    static const char *const names[ITERATION_OPTIONS] = {"somef", "vf", "kf", "initk"};
    value key = arguments[index];
    for (size_t i = 0; i < ITERATION_OPTIONS; i++)
        if (key.tag == VALUE_KEYWORD && span_equal_text(value_text(key), names[i]))
            return &options[i];
    run_type_error(run, self, (unsigned)index + 1, ":somef, :vf, :kf or :initk", key, NULL);
}

// (iteration step :somef f :vf f :kf f :initk k)
value builtin_iteration(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    const struct builtin *some = builtin_find(SPAN("some?"));
    const struct builtin *identity = builtin_find(SPAN("identity"));
    value options[ITERATION_OPTIONS] = {function_from_builtin(some),
                                        function_from_builtin(identity),
                                        function_from_builtin(identity), value_nil()};
    run_check_callable(run, self, 1, arguments[0]);
    for (size_t i = 1; i + 1 < count; i += 2) {
        value *option = iteration_option(run, self, arguments, i, options);
        value_release(run->region, *option);
        *option = arguments[i + 1];
    }
    return generator_memoized(run, GENERATOR_ITERATION, arguments[0],
                              vector_from(run->region, options, ITERATION_OPTIONS));
}
