// Iteration over seqable values, and the errors that builtins report.
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "program/builtin/support.h"
#include "program/eval/generator.h"
#include "program/eval/range.h"
#include "program/run/comparator.h"
#include "value/fuel.h"
#include "value/text/print.h"
#include "value/text/text.h"

bool value_is_seqable(value v)
{
    return v.tag == VALUE_NIL || v.tag == VALUE_VECTOR || v.tag == VALUE_STRING ||
           v.tag == VALUE_MAP || v.tag == VALUE_SET || value_is_generator(v);
}

static void start(struct run *run, const struct builtin *self, unsigned argument,
                  struct sequence *sequence, value v, bool is_borrowed)
{
    *sequence =
        (struct sequence){.run = run, .source = v, .map = value_nil(), .is_borrowed = is_borrowed};
    switch (v.tag) {
    case VALUE_NIL: break;
    case VALUE_VECTOR: sequence->count = vector_count(v); break;
    case VALUE_STRING:
        sequence->count = string_is_simple(v) ? value_text(v).length : SIZE_MAX;
        break;
    case VALUE_MAP:
        sequence->map = v;
        sequence->source = map_keys_in_order(run, v);
        sequence->count = map_count(v);
        break;
    case VALUE_SET:
        sequence->source = set_in_order(run, v);
        sequence->count = set_count(v);
        if (!is_borrowed)
            value_release(run->region, v);
        sequence->is_borrowed = false;
        break;
    case VALUE_RANGE: {
        const struct range *range = (const struct range *)v.object;
        sequence->count = range->count;
        sequence->number = range->start;
        sequence->step = range->step;
        break;
    }
    default:
        if (!value_is_generator(v))
            run_type_error(run, self, argument, "a collection", v, NULL);
        sequence->source = iterator_new(run, self, argument, is_borrowed ? value_retain(v) : v);
        sequence->count = SIZE_MAX;
        sequence->is_borrowed = false;
    }
}

void sequence_start(struct run *run, const struct builtin *self, unsigned argument,
                    struct sequence *ret_sequence, value v)
{
    start(run, self, argument, ret_sequence, v, false);
}

void sequence_borrow(struct run *run, const struct builtin *self, unsigned argument,
                     struct sequence *ret_sequence, value v)
{
    start(run, self, argument, ret_sequence, v, true);
}

// One character of a string, from byte offset `position` on.
static bool next_character(struct sequence *sequence, value *ret_item)
{
    struct span text = value_text(sequence->source);
    size_t offset = sequence->position;
    if (offset >= text.length)
        return false;
    size_t end = sequence->count == SIZE_MAX ? character_end(text, offset) : offset + 1;
    uint32_t code_point;
    if (utf8_decode(text.data + offset, end - offset, &code_point) == end - offset)
        *ret_item = string_from_code_point(sequence->run->region, code_point);
    else
        *ret_item =
            value_string(sequence->run->region, (struct span){text.data + offset, end - offset});
    sequence->position = end;
    return true;
}

bool sequence_next(struct sequence *sequence, value *ret_item)
{
    if (sequence->source.tag == VALUE_RANGE)
        return sequence_step(sequence, ret_item);
    run_spend(sequence->run, 1);
    if (sequence->source.tag == VALUE_FUNCTION)
        return iterator_next(sequence->run, sequence->source, ret_item);
    if (sequence->source.tag == VALUE_STRING)
        return next_character(sequence, ret_item);
    if (sequence->position >= sequence->count)
        return false;
    value item = value_retain(vector_at(sequence->source, sequence->position++));
    if (sequence->map.tag == VALUE_MAP) {
        value found = value_nil();
        map_find(sequence->map, item, &found);
        value pair[2] = {item, value_retain(found)};
        item = vector_from(sequence->run->region, pair, 2);
    }
    *ret_item = item;
    return true;
}

void sequence_end(struct sequence *sequence)
{
    struct region *region = sequence->run->region;
    if (sequence->map.tag == VALUE_MAP) {
        value_release(region, sequence->source);
        if (!sequence->is_borrowed)
            value_release(region, sequence->map);
    } else if (!sequence->is_borrowed) {
        value_release(region, sequence->source);
    }
}

value sequence_vector(struct run *run, const struct builtin *self, unsigned argument, value v)
{
    if (v.tag == VALUE_VECTOR)
        return v;
    if (value_is_generator(v) && generator_is_endless(v))
        fail_endless(run, self);
    struct sequence items;
    sequence_start(run, self, argument, &items, v);
    value vector = vector_new(run->region, items.count == SIZE_MAX ? 0 : items.count);
    value item;
    while (sequence_next(&items, &item))
        vector = vector_push(run->region, vector, item);
    sequence_end(&items);
    return vector;
}

size_t sequence_count(struct run *run, value v)
{
    switch (v.tag) {
    case VALUE_VECTOR: return vector_count(v);
    case VALUE_STRING: return string_count(v);
    case VALUE_MAP: return map_count(v);
    case VALUE_SET: return set_count(v);
    default: break;
    }
    size_t count = 0;
    if (value_is_generator(v)) {
        static const struct builtin self = {.name = "count"};
        value items = sequence_vector(run, &self, 1, value_retain(v));
        count = vector_count(items);
        value_release(run->region, items);
    }
    return count;
}

// --- errors --------------------------------------------------------------------------------------

enum { SHOWN_CHARACTERS = 60 };

static const char *kind_word(value v)
{
    static const char *const words[VALUE_TAG_COUNT] = {
        [VALUE_NIL] = "nil",         [VALUE_BOOLEAN] = "bool",      [VALUE_INTEGER] = "int",
        [VALUE_FLOAT] = "float",     [VALUE_BIGNUM] = "int",        [VALUE_STRING] = "string",
        [VALUE_KEYWORD] = "keyword", [VALUE_VECTOR] = "vector",     [VALUE_MAP] = "map",
        [VALUE_SET] = "set",         [VALUE_FUNCTION] = "function", [VALUE_REGEX] = "regex",
        [VALUE_SYMBOL] = "symbol",   [VALUE_VAR] = "var",
    };
    if (v.tag == VALUE_FUNCTION && !value_is_function(v))
        return ((const struct foreign *)v.object)->type->kind;
    return words[v.tag];
}

const char *value_describe(value v, char text[DESCRIBE_SIZE])
{
    if (v.tag >= VALUE_TAG_COUNT) {  // a range that is iterated
        snprintf(text, DESCRIBE_SIZE, "vector");
        return text;
    }
    const char *word = kind_word(v);
    if (v.tag == VALUE_NIL || v.tag == VALUE_VECTOR || v.tag == VALUE_MAP || v.tag == VALUE_SET ||
        v.tag == VALUE_FUNCTION || v.tag == VALUE_BIGNUM) {
        snprintf(text, DESCRIBE_SIZE, "%s%s", word, v.tag == VALUE_BIGNUM ? " beyond 64 bits" : "");
        return text;
    }
    bool is_text = v.tag >= VALUE_STRING;
    value shown = v;
    bool cut = false;
    if (is_text) {
        struct span bytes = value_text(v);
        size_t end = utf8_offset(bytes.data, bytes.length, SHOWN_CHARACTERS);
        cut = end < bytes.length;
        if (v.tag == VALUE_STRING)
            shown = value_string_borrow(NULL, (struct span){bytes.data, end});
        else if (cut) {
            snprintf(text, DESCRIBE_SIZE, "%s %.*s...", word, (int)end, bytes.data);
            return text;
        }
    }
    struct buffer printed;
    struct fuel before = fuel;
    fuel = (struct fuel){0};  // little is printed, and a jump would leave the buffer behind
    buffer_init(&printed, DESCRIBE_SIZE);
    value_print(&printed, shown);
    snprintf(text, DESCRIBE_SIZE, "%s %s%s", word, buffer_text(&printed), cut ? "..." : "");
    buffer_release(&printed);
    fuel = before;
    return text;
}

void run_type_error(struct run *run, const struct builtin *self, unsigned argument,
                    const char *wanted, value got, const char *hint)
{
    char text[DESCRIBE_SIZE];
    run_raise(run, TYPE_ERROR, self->name, "%s: argument %u must be %s, got %s%s%s%s", self->name,
              argument, wanted, value_describe(got, text), hint ? " (" : "", hint ? hint : "",
              hint ? ")" : "");
}

void run_arity_error(struct run *run, const struct builtin *self, size_t count)
{
    char wanted[64];
    if (self->highest == BUILTIN_ANY)
        snprintf(wanted, sizeof(wanted), "at least %u", (unsigned)self->least);
    else if (self->least == self->highest)
        snprintf(wanted, sizeof(wanted), "%u", (unsigned)self->least);
    else
        snprintf(wanted, sizeof(wanted), "%u to %u", (unsigned)self->least,
                 (unsigned)self->highest);
    const char *parity = self->flags & BUILTIN_EVEN  ? ", an even number,"
                         : self->flags & BUILTIN_ODD ? ", an odd number,"
                                                     : "";
    run_raise(run, ARITY_ERROR, self->name, "%s: expected %s argument%s%s got %zu. Usage: %s",
              self->name, wanted, self->least == 1 && self->highest == 1 ? "" : "s",
              parity[0] ? parity : ",", count, self->signature ? self->signature : self->name);
}

void builtin_fail(struct run *run, const struct builtin *self, enum failure_kind kind,
                  const char *format, ...)
{
    char message[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof(message), format, arguments);
    va_end(arguments);
    run_raise(run, kind, self->name, "%s: %s", self->name, message);
}
