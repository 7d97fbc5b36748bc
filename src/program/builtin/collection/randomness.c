// Random numbers: rand, rand-int, rand-nth, shuffle, random-sample, random-uuid
// (docs/reference/language.md 8.12).
//
// One generator per run (SplitMix64), seeded by the option `seed` or by the system; the seed is in
// the Step when numbers were drawn, so that the run can be repeated. Each branch of pmap has a
// generator of its own, seeded by its number: what is drawn does not depend on which branch is first.
#include <math.h>

#include "program/builtin/builtins.h"
#include "program/builtin/numeric.h"
#include "program/builtin/support.h"
#include "program/builtin/transducer.h"
#include "program/run/random.h"

static double random_unit(struct run *run)
{
    return (double)(run_random(run) >> 11) * 0x1p-53;
}

// 0 … bound - 1, each as likely as the others.
static uint64_t random_below(struct run *run, uint64_t bound)
{
    uint64_t number, excess = (UINT64_MAX % bound + 1) % bound;
    do {
        run_spend(run, 1);
        number = run_random(run);
    } while (number > UINT64_MAX - excess);
    return number % bound;
}

value builtin_rand(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    double scale = 1;
    if (count == 1) {
        if (!value_is_number(arguments[0]))
            run_type_error(run, self, 1, "a number", arguments[0], NULL);
        scale = numeric_to_double(run, self, arguments[0]);
    }
    return value_float(scale * random_unit(run));
}

value builtin_rand_int(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    if (arguments[0].tag == VALUE_FLOAT) {
        double drawn = arguments[0].number * random_unit(run);
        if (!(fabs(drawn) < 0x1p63))  // not a number, too
            builtin_fail(run, self, ARITHMETIC_ERROR,
                         "a random number below %s is no integer of 64 bits",
                         value_describe(arguments[0], (char[DESCRIBE_SIZE]){0}));
        return value_integer((int64_t)drawn);
    }
    int64_t bound = argument_integer(run, self, arguments, 0);
    if (bound == 0)
        return value_integer(0);
    uint64_t size = (uint64_t)bound;
    if (bound < 0)
        size = 0 - size;
    int64_t drawn = (int64_t)random_below(run, size);
    return value_integer(bound < 0 ? -drawn : drawn);
}

value builtin_rand_nth(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    value items = sequence_vector(run, self, 1, value_retain(arguments[0])), item = value_nil();
    if (vector_count(items) == 0 && !value_is_nil(arguments[0]))
        fail_index(run, self, 0, 0);
    if (vector_count(items) > 0)
        item = value_retain(vector_at(items, (size_t)random_below(run, vector_count(items))));
    value_release(run->region, items);
    return item;
}

value builtin_shuffle(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    argument_seqable(run, self, arguments, 0);
    value result = sequence_vector(run, self, 1, value_retain(arguments[0]));
    for (size_t i = vector_count(result); i > 1; i--) {
        size_t other = (size_t)random_below(run, i);
        value a = value_retain(vector_at(result, i - 1));
        value b = value_retain(vector_at(result, other));
        result = vector_put(run->region, result, i - 1, b);
        result = vector_put(run->region, result, other, a);
    }
    return result;
}

// The test of (random-sample probability): true as often, whatever it is asked.
static value call_chance(struct run *run, const value *parts, size_t part_count, value *arguments,
                         size_t count)
{
    (void)part_count;
    values_release(run, arguments, count);
    return value_boolean(random_unit(run) < parts[0].number);
}

static const struct composed_type chance_type = {"random-sample", call_chance, 1, 1};

value builtin_random_sample(struct run *run, const struct builtin *self, value *arguments,
                            size_t count)
{
    if (!value_is_number(arguments[0]))
        run_type_error(run, self, 1, "a number", arguments[0], NULL);
    double probability = numeric_to_double(run, self, arguments[0]);
    if (count == 1) {
        value chance = value_float(probability);
        return transducer_new(run, TRANSDUCER_FILTER,
                              function_compose(run, &chance_type, &chance, 1));
    }
    struct sequence items;
    value item, result = vector_new(run->region, 0);
    sequence_borrow(run, self, 2, &items, arguments[1]);
    while (sequence_step(&items, &item)) {
        if (random_unit(run) < probability)
            vector_add(run, &result, item);
        else
            value_release(run->region, item);
    }
    sequence_end(&items);
    return result;
}

// Version 4, as text.
value builtin_random_uuid(struct run *run, const struct builtin *self, value *arguments,
                          size_t count)
{
    (void)self;
    (void)arguments;
    (void)count;
    uint64_t high = run_random(run), low = run_random(run);
    return value_string_format(run->region, "%08x-%04x-4%03x-%04x-%012llx", (unsigned)(high >> 32),
                               (unsigned)(high >> 16 & 0xFFFF), (unsigned)(high & 0xFFF),
                               (unsigned)(0x8000 | (low >> 48 & 0x3FFF)),
                               (unsigned long long)(low & 0xFFFFFFFFFFFF));
}
