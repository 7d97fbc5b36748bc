#include "program/builtin/where.h"

#include <string.h>

#include "program/builtin/builtin.h"
#include "value/number/number.h"

static const char *const operator_names[WHERE_OPERATOR_COUNT] = {
    [WHERE_EQUAL] = "=",           [WHERE_NOT_EQUAL] = "not=",
    [WHERE_GREATER] = ">",         [WHERE_LESS] = "<",
    [WHERE_GREATER_EQUAL] = ">=",  [WHERE_LESS_EQUAL] = "<=",
    [WHERE_INCLUDES] = "includes", [WHERE_IN] = "in",
};

int where_operator_find(struct span name)
{
    for (int i = WHERE_EQUAL; i < WHERE_OPERATOR_COUNT; i++) {
        if (span_equal_text(name, operator_names[i]))
            return i;
    }
    return -1;
}

// nil equals only nil; a keyword equals the string of its name.
static bool loosely_equal(value a, value b)
{
    if (a.tag == VALUE_NIL || b.tag == VALUE_NIL)
        return a.tag == b.tag;
    if ((a.tag == VALUE_KEYWORD && b.tag == VALUE_STRING) ||
        (a.tag == VALUE_STRING && b.tag == VALUE_KEYWORD))
        return span_equal(value_text(a), value_text(b));
    return value_equal(a, b);
}

static bool compares(enum where_operator operator, value a, value b)
{
    bool comparable = (value_is_number(a) && value_is_number(b)) ||
                      (a.tag == VALUE_STRING && b.tag == VALUE_STRING);
    enum value_order order = comparable ? value_compare(a, b) : VALUE_INCOMPARABLE;
    if (order == VALUE_INCOMPARABLE)
        return false;
    switch (operator) {
    case WHERE_GREATER: return order > 0;
    case WHERE_LESS: return order < 0;
    case WHERE_GREATER_EQUAL: return order >= 0;
    default: return order <= 0;
    }
}

static bool is_element(struct run *run, value item, value collection)
{
    if (collection.tag == VALUE_VECTOR) {
        run_spend(run, vector_count(collection) / 4 + 1);
        for (size_t i = 0; i < vector_count(collection); i++) {
            if (loosely_equal(item, vector_at(collection, i)))
                return true;
        }
    } else if (collection.tag == VALUE_SET) {
        run_spend(run, set_count(collection) / 4 + 1);
        struct map_cursor cursor = set_iterate(collection);
        value member;
        while (set_next(&cursor, &member)) {
            if (loosely_equal(item, member))
                return true;
        }
    }
    return false;
}

static bool includes(struct run *run, value x, value operand)
{
    if (x.tag == VALUE_STRING && operand.tag == VALUE_STRING) {
        struct span text = value_text(x), part = value_text(operand);
        run_spend(run, text.length / 64 + 1);
        return part.length == 0 || memmem(text.data, text.length, part.data, part.length);
    }
    return is_element(run, operand, x);
}

static bool holds(struct run *run, enum where_operator operator, value x, value operand)
{
    switch (operator) {
    case WHERE_TRUE: return value_is_true(x);
    case WHERE_EQUAL: return loosely_equal(x, operand);
    case WHERE_NOT_EQUAL: return !loosely_equal(x, operand);
    case WHERE_IN: return x.tag != VALUE_NIL && is_element(run, x, operand);
    case WHERE_INCLUDES: return includes(run, x, operand);
    default: return compares(operator, x, operand);
    }
}

// parts: operator, path, operand
static value call_where(struct run *run, const value *parts, size_t entries_count, value *arguments,
                        size_t count)
{
    (void)entries_count;
    (void)count;
    value x = run_key(run, parts[1], arguments[0]);
    bool yes = holds(run, (enum where_operator)parts[0].integer, x, parts[2]);
    value_release(run->region, x);
    value_release(run->region, arguments[0]);
    return value_boolean(yes);
}

value where_predicate(struct run *run, enum where_operator operator, value path, value operand)
{
    static const struct composed_type type = {"where", call_where, 1, 1};
    value parts[3] = {value_integer(operator), path, operand};
    return function_compose(run, &type, parts, 3);
}
