#include "program/eval/range.h"

#include "program/builtin/builtins.h"
#include "program/builtin/numeric.h"
#include "program/builtin/support.h"
#include "program/eval/generator.h"

static value range_vector(struct run *run, int64_t start, int64_t step, uint64_t count)
{
    enum { SLICE = 4096 };
    value result = vector_new(run->region, count);
    uint64_t number = (uint64_t)start;
    for (uint64_t i = 0; i < count; i++, number += (uint64_t)step) {
        if (i % SLICE == 0)
            run_spend(run, SLICE / 8);
        vector_add(run, &result, value_integer((int64_t)number));
    }
    return vector_as_seq(result);
}

// The step is not 0.
static uint64_t range_count(int64_t start, int64_t end, int64_t step)
{
    bool down = step < 0;
    if (down ? start <= end : start >= end)
        return 0;
    uint64_t distance = down ? (uint64_t)start - (uint64_t)end : (uint64_t)end - (uint64_t)start;
    uint64_t stride = down ? 0 - (uint64_t)step : (uint64_t)step;
    return (distance - 1) / stride + 1;
}

// --- lazy ranges ---------------------------------------------------------------------------------

static size_t range_object_size(const struct object *object)
{
    (void)object;
    return sizeof(struct range);
}

// What the vector would need more than the range.
static size_t range_charge(uint64_t count)
{
    size_t vector = region_round(sizeof(struct vector) + count * sizeof(value));
    return vector - region_round(sizeof(struct range));
}

static void range_destroy(struct region *region, struct object *object)
{
    region_discharge(region, range_charge(((const struct range *)object)->count));
}

static const struct object_type range_type = {
    .size = range_object_size,
    .destroy = range_destroy,
};

_Static_assert(sizeof(struct range) <= sizeof(struct vector) + sizeof(value), "the charge is > 0");

static value range_new(struct run *run, int64_t start, int64_t step, uint64_t count)
{
    region_charge(run->region, range_charge(count));
    struct range *range = region_alloc(run->region, sizeof(*range));
    *range = (struct range){
        .foreign = {.header = object_header(OBJECT_FOREIGN), .type = &range_type},
        .start = start,
        .step = step,
        .count = count,
    };
    return (value){.tag = VALUE_RANGE, .object = &range->foreign.header};
}

// --- range ---------------------------------------------------------------------------------------

static bool range_is_over(value number, value end, int direction)
{
    enum value_order order = number_compare(number, end);
    return direction > 0 ? order != VALUE_LESS : order != VALUE_GREATER;
}

// Each number is start + index · step, so that errors of floats do not add up.
static value range_numbers(struct run *run, const struct builtin *self, value start, value end,
                           value step)
{
    value result = vector_new(run->region, 0);
    int direction = numeric_sign(step);
    value number = value_retain(start);
    for (int64_t i = 1; !range_is_over(number, end, direction); i++) {
        run_spend(run, 4);
        vector_add(run, &result, number);
        value offset = numeric_multiply(run, self, value_integer(i), value_retain(step));
        number = numeric_add(run, self, value_retain(start), offset);
    }
    value_release(run->region, number);
    return vector_as_seq(result);
}

static value make_range(struct run *run, const struct builtin *self, value *arguments, size_t count,
                        bool is_lazy)
{
    enum { LAZY_MAX = UINT32_MAX / sizeof(value) };  // a vector cannot have more
    for (size_t i = 0; i < count; i++) {
        if (!value_is_number(arguments[i]))
            run_type_error(run, self, (unsigned)i + 1, "a number", arguments[i], NULL);
    }
    value start = count == 1 ? value_integer(0) : arguments[0];
    value end = count == 1 ? arguments[0] : arguments[1];
    value step = count == 3 ? arguments[2] : value_integer(1);
    if (numeric_sign(step) == 0)
        run_type_error(run, self, 3, "a step other than 0", step, NULL);
    if (start.tag == VALUE_INTEGER && end.tag == VALUE_INTEGER && step.tag == VALUE_INTEGER) {
        uint64_t length = range_count(start.integer, end.integer, step.integer);
        return is_lazy && length > 0 && length <= LAZY_MAX
                   ? range_new(run, start.integer, step.integer, length)
                   : range_vector(run, start.integer, step.integer, length);
    }
    value result = range_numbers(run, self, start, end, step);
    for (size_t i = 0; i < count; i++)
        value_release(run->region, arguments[i]);
    return result;
}

value builtin_range(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    if (count == 0)
        return generator_new(run, GENERATOR_COUNT, value_integer(0), value_integer(1));
    return make_range(run, self, arguments, count, false);
}

value range_lazy(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    if (count == 0)
        return builtin_range(run, self, arguments, count);
    return make_range(run, self, arguments, count, true);
}
