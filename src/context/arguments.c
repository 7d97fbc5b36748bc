#include "context/arguments.h"

const value *argument_find(value arguments, const char *name, value *storage)
{
    return map_find_text(arguments, name, storage) ? storage : NULL;
}

bool argument_is_given(value arguments, const char *name)
{
    return !value_is_nil(map_get(arguments, name));
}

static bool fail_argument(const char *name, const char *expected, value got,
                          struct context_error *error)
{
    char text[CONTEXT_GOT_SIZE];
    return context_fail(error, CONTEXT_INVALID_ARGUMENT, "%s must be %s; got %s", name, expected,
                        context_got(&got, text));
}

bool argument_boolean(value arguments, const char *name, bool *ret_boolean,
                      struct context_error *error)
{
    value found = map_get(arguments, name);
    if (value_is_nil(found))
        return true;
    if (found.tag != VALUE_BOOLEAN)
        return fail_argument(name, "a boolean", found, error);
    *ret_boolean = found.boolean;
    return true;
}

// An empty list is no filter, like null.
bool argument_types(value arguments, unsigned *ret_types, struct context_error *error)
{
    value found = map_get(arguments, "types");
    if (value_is_nil(found))
        return true;
    if (!value_is_vector(found))
        return fail_argument("types", "an array of types", found, error);
    unsigned types = 0;
    for (size_t i = 0; i < vector_count(found); i++) {
        enum context_type type;
        if (!context_type_check(vector_at(found, i), &type, error))
            return false;
        types |= 1u << type;
    }
    *ret_types = types;
    return true;
}

bool argument_filter(value arguments, struct context_filter *ret_filter,
                     struct context_error *error)
{
    if (!argument_types(arguments, &ret_filter->types, error))
        return false;
    value limit = map_get(arguments, "limit");
    if (value_is_nil(limit))
        return true;
    if (limit.tag != VALUE_INTEGER || limit.integer < 0) {
        char text[CONTEXT_GOT_SIZE];
        return context_fail(error, CONTEXT_INVALID_LIMIT, "limit must be an integer >= 0; got %s",
                            context_got(&limit, text));
    }
    ret_filter->limit = limit.integer;
    return true;
}

bool argument_max_chars(value arguments, size_t *ret_max_chars, struct context_error *error)
{
    value found = map_get(arguments, "max_chars");
    if (value_is_nil(found))
        return true;
    if (found.tag != VALUE_INTEGER || found.integer < CONTEXT_MAX_CHARS_LOW) {
        char text[CONTEXT_GOT_SIZE];
        return context_fail(error, CONTEXT_MAX_CHARS_TOO_SMALL,
                            "max_chars must be an integer >= %d; got %s", CONTEXT_MAX_CHARS_LOW,
                            context_got(&found, text));
    }
    *ret_max_chars = (size_t)found.integer;
    return true;
}

bool argument_style(value arguments, enum context_style *ret_style, struct context_error *error)
{
    value found = map_get(arguments, "style");
    if (value_is_nil(found))
        return true;
    if (!value_is_string(found) || !context_style_from_name(value_text(found), ret_style))
        return fail_argument("style", "block or inline", found, error);
    return true;
}

bool context_id_check(const value *id, int64_t *ret_number, struct context_error *error)
{
    if (id && value_is_string(*id) && context_id_parse(value_text(*id), ret_number))
        return true;
    char text[CONTEXT_GOT_SIZE];
    return context_fail(error, CONTEXT_INVALID_ID, "id must look like ctx-12; got %s",
                        context_got(id, text));
}
