// Literals: which collections are constant, duplicate keys, and the values of constants.
#include <math.h>

#include "program/builtin/regex/regex.h"
#include "program/compile/analysis.h"
#include "program/compile/literals.h"
#include "value/number/number.h"

// Up to this many keys are compared pair by pair, without making values.
enum { FEW_KEYS = 16 };

static bool is_scalar(const struct form *form)
{
    return form->kind <= FORM_KEYWORD;
}

bool form_is_constant(const struct form *form)
{
    if (is_scalar(form))
        return true;
    if (form->kind != FORM_VECTOR && form->kind != FORM_MAP && form->kind != FORM_SET)
        return false;
    for (size_t i = 0; i < form->count; i++) {
        if (!form_is_constant(form->items[i]))
            return false;
    }
    return true;
}

static value quoted_value(struct region *region, const struct form *form);

static value quoted_items(struct region *region, const struct form *form, const char *head)
{
    value items = vector_new(region, form->count + 1);
    if (head)
        items = vector_push(region, items, value_symbol(region, span_from(head)));
    for (size_t i = 0; i < form->count; i++)
        items = vector_push(region, items, quoted_value(region, form->items[i]));
    return items;
}

// What stands behind a quote: lists and symbols are data.
static value quoted_value(struct region *region, const struct form *form)
{
    value collection;
    switch (form->kind) {
    case FORM_SYMBOL: return value_symbol(region, form->symbol->name);
    case FORM_LIST: return vector_as_seq(quoted_items(region, form, NULL));
    case FORM_VECTOR: return quoted_items(region, form, NULL);
    case FORM_QUOTE: return vector_as_seq(quoted_items(region, form, "quote"));
    case FORM_VAR: return vector_as_seq(quoted_items(region, form, "var"));
    case FORM_SHORT_FN: return vector_as_seq(quoted_items(region, form, "fn*"));
    case FORM_REGEX: return value_string_borrow(region, form->text);
    case FORM_MAP:
        collection = map_new(region);
        for (size_t i = 0; i < form->count; i += 2)
            collection = map_put(region, collection, quoted_value(region, form->items[i]),
                                 quoted_value(region, form->items[i + 1]));
        return collection;
    case FORM_SET:
        collection = set_new(region);
        for (size_t i = 0; i < form->count; i++)
            collection = set_add(region, collection, quoted_value(region, form->items[i]));
        return collection;
    default: return form_value(region, form);
    }
}

value form_value(struct region *region, const struct form *form)
{
    switch (form->kind) {
    case FORM_NIL: return value_nil();
    case FORM_BOOLEAN: return value_boolean(form->boolean);
    case FORM_INTEGER: return value_integer(form->integer);
    case FORM_FLOAT: return value_float(form->number);
    case FORM_BIG_INTEGER: return value_integer_from_text(region, form->text);
    case FORM_STRING: return value_string_borrow(region, form->text);
    case FORM_KEYWORD: return value_keyword(region, form->text);
    case FORM_QUOTE: return quoted_value(region, form->items[0]);
    default: break;
    }
    if (form->kind == FORM_LIST)
        return vector_as_seq(vector_new(region, 0));
    size_t step = form->kind == FORM_MAP ? 2 : 1;
    value collection = form->kind == FORM_VECTOR ? vector_new(region, form->count)
                       : form->kind == FORM_MAP  ? map_new(region)
                                                 : set_new(region);
    for (size_t i = 0; i < form->count; i += step) {
        value item = form_value(region, form->items[i]);
        if (form->kind == FORM_VECTOR)
            collection = vector_push(region, collection, item);
        else if (form->kind == FORM_SET)
            collection = set_add(region, collection, item);
        else
            collection = map_put(region, collection, item, form_value(region, form->items[i + 1]));
    }
    return collection;
}

// Key identity of two scalar forms.
static bool scalars_identical(const struct form *a, const struct form *b)
{
    if (a->kind == FORM_FLOAT && b->kind == FORM_INTEGER)
        return number_compare(value_float(a->number), value_integer(b->integer)) == VALUE_SAME;
    if (a->kind == FORM_INTEGER && b->kind == FORM_FLOAT)
        return scalars_identical(b, a);
    if (a->kind != b->kind)
        return false;
    switch (a->kind) {
    case FORM_NIL: return true;
    case FORM_BOOLEAN: return a->boolean == b->boolean;
    case FORM_INTEGER: return a->integer == b->integer;
    case FORM_FLOAT: return a->number == b->number || (isnan(a->number) && isnan(b->number));
    default: return span_equal(a->text, b->text);
    }
}

static _Noreturn void fail_duplicate(struct analysis *analysis, const struct form *collection,
                                     const struct form *item)
{
    analysis_fail(analysis, DUPLICATE_KEY, item, NULL, "duplicate %s literal",
                  collection->kind == FORM_MAP ? "key in a map" : "element in a set");
}

static void check_few(struct analysis *analysis, const struct form *form, size_t step)
{
    for (size_t i = step; i < form->count; i += step) {
        for (size_t j = 0; j < i; j += step) {
            if (is_scalar(form->items[i]) && is_scalar(form->items[j]) &&
                scalars_identical(form->items[i], form->items[j]))
                fail_duplicate(analysis, form, form->items[i]);
        }
    }
}

static void scratch_exhausted(void *data, size_t size)
{
    (void)size;
    struct analysis *analysis = data;
    compilation_fail_limit(analysis->compilation, MEMORY_EXCEEDED, 0, "max_memory",
                           analysis->compilation->limits->max_memory,
                           "compiling the program needs more bytes than");
}

// Many keys, or keys that are collections: make the values and let a set find equal ones.
static void check_many(struct analysis *analysis, const struct form *form, size_t step)
{
    struct region *region = compilation_scratch(analysis->compilation);
    region_on_exhausted(region, scratch_exhausted, analysis);
    value seen = set_new(region);
    for (size_t i = 0; i < form->count; i += step) {
        if (!form_is_constant(form->items[i]))
            continue;
        value item = form_value(region, form->items[i]);
        if (set_has(seen, item))
            fail_duplicate(analysis, form, form->items[i]);
        seen = set_add(region, seen, item);
    }
    value_release(region, seen);
}

static void check_regex(struct analysis *analysis, const struct form *form)
{
    struct error error = {0};
    if (!regex_check(form->text, &error))
        analysis_fail(analysis, INVALID_FORM, form, NULL, "%.300s", error.message);
}

void check_literal(struct analysis *analysis, const struct form *form)
{
    if (form->kind == FORM_REGEX) {
        check_regex(analysis, form);
        return;
    }
    if (form->kind == FORM_MAP || form->kind == FORM_SET) {
        size_t step = form->kind == FORM_MAP ? 2 : 1;
        bool simple = form->count / step <= FEW_KEYS;
        for (size_t i = 0; i < form->count && simple; i += step)
            simple = is_scalar(form->items[i]) || !form_is_constant(form->items[i]);
        if (simple)
            check_few(analysis, form, step);
        else
            check_many(analysis, form, step);
    }
}

void check_constant(struct analysis *analysis, const struct form *form)
{
    if (form->kind >= FORM_VECTOR && form->kind <= FORM_SET) {
        for (size_t i = 0; i < form->count; i++)
            check_constant(analysis, form->items[i]);
    }
    check_literal(analysis, form);
}
