// Names: name, namespace, keyword, symbol (docs/reference/language.md 8.9). A keyword or symbol may have a
// namespace in front of a slash. All arguments are borrowed.
#include <string.h>

#include "base/utf8.h"
#include "program/builtin/builtins.h"
#include "program/builtin/support.h"
#include "value/fuel.h"
#include "value/text/literal.h"

static bool is_named(value v)
{
    return v.tag == VALUE_KEYWORD || v.tag == VALUE_SYMBOL;
}

// The bytes of the namespace; 0: there is none. The name / has none.
static size_t namespace_length(struct span text)
{
    const char *slash = text.length > 1 ? memchr(text.data, '/', text.length) : NULL;
    return slash ? (size_t)(slash - text.data) : 0;
}

// --- comparing -----------------------------------------------------------------------------------

enum { UNITS_PER_FUEL = 1024 };

// UTF-16 units of a text.
static int64_t unit_count(struct span text)
{
    int64_t count = 0;
    fuel_spend((int64_t)(text.length / UNITS_PER_FUEL));
    for (size_t i = 0; i < text.length; i++) {
        unsigned char byte = (unsigned char)text.data[i];
        count += ((byte & 0xC0) != 0x80) + (byte >= 0xF0);
    }
    return count;
}

static void utf16(const char *text, size_t length, uint32_t ret_units[2])
{
    uint32_t c;
    utf8_decode(text, length, &c);
    bool is_pair = c >= 0x10000;
    ret_units[0] = is_pair ? 0xD800 + ((c - 0x10000) >> 10) : c;
    ret_units[1] = is_pair ? 0xDC00 + (c & 0x3FF) : 0;
}

// compareTo of Java's strings: the difference of the first UTF-16 units that differ, or of the lengths.
static int64_t text_distance(struct span a, struct span b)
{
    size_t common = a.length < b.length ? a.length : b.length, i = 0;
    fuel_spend((int64_t)(common / UNITS_PER_FUEL));
    while (i < common && a.data[i] == b.data[i])
        i++;
    if (i == common)
        return unit_count((struct span){a.data + i, a.length - i}) -
               unit_count((struct span){b.data + i, b.length - i});
    while (i > 0 && ((unsigned char)a.data[i] & 0xC0) == 0x80)
        i--;
    uint32_t left[2], right[2];
    utf16(a.data + i, a.length - i, left);
    utf16(b.data + i, b.length - i, right);
    unsigned at = left[0] == right[0];
    return (int64_t)left[at] - right[at];
}

int64_t values_distance(value a, value b)
{
    struct span left = value_text(a), right = value_text(b);
    size_t left_space = is_named(a) ? namespace_length(left) : 0;
    size_t right_space = is_named(b) ? namespace_length(right) : 0;
    if ((left_space == 0) != (right_space == 0))
        return left_space == 0 ? -1 : 1;
    int64_t distance =
        text_distance((struct span){left.data, left_space}, (struct span){right.data, right_space});
    size_t skip = left_space > 0;
    if (distance != 0)
        return distance;
    return text_distance(
        (struct span){left.data + left_space + skip, left.length - left_space - skip},
        (struct span){right.data + right_space + skip, right.length - right_space - skip});
}

// --- names ---------------------------------------------------------------------------------------

value builtin_name(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    value v = arguments[0];
    if (v.tag == VALUE_STRING)
        return value_retain(v);
    if (!is_named(v))
        run_type_error(run, self, 1, "a keyword, symbol or string", v, NULL);
    struct span text = value_text(v);
    size_t start = namespace_length(text);
    start += start > 0;
    return value_string(run->region, (struct span){text.data + start, text.length - start});
}

value builtin_namespace(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    if (!is_named(arguments[0]))
        run_type_error(run, self, 1, "a keyword or symbol", arguments[0], NULL);
    struct span text = value_text(arguments[0]);
    size_t length = namespace_length(text);
    return length ? value_string(run->region, (struct span){text.data, length}) : value_nil();
}

// The text of (keyword "a") or of (keyword "ns" "a"), where the namespace may be nil. Owned.
static value joined_name(struct run *run, const struct builtin *self, const value *arguments,
                         size_t count)
{
    if (count == 1)
        return value_string(run->region, value_text(arguments[0]));
    argument_string(run, self, arguments, 1);
    if (value_is_nil(arguments[0]))
        return value_retain(arguments[1]);
    argument_string(run, self, arguments, 0);
    struct span space = value_text(arguments[0]), name = value_text(arguments[1]);
    return value_string_format(run->region, "%.*s/%.*s", (int)space.length, space.data,
                               (int)name.length, name.data);
}

// What stands behind a colon in a program.
static bool is_readable(struct span name)
{
    for (size_t i = 0; i < name.length; i++) {
        if (!literal_is_keyword_character(name.data[i]))
            return false;
    }
    return name.length > 0;
}

value builtin_keyword(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    value v = arguments[0];
    if (count == 1 && (v.tag == VALUE_NIL || v.tag == VALUE_KEYWORD))
        return value_retain(v);
    if (count == 1 && v.tag != VALUE_STRING && v.tag != VALUE_SYMBOL)
        run_type_error(run, self, 1, "a string, keyword, symbol or nil", v, NULL);
    if (count == 1 && v.tag == VALUE_STRING && !is_readable(value_text(v)))
        builtin_fail(run, self, RUNTIME_ERROR, "%s is not the name of a keyword",
                     value_describe(v, (char[DESCRIBE_SIZE]){0}));
    value text = joined_name(run, self, arguments, count);
    value keyword = value_keyword(run->region, value_text(text));
    value_release(run->region, text);
    return keyword;
}

value builtin_symbol(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    value v = arguments[0];
    if (count == 1 && v.tag != VALUE_STRING && !is_named(v))
        run_type_error(run, self, 1, "a string, keyword or symbol", v, NULL);
    value text = joined_name(run, self, arguments, count);
    value symbol = value_symbol(run->region, value_text(text));
    value_release(run->region, text);
    return symbol;
}
