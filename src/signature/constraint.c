#include "signature/constraint.h"

#include <string.h>

#include "base/ascii.h"
#include "base/utf8.h"
#include "signature/fields.h"
#include "signature/pattern.h"
#include "value/number/number.h"

enum {
    SHOWN_BYTES = 240,       // of the choices of a type
    SHOWN_CHARACTERS = 40,   // of one of them
    PATTERN_CHARACTERS = 60  // of a pattern
};

// --- limits --------------------------------------------------------------------------------------

static bool is_within(struct signature_bound bound, value number, enum value_order outside)
{
    if (value_is_nil(bound.limit))
        return true;
    enum value_order order = number_compare(number, bound.limit);
    return order != outside && order != VALUE_INCOMPARABLE &&
           !(order == VALUE_SAME && bound.excluded);
}

bool limits_hold(const struct signature_limits *limits, struct region *region, value v)
{
    value number = v;
    if (v.tag == VALUE_STRING) {
        struct span text = value_text(v);
        number = value_integer((int64_t)utf8_count(text.data, text.length));
    }
    return is_within(limits->low, number, VALUE_LESS) &&
           is_within(limits->high, number, VALUE_GREATER) &&
           (!limits->pattern || signature_pattern_fits(limits->pattern, region, value_text(v)));
}

// --- choices -------------------------------------------------------------------------------------

static bool is_choice(const struct signature_choice *choice, value v)
{
    if (choice->text.data)
        return v.tag == VALUE_STRING && span_equal(choice->text, value_text(v));
    if (choice->other.tag == VALUE_BOOLEAN)
        return v.tag == VALUE_BOOLEAN && v.boolean == choice->other.boolean;
    return value_is_number(v) && number_compare(v, choice->other) == VALUE_SAME;
}

const struct signature_choice *choice_find(const struct signature_type *type, value v)
{
    for (size_t i = 0; i < type->count; i++)
        if (is_choice(&type->choices[i], v))
            return &type->choices[i];
    return NULL;
}

// --- moments -------------------------------------------------------------------------------------

// Exactly so many digits at the position, which moves on.
static bool read_digits(struct span text, size_t *at, size_t count, int *ret_number)
{
    *ret_number = 0;
    for (size_t i = 0; i < count; i++, ++*at) {
        if (*at >= text.length || !ascii_is_digit(text.data[*at]))
            return false;
        *ret_number = *ret_number * 10 + (text.data[*at] - '0');
    }
    return true;
}

static bool read_byte(struct span text, size_t *at, const char *which)
{
    bool found = *at < text.length && text.data[*at] && strchr(which, text.data[*at]);
    *at += found;
    return found;
}

static int month_length(int year, int month)
{
    bool is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    if (month == 2)
        return is_leap ? 29 : 28;
    return month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31;
}

static bool read_date(struct span text, size_t *at)
{
    int year, month, day;
    return read_digits(text, at, 4, &year) && read_byte(text, at, "-") &&
           read_digits(text, at, 2, &month) && read_byte(text, at, "-") &&
           read_digits(text, at, 2, &day) && month >= 1 && month <= 12 && day >= 1 &&
           day <= month_length(year, month);
}

// A second of 60 is one that was put in.
static bool read_time(struct span text, size_t *at)
{
    int hour, minute, second, digit;
    bool ok = read_digits(text, at, 2, &hour) && read_byte(text, at, ":") &&
              read_digits(text, at, 2, &minute) && read_byte(text, at, ":") &&
              read_digits(text, at, 2, &second) && hour <= 23 && minute <= 59 && second <= 60;
    if (!ok || !read_byte(text, at, "."))
        return ok;
    if (!read_digits(text, at, 1, &digit))
        return false;
    while (*at < text.length && ascii_is_digit(text.data[*at]))
        ++*at;
    return true;
}

static bool read_offset(struct span text, size_t *at)
{
    int hour, minute;
    return read_byte(text, at, "Zz") ||
           (read_byte(text, at, "+-") && read_digits(text, at, 2, &hour) &&
            read_byte(text, at, ":") && read_digits(text, at, 2, &minute) && hour <= 23 &&
            minute <= 59);
}

bool datetime_is_valid(struct span text)
{
    size_t at = 0;
    return read_date(text, &at) && read_byte(text, &at, "Tt") && read_time(text, &at) &&
           read_offset(text, &at) && at == text.length;
}

// --- words ---------------------------------------------------------------------------------------

static void append_bound(struct description *description, const char *word, value number)
{
    description_append(description, span_from(word));
    description_append_value(description, number);
}

static void append_limits(struct description *description, const struct signature_limits *limits,
                          bool is_text)
{
    struct signature_bound low = limits->low, high = limits->high;
    bool both =
        !value_is_nil(low.limit) && !value_is_nil(high.limit) && !low.excluded && !high.excluded;
    if (both) {
        append_bound(description, is_text ? " of " : " from ", low.limit);
        append_bound(description, " to ", high.limit);
    } else {
        if (!value_is_nil(low.limit))
            append_bound(description, low.excluded ? " above " : " of at least ", low.limit);
        if (!value_is_nil(high.limit))
            append_bound(description, high.excluded ? " below " : " of at most ", high.limit);
    }
    if (is_text && (!value_is_nil(low.limit) || !value_is_nil(high.limit)))
        description_append(description, SPAN(" characters"));
    if (!limits->pattern)
        return;
    description_append(description, SPAN(" that fits #\""));
    description_append_cut(description, signature_pattern_text(limits->pattern),
                           PATTERN_CHARACTERS);
    description_append(description, SPAN("\""));
}

static void append_choice(struct description *description, const struct signature_choice *choice)
{
    if (choice->text.data)
        description_append_quoted(description, choice->text, SHOWN_CHARACTERS);
    else
        description_append_value(description, choice->other);
}

static void append_choices(struct description *description, const struct signature_type *type)
{
    description_append(description, SPAN("one of "));
    for (size_t i = 0; i < type->count; i++) {
        description_append(description, i ? SPAN(", ") : SPAN(""));
        if (description->length > SHOWN_BYTES) {
            description_append(description, SPAN("..."));
            return;
        }
        append_choice(description, &type->choices[i]);
    }
}

// "map with id, name": maps are told apart by what they must have.
static void append_record(struct description *description, const struct signature_fields *fields)
{
    const char *before = " with ";
    for (size_t i = 0; i < fields->count && description->length < SHOWN_BYTES; i++) {
        if (fields->items[i].type.optional)
            continue;
        description_append(description, span_from(before));
        description_append_cut(description, fields->items[i].name, SHOWN_CHARACTERS);
        before = ", ";
    }
}

static void append_type(struct description *description, const struct signature_type *type);

static void append_alternatives(struct description *description, const struct signature_type *type)
{
    for (size_t i = 0; i < type->count; i++) {
        description_append(description, i ? SPAN(" or ") : SPAN(""));
        if (description->length > SHOWN_BYTES) {
            description_append(description, SPAN("..."));
            return;
        }
        append_type(description, &type->element[i]);
        if (type->element[i].kind == SIGNATURE_RECORD)
            append_record(description, &type->element[i].fields);
    }
}

static void append_type(struct description *description, const struct signature_type *type)
{
    if (type->kind == SIGNATURE_ENUM) {
        append_choices(description, type);
    } else if (type->kind == SIGNATURE_UNION) {
        append_alternatives(description, type);
    } else {
        description_append(description, span_from(signature_kind_word(type->kind)));
        if (type->limits)
            append_limits(description, type->limits, type->kind == SIGNATURE_STRING);
    }
}

void describe_type(struct description *description, const struct signature_type *type)
{
    description->length = 0;
    append_type(description, type);
}
