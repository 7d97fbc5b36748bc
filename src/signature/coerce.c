#include "signature/coerce.h"

#include <math.h>
#include <string.h>

#include "base/ascii.h"
#include "value/chunks.h"
#include "value/number/bignum.h"
#include "value/number/float_text.h"
#include "value/text/literal.h"

static struct span trim(struct span text)
{
    enum { BYTES_PER_BATCH = 4096 };
    size_t start = 0, end = text.length;
    while (start < end && ascii_is_space(text.data[start])) {
        if (++start % BYTES_PER_BATCH == 0)
            fuel_spend(BYTES_PER_BATCH / CHUNK_BYTES_PER_UNIT);
    }
    while (end > start && ascii_is_space(text.data[end - 1])) {
        if (--end % BYTES_PER_BATCH == 0)
            fuel_spend(BYTES_PER_BATCH / CHUNK_BYTES_PER_UNIT);
    }
    return (struct span){text.data + start, end - start};
}

static size_t skip_sign(struct span text, size_t i)
{
    return i < text.length && (text.data[i] == '+' || text.data[i] == '-') ? i + 1 : i;
}

static bool is_integer_text(struct span text)
{
    size_t start = skip_sign(text, 0);
    return start < text.length && chunks_skip_digits(text, start) == text.length;
}

// [+-] digits [. digits] [e [+-] digits], as programs write numbers.
static bool is_number_text(struct span text)
{
    size_t start = skip_sign(text, 0);
    size_t i = chunks_skip_digits(text, start);
    if (i == start)
        return false;
    if (i < text.length && text.data[i] == '.') {
        start = i + 1;
        i = chunks_skip_digits(text, start);
        if (i == start)
            return false;
    }
    if (i < text.length && (text.data[i] == 'e' || text.data[i] == 'E')) {
        start = skip_sign(text, i + 1);
        i = chunks_skip_digits(text, start);
        if (i == start)
            return false;
    }
    return i == text.length;
}

// A leading '+' is not part of what the value layer reads.
static struct span without_plus(struct span text)
{
    return text.data[0] == '+' ? (struct span){text.data + 1, text.length - 1} : text;
}

static bool string_to_float(struct span text, value *ret_coerced)
{
    text = trim(text);
    if (!is_number_text(text))
        return false;
    double number = float_read(without_plus(text));
    if (!isfinite(number))
        return false;
    *ret_coerced = value_float(number);
    return true;
}

static bool coerce_string(struct region *region, enum signature_kind kind, struct span text,
                          value *ret_coerced)
{
    switch (kind) {
    case SIGNATURE_INT:
        text = trim(text);
        if (!is_integer_text(text))
            return false;
        *ret_coerced = value_integer_from_text(region, without_plus(text));
        return true;
    case SIGNATURE_FLOAT: return string_to_float(text, ret_coerced);
    case SIGNATURE_BOOL:
        if (!span_equal(text, SPAN("true")) && !span_equal(text, SPAN("false")))
            return false;
        *ret_coerced = value_boolean(span_equal(text, SPAN("true")));
        return true;
    case SIGNATURE_KEYWORD:
        if (!literal_is_keyword_name(text))
            return false;
        *ret_coerced = value_keyword(region, text);
        return true;
    default: return false;
    }
}

static bool widen(value v, value *ret_coerced)
{
    double number = integer_to_double(v);
    if (!isfinite(number))
        return false;
    *ret_coerced = value_float(number);
    return true;
}

bool signature_coerce(struct region *region, enum signature_kind kind, value v, value *ret_coerced)
{
    switch (v.tag) {
    case VALUE_STRING: return coerce_string(region, kind, value_text(v), ret_coerced);
    case VALUE_KEYWORD:
        if (kind != SIGNATURE_STRING)
            return false;
        *ret_coerced = value_string(region, value_text(v));
        return true;
    case VALUE_INTEGER:
    case VALUE_BIGNUM: return kind == SIGNATURE_FLOAT && widen(v, ret_coerced);
    default: return false;
    }
}
