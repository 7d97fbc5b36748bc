// The public API: values.
#include <string.h>

#include "program/api/cadre_internal.h"
#include "value/collection/key_lookup.h"
#include "value/number/bignum.h"

_Static_assert(sizeof(cadre_value) == sizeof(value), "a public value is a value");

value cadre_value_inside(cadre_value public)
{
    value v;
    memcpy(&v, &public, sizeof(v));
    return v;
}

cadre_value cadre_value_of(value v)
{
    cadre_value public;
    memcpy(&public, &v, sizeof(v));
    return public;
}

cadre_type cadre_value_type(cadre_value public)
{
    static const cadre_type types[VALUE_TAG_COUNT] = {
        [VALUE_NIL] = CADRE_NIL,           [VALUE_BOOLEAN] = CADRE_BOOLEAN,
        [VALUE_INTEGER] = CADRE_INTEGER,   [VALUE_FLOAT] = CADRE_FLOAT,
        [VALUE_BIGNUM] = CADRE_INTEGER,    [VALUE_STRING] = CADRE_STRING,
        [VALUE_KEYWORD] = CADRE_KEYWORD,   [VALUE_VECTOR] = CADRE_VECTOR,
        [VALUE_MAP] = CADRE_MAP,           [VALUE_SET] = CADRE_SET,
        [VALUE_FUNCTION] = CADRE_FUNCTION, [VALUE_REGEX] = CADRE_OTHER,
        [VALUE_SYMBOL] = CADRE_OTHER,      [VALUE_VAR] = CADRE_OTHER,
    };
    value v = cadre_value_inside(public);
    return v.tag < VALUE_TAG_COUNT ? types[v.tag] : CADRE_NIL;
}

bool cadre_value_boolean(cadre_value public)
{
    return value_is_true(cadre_value_inside(public));
}

bool cadre_value_integer(cadre_value public, int64_t *ret_number)
{
    value v = cadre_value_inside(public);
    if (v.tag != VALUE_INTEGER)
        return false;
    if (ret_number)
        *ret_number = v.integer;
    return true;
}

bool cadre_value_number(cadre_value public, double *ret_number)
{
    value v = cadre_value_inside(public);
    if (v.tag != VALUE_FLOAT && v.tag != VALUE_INTEGER && v.tag != VALUE_BIGNUM)
        return false;
    if (ret_number)
        *ret_number = v.tag == VALUE_FLOAT ? v.number : integer_to_double(v);
    return true;
}

const char *cadre_value_text(cadre_value public, size_t *ret_length)
{
    value v = cadre_value_inside(public);
    if (v.tag != VALUE_STRING && v.tag != VALUE_KEYWORD)
        return NULL;
    struct span text = value_text(v);
    if (ret_length)
        *ret_length = text.length;
    return text.data;
}

size_t cadre_value_count(cadre_value public)
{
    value v = cadre_value_inside(public);
    switch (v.tag) {
    case VALUE_VECTOR: return vector_count(v);
    case VALUE_MAP: return map_count(v);
    case VALUE_SET: return set_count(v);
    default: return 0;
    }
}

cadre_value cadre_value_at(cadre_value public, size_t index)
{
    value v = cadre_value_inside(public);
    if (v.tag != VALUE_VECTOR || index >= vector_count(v))
        return cadre_value_of(value_nil());
    return cadre_value_of(vector_at(v, index));
}

bool cadre_value_get(cadre_value public, const char *name, cadre_value *ret_value)
{
    value v = cadre_value_inside(public);
    value item;
    if (v.tag != VALUE_MAP || !name ||
        !map_find_flexible(v, value_string_borrow(NULL, span_from(name)), &item))
        return false;
    if (ret_value)
        *ret_value = cadre_value_of(item);
    return true;
}

void cadre_value_each(cadre_value public, cadre_entry_fn *function, void *user)
{
    value v = function ? cadre_value_inside(public) : value_nil();
    value key, item;
    if (v.tag == VALUE_MAP) {
        struct map_cursor cursor = map_iterate(v);
        while (map_next(&cursor, &key, &item) &&
               function(user, cadre_value_of(key), cadre_value_of(item)))
            continue;
    } else if (v.tag == VALUE_SET) {
        struct map_cursor cursor = set_iterate(v);
        while (set_next(&cursor, &item) &&
               function(user, cadre_value_of(item), cadre_value_of(item)))
            continue;
    }
}
