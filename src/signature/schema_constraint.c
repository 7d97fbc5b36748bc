// Bounds, patterns, choices and alternatives of JSON Schemas.
#include <math.h>

#include "signature/pattern.h"
#include "signature/schema_reader.h"
#include "value/number/number.h"

static void report(struct reader *reader, const struct place *place, const char *keyword)
{
    problems_add(&reader->lost, place, "", span_from(keyword), " is not checked");
}

// --- limits --------------------------------------------------------------------------------------

static bool is_number(value v)
{
    return v.tag == VALUE_INTEGER || (v.tag == VALUE_FLOAT && isfinite(v.number));
}

// What stands for 2^63 and more cannot be said of integers, which have any size.
static bool to_integer(double number, int64_t *ret_integer)
{
    if (!(fabs(number) <= ldexp(1, 62)))  // also: not a number
        return false;
    *ret_integer = (int64_t)number;
    return true;
}

// A bound of integers: the nearest integer within, which is never excluded.
static bool round_bound(struct signature_bound *bound, bool is_low)
{
    int64_t integer = bound->limit.integer;
    bool was_float = bound->limit.tag == VALUE_FLOAT;
    double number = was_float ? bound->limit.number : 0;
    double rounded = is_low ? ceil(number) : floor(number);
    if (was_float && !to_integer(rounded, &integer))
        return false;
    bool moves = bound->excluded && (!was_float || rounded == number);
    if (moves && (is_low ? __builtin_add_overflow(integer, 1, &integer)
                         : __builtin_sub_overflow(integer, 1, &integer)))
        return false;
    *bound = (struct signature_bound){.limit = value_integer(integer)};
    return true;
}

static bool read_bound(struct reader *reader, value schema, const struct place *place,
                       const char *keyword, bool excluded, struct signature_bound *bound)
{
    value limit;
    if (!map_find_text(schema, keyword, &limit))
        return false;
    if (!is_number(limit)) {
        report(reader, place, keyword);
        return false;
    }
    *bound = (struct signature_bound){.limit = limit, .excluded = excluded};
    return true;
}

// The inclusive and the exclusive bound together: the narrower one.
static void read_side(struct reader *reader, value schema, const struct place *place, bool is_low,
                      bool is_integer, struct signature_bound *ret_bound)
{
    const char *const names[] = {is_low ? "minimum" : "maximum",
                                 is_low ? "exclusiveMinimum" : "exclusiveMaximum"};
    struct signature_bound bound;
    *ret_bound = (struct signature_bound){.limit = value_nil()};
    for (int i = 0; i < 2; i++) {
        if (!read_bound(reader, schema, place, names[i], i == 1, &bound))
            continue;
        if (is_integer && !round_bound(&bound, is_low)) {
            report(reader, place, names[i]);
            continue;
        }
        enum value_order order = value_is_nil(ret_bound->limit)
                                     ? VALUE_SAME
                                     : number_compare(bound.limit, ret_bound->limit);
        if (order == VALUE_SAME || order == (is_low ? VALUE_GREATER : VALUE_LESS))
            *ret_bound = bound;
    }
}

static void read_length(struct reader *reader, value schema, const struct place *place,
                        const char *keyword, struct signature_bound *ret_bound)
{
    struct signature_bound bound;
    *ret_bound = (struct signature_bound){.limit = value_nil()};
    if (!read_bound(reader, schema, place, keyword, false, &bound))
        return;
    if (round_bound(&bound, true) && bound.limit.integer >= 0)
        *ret_bound = bound;
    else
        report(reader, place, keyword);
}

static void read_pattern(struct reader *reader, value schema, const struct place *place,
                         struct signature_limits *limits)
{
    value pattern;
    struct error error;
    if (!map_find_text(schema, "pattern", &pattern))
        return;
    if (value_is_string(pattern))
        limits->pattern = signature_pattern_new(reader->arena, value_text(pattern), &error);
    if (!limits->pattern)
        report(reader, place, "pattern");
}

bool reader_limits(struct reader *reader, value schema, const struct place *place,
                   struct signature_type *type)
{
    struct signature_limits limits = {0};
    if (type->kind == SIGNATURE_STRING) {
        read_length(reader, schema, place, "minLength", &limits.low);
        read_length(reader, schema, place, "maxLength", &limits.high);
        read_pattern(reader, schema, place, &limits);
    } else {
        bool is_integer = type->kind == SIGNATURE_INT;
        read_side(reader, schema, place, true, is_integer, &limits.low);
        read_side(reader, schema, place, false, is_integer, &limits.high);
    }
    if (value_is_nil(limits.low.limit) && value_is_nil(limits.high.limit) && !limits.pattern)
        return true;
    struct signature_limits *kept = arena_alloc(reader->arena, sizeof(*kept));
    if (!kept)
        return reader_fail_memory(reader);
    *kept = limits;
    type->limits = kept;
    return true;
}

// --- choices -------------------------------------------------------------------------------------

static bool can_be_choice(value v)
{
    return value_is_nil(v) || v.tag == VALUE_BOOLEAN || is_number(v) ||
           (value_is_string(v) && value_text(v).length <= SIGNATURE_MAX_LITERAL);
}

static bool can_be_choices(value choices)
{
    size_t count = value_is_vector(choices) ? vector_count(choices) : 0, useful = 0;
    for (size_t i = 0; i < count; i++) {
        if (!can_be_choice(vector_at(choices, i)))
            return false;
        useful += !value_is_nil(vector_at(choices, i));
    }
    return useful > 0 && count <= SIGNATURE_MAX_CHOICES;
}

static bool keep_choices(struct reader *reader, value choices, struct signature_type *ret_type)
{
    struct signature_choice *kept =
        arena_alloc(reader->arena, vector_count(choices) * sizeof(*kept));
    if (!kept)
        return reader_fail_memory(reader);
    *ret_type = (struct signature_type){.kind = SIGNATURE_ENUM, .choices = kept};
    for (size_t i = 0; i < vector_count(choices); i++) {
        value v = vector_at(choices, i);
        if (value_is_nil(v)) {
            ret_type->optional = true;
            continue;
        }
        struct signature_choice *choice = &kept[ret_type->count++];
        *choice = (struct signature_choice){.other = v};
        if (!value_is_string(v))
            continue;
        char *copy = arena_copy_text(reader->arena, value_text(v));
        if (!copy)
            return reader_fail_memory(reader);
        *choice = (struct signature_choice){{copy, value_text(v).length}, value_nil()};
    }
    return true;
}

// The choices say it all, also the type; what else stands there can only make them fewer.
bool reader_enum(struct reader *reader, value schema, const struct place *place,
                 struct signature_type *ret_type)
{
    static const char *const handled[] = {"type", "enum", "const", NULL};
    value choices, constant;
    if (map_find_text(schema, "const", &constant))
        choices =
            vector_push(reader->region, vector_new(reader->region, 1), value_retain(constant));
    else
        choices = map_get(schema, "enum");
    if (!can_be_choices(choices))
        return reader_become_any(reader, place, SPAN("enum"), ret_type);
    reader_report_rest(reader, schema, place, SIGNATURE_ENUM, handled, " is not checked");
    return keep_choices(reader, choices, ret_type);
}

// --- alternatives --------------------------------------------------------------------------------

struct alternative {
    struct alternative *next;
    struct signature_type type;
};

struct signature_type *alternatives_add(struct reader *reader, struct alternatives *list)
{
    struct alternative *added = arena_alloc_zero(reader->arena, sizeof(*added));
    if (!added)
        return NULL;
    if (list->last)
        list->last->next = added;
    else
        list->first = added;
    list->last = added;
    list->count++;
    return &added->type;
}

bool alternatives_finish(struct reader *reader, const struct place *place,
                         const struct alternatives *list, const char *keyword,
                         struct signature_type *ret_type)
{
    if (list->count == 0 || list->count > SIGNATURE_MAX_CHOICES)
        return reader_become_any(reader, place, span_from(keyword), ret_type);
    if (list->count == 1) {
        *ret_type = list->first->type;
        return true;
    }
    struct signature_type *types = arena_alloc(reader->arena, list->count * sizeof(*types));
    if (!types)
        return reader_fail_memory(reader);
    *ret_type =
        (struct signature_type){.kind = SIGNATURE_UNION, .element = types, .count = list->count};
    for (const struct alternative *each = list->first; each; each = each->next)
        *types++ = each->type;
    return true;
}
