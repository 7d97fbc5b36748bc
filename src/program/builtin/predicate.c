// Predicates of one argument, and type (docs/reference/language.md 8.3).
#include <math.h>

#include "program/builtin/builtins.h"
#include "program/builtin/numeric.h"
#include "program/builtin/support.h"
#include "program/eval/generator.h"

static bool is_nan(value v)
{
    return v.tag == VALUE_FLOAT && isnan(v.number);
}

static bool is_whole(value v)
{
    if (v.tag == VALUE_FLOAT)
        return isfinite(v.number) && v.number == trunc(v.number);
    return value_is_integer(v);
}

// Of a whole number.
static bool is_odd(value v)
{
    return v.tag == VALUE_FLOAT ? fmod(v.number, 2.0) != 0.0 : integer_is_odd(v);
}

static bool is_character(value v)
{
    if (v.tag != VALUE_STRING)
        return false;
    struct span text = value_text(v);
    return text.length > 0 && character_end(text, 0) == text.length;
}

#define PREDICATE(name, test)                                                              \
    value builtin_is_##name(struct run *run, const struct builtin *self, value *arguments, \
                            size_t count)                                                  \
    {                                                                                      \
        (void)run;                                                                         \
        (void)self;                                                                        \
        (void)count;                                                                       \
        value v = arguments[0];                                                            \
        return value_boolean(test);                                                        \
    }

PREDICATE(nil, v.tag == VALUE_NIL)
PREDICATE(some, v.tag != VALUE_NIL)
PREDICATE(true, v.tag == VALUE_BOOLEAN && v.boolean)
PREDICATE(false, v.tag == VALUE_BOOLEAN && !v.boolean)
PREDICATE(boolean, v.tag == VALUE_BOOLEAN)
PREDICATE(number, value_is_number(v))
PREDICATE(integer, value_is_integer(v))
PREDICATE(float, v.tag == VALUE_FLOAT)
PREDICATE(nat_int, value_is_integer(v) && integer_sign(v) >= 0)
PREDICATE(pos_int, value_is_integer(v) && integer_sign(v) > 0)
PREDICATE(neg_int, value_is_integer(v) && integer_sign(v) < 0)
PREDICATE(string, v.tag == VALUE_STRING)
PREDICATE(char, is_character(v))
PREDICATE(keyword, v.tag == VALUE_KEYWORD)
PREDICATE(vector, v.tag == VALUE_VECTOR && !value_is_seq(v))
PREDICATE(sequential, v.tag == VALUE_VECTOR || value_is_generator(v))
PREDICATE(seq, value_is_seq(v) || value_is_generator(v))
PREDICATE(map, v.tag == VALUE_MAP)
PREDICATE(set, v.tag == VALUE_SET)
PREDICATE(collection, value_is_generator(v) || v.tag == VALUE_VECTOR || v.tag == VALUE_MAP ||
                          v.tag == VALUE_SET)
PREDICATE(associative, v.tag == VALUE_VECTOR || v.tag == VALUE_MAP)
PREDICATE(counted, value_is_seqable(v) && v.tag != VALUE_NIL)
PREDICATE(indexed, v.tag == VALUE_VECTOR || v.tag == VALUE_STRING)
PREDICATE(sorted, (v.tag == VALUE_MAP || v.tag == VALUE_SET) && v.small)
PREDICATE(reversible, (v.tag == VALUE_VECTOR && !value_is_seq(v)) || v.tag == VALUE_STRING ||
                          ((v.tag == VALUE_MAP || v.tag == VALUE_SET) && v.small))
PREDICATE(seqable, value_is_seqable(v))
PREDICATE(function, value_is_function(v))
PREDICATE(callable, run_is_callable(v))
PREDICATE(regex, v.tag == VALUE_REGEX)
PREDICATE(symbol, v.tag == VALUE_SYMBOL)
PREDICATE(never, ((void)v, false))

// --- predicates of numbers: anything else is an error --------------------------------------------

static value argument_number(struct run *run, const struct builtin *self, value v)
{
    if (!value_is_number(v))
        run_type_error(run, self, 1, "a number", v, NULL);
    return v;
}

static value argument_whole(struct run *run, const struct builtin *self, value v)
{
    if (!is_whole(v))
        run_type_error(run, self, 1, "an integer", v, NULL);
    return v;
}

#define PREDICATE_OF(name, argument, test)                                                 \
    value builtin_is_##name(struct run *run, const struct builtin *self, value *arguments, \
                            size_t count)                                                  \
    {                                                                                      \
        (void)count;                                                                       \
        value v = argument(run, self, arguments[0]);                                       \
        return value_boolean(test);                                                        \
    }

PREDICATE_OF(zero, argument_number, numeric_sign(v) == 0 && !is_nan(v))
PREDICATE_OF(pos, argument_number, numeric_sign(v) > 0)
PREDICATE_OF(neg, argument_number, numeric_sign(v) < 0)
PREDICATE_OF(even, argument_whole, !is_odd(v))
PREDICATE_OF(odd, argument_whole, is_odd(v))
PREDICATE_OF(infinite, argument_number, v.tag == VALUE_FLOAT && isinf(v.number))
PREDICATE_OF(nan, argument_number, is_nan(v))

// --- type ----------------------------------------------------------------------------------------

value builtin_type(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    static const char *const names[VALUE_TAG_COUNT] = {
        [VALUE_BOOLEAN] = "boolean",   [VALUE_INTEGER] = "number", [VALUE_FLOAT] = "number",
        [VALUE_BIGNUM] = "number",     [VALUE_STRING] = "string",  [VALUE_KEYWORD] = "keyword",
        [VALUE_VECTOR] = "vector",     [VALUE_MAP] = "map",        [VALUE_SET] = "set",
        [VALUE_FUNCTION] = "function", [VALUE_REGEX] = "regex",    [VALUE_SYMBOL] = "symbol",
        [VALUE_VAR] = "var",
    };
    (void)self;
    (void)count;
    const char *name = names[arguments[0].tag];
    if (arguments[0].tag == VALUE_FUNCTION && !value_is_function(arguments[0]))
        name = ((const struct foreign *)arguments[0].object)->type->kind;
    return name ? value_keyword(run->region, span_from(name)) : value_nil();
}
