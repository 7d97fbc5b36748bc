#include "cli/config/configuration_value.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/memory.h"
#include "value/text/json.h"

// --- checks --------------------------------------------------------------------------------------

bool setting_parse_flag(struct span text, bool *ret_flag)
{
    static const char *const words[][2] = {
        {"false", "true"}, {"0", "1"}, {"no", "yes"}, {"off", "on"}};
    for (size_t i = 0; i < COUNT_OF(words); i++)
        for (int flag = 0; flag < 2; flag++)
            if (span_equal_text(text, words[i][flag])) {
                *ret_flag = flag;
                return true;
            }
    return false;
}

static bool check_number(const struct option_row *row, struct span text, struct error *error)
{
    CLEANUP_FREE char *copy = memory_copy_text(text.data, text.length);
    char *end;
    errno = 0;
    long long number = strtoll(copy, &end, 10);
    if (!errno && end != copy && !*end && number >= row->low && number <= row->high)
        return true;
    return error_set(error, ERROR_INVALID,
                     "%s takes a whole number from %" PRId64 " to %" PRId64 "; got '%.80s'",
                     row->name, row->low, row->high, copy);
}

static bool check_choice(const struct option_row *row, struct span text, struct error *error)
{
    if (option_list_contains(row->choices, text))
        return true;
    CLEANUP_BUFFER struct buffer names;
    buffer_init(&names, ERROR_MESSAGE_SIZE);
    const char *list = row->choices;
    for (struct span each = option_list_next(&list); each.length; each = option_list_next(&list)) {
        buffer_append_text(&names, names.length ? ", " : "");
        buffer_append_span(&names, each);
    }
    return error_set(error, ERROR_INVALID, "%s takes one of %s; got '%.*s'", row->name,
                     buffer_text(&names), (int)(text.length < 80 ? text.length : 80), text.data);
}

bool setting_check(const struct option_row *row, struct span text, struct error *error)
{
    if (memchr(text.data, 0, text.length))
        return error_set(error, ERROR_INVALID, "%s holds a NUL character", row->name);
    if (!row->argument)
        return true;
    switch (row->type) {
    case OPTION_NUMBER: return check_number(row, text, error);
    case OPTION_CHOICE: return check_choice(row, text, error);
    default: return true;
    }
}

static size_t choice_rank(const char *choices, struct span word)
{
    size_t rank = 0;
    for (struct span each = option_list_next(&choices); each.length && !span_equal(each, word);
         each = option_list_next(&choices))
        rank++;
    return rank;
}

bool setting_is_narrower(const struct option_row *row, struct span present, struct span next)
{
    if (row->argument)
        return row->choices &&
               choice_rank(row->choices, next) >= choice_rank(row->choices, present);
    bool is_set = false, will_be_set = false;
    return setting_parse_flag(present, &is_set) && setting_parse_flag(next, &will_be_set) &&
           (will_be_set || !is_set);
}

// --- from JSON -----------------------------------------------------------------------------------

static value resolve_path(struct region *region, const char *base, struct span path)
{
    const char *home = getenv("HOME");
    if (span_starts_with(path, SPAN("~/")) && home)
        return value_string_format(region, "%s%.*s", home, (int)path.length - 1, path.data + 1);
    // ":memory:" and its like are no paths.
    if (path.length && (path.data[0] == '/' || path.data[0] == ':'))
        return value_string(region, path);
    return value_string_format(region, "%s/%.*s", base, (int)path.length, path.data);
}

// What the option takes, for a message.
static const char *kind_name(const struct option_row *row)
{
    return !row->argument               ? "true or false"
           : row->type == OPTION_NUMBER ? "a whole number"
                                        : "a string";
}

static bool has_kind(const struct option_row *row, value item)
{
    if (!row->argument)
        return item.tag == VALUE_BOOLEAN;
    return row->type == OPTION_NUMBER ? item.tag == VALUE_INTEGER : item.tag == VALUE_STRING;
}

static bool push_json(struct region *region, const struct option_row *row, const char *base,
                      value item, value *values, struct error *error)
{
    if (!has_kind(row, item)) {
        CLEANUP_BUFFER struct buffer shown;
        buffer_init(&shown, 1 << 20);
        json_write(&shown, item, 0, NULL);
        return error_set(error, ERROR_INVALID, "%s takes %s; got %.80s", row->name, kind_name(row),
                         buffer_text(&shown));
    }
    value text = value_retain(item);
    if (item.tag == VALUE_BOOLEAN)
        text = value_string_text(region, item.boolean ? "true" : "false");
    else if (item.tag == VALUE_INTEGER)
        text = value_string_format(region, "%" PRId64, item.integer);
    else if (row->type == OPTION_PATH || row->type == OPTION_DIRECTORY)
        text = resolve_path(region, base, value_text(item));
    if (!setting_check(row, value_text(text), error))
        return false;
    *values = vector_push(region, *values, text);
    return true;
}

bool setting_from_json(struct region *region, const struct option_row *row, const char *base,
                       value item, value *ret_values, struct error *error)
{
    value values = vector_new(region, 1);
    if (row->repeatable && value_is_vector(item)) {
        for (size_t i = 0; i < vector_count(item); i++)
            if (!push_json(region, row, base, vector_at(item, i), &values, error))
                return false;
    } else if (!push_json(region, row, base, item, &values, error)) {
        return false;
    }
    *ret_values = values;
    return true;
}

// --- from the environment ------------------------------------------------------------------------

bool setting_from_variable(struct region *region, const struct option_row *row, const char *text,
                           value *ret_values, struct error *error)
{
    value values = vector_new(region, 1);
    for (const char *at = text; *at;) {
        struct span part = {at, row->repeatable ? strcspn(at, ",") : strlen(at)};
        at += part.length + (at[part.length] == ',');
        bool flag = false;
        if (!row->argument && !setting_parse_flag(part, &flag))
            return error_set(error, ERROR_INVALID, "takes true or false; got '%.80s'", text);
        if (!setting_check(row, part, error))
            return false;
        if (!row->argument)
            part = span_from(flag ? "true" : "false");
        values = vector_push(region, values,
                             value_string_format(region, "%.*s", (int)part.length, part.data));
    }
    *ret_values = values;
    return true;
}
