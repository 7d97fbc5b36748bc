#include "value/text/edn.h"

#include <string.h>

#include "base/array.h"
#include "base/ascii.h"
#include "value/allocation_guard.h"
#include "value/chunks.h"
#include "value/text/literal.h"

enum { DEFAULT_DEPTH = 128, FIRST_LEVELS = 16 };

// An open collection. A map's key waits until its value is there.
struct level {
    value collection;
    value key;
    bool has_key;
    char closer;
};

struct reader {
    struct region *region;
    struct span text;
    size_t at;
    size_t max_depth;
    size_t digits_most;  // of an integer
    bool is_data;
    struct error *error;
    struct level *levels;
    size_t depth;
    size_t capacity;
    value pending;  // read, not yet in a collection; what an early end must release
    struct level first[FIRST_LEVELS];
    struct allocation_guard guard;
};

static bool fail(struct reader *reader, size_t at, enum error_code code, const char *message)
{
    unsigned line, column;
    literal_position((struct span){reader->text.data, at}, &line, &column);
    return error_set_at(reader->error, code, line, column, "%s", message);
}

static void skip_space(struct reader *reader)
{
    struct span text = reader->text;
    while (reader->at < text.length) {
        char c = text.data[reader->at];
        if (c == ';') {
            while (reader->at < text.length && text.data[reader->at] != '\n')
                reader->at++;
        } else if (c != ' ' && c != '\t' && c != '\n' && c != '\r' && c != ',') {
            return;
        } else {
            reader->at++;
        }
    }
}

// --- collections ---------------------------------------------------------------------------------

static bool open_level(struct reader *reader, value collection, size_t opener, char closer)
{
    if (reader->depth >= reader->max_depth)
        return fail(reader, reader->at, ERROR_LIMIT, "nested too deeply");
    if (reader->depth == reader->capacity) {
        size_t size = reader->capacity * sizeof(struct level);
        struct level *levels = region_alloc(reader->region, 2 * size);
        memcpy(levels, reader->levels, size);
        if (reader->levels != reader->first)
            region_return(reader->region, reader->levels, size);
        reader->levels = levels;
        reader->capacity *= 2;
    }
    reader->levels[reader->depth++] = (struct level){.collection = collection, .closer = closer};
    reader->at += opener;
    return true;
}

// Puts the pending value into the collection that is open.
static bool add_pending(struct reader *reader, size_t at)
{
    struct level *level = &reader->levels[reader->depth - 1];
    value v = reader->pending, present;
    switch (level->collection.tag) {
    case VALUE_VECTOR: level->collection = vector_push(reader->region, level->collection, v); break;
    case VALUE_SET:
        if (set_has(level->collection, v))
            return fail(reader, at, ERROR_INVALID, "duplicate element in a set");
        level->collection = set_add(reader->region, level->collection, v);
        break;
    default:
        if (!level->has_key) {
            if (map_find(level->collection, v, &present))
                return fail(reader, at, ERROR_INVALID, "duplicate key in a map");
            level->key = v;
            level->has_key = true;
        } else {
            level->collection = map_put(reader->region, level->collection, level->key, v);
            level->has_key = false;
        }
        break;
    }
    reader->pending = value_nil();
    return true;
}

static bool close_level(struct reader *reader, char closer)
{
    struct level *level = reader->depth ? &reader->levels[reader->depth - 1] : NULL;
    if (!level)
        return fail(reader, reader->at, ERROR_SYNTAX, "nothing is open here");
    if (closer != level->closer)
        return fail(reader, reader->at, ERROR_SYNTAX, "closed by the wrong bracket");
    if (level->has_key)
        return fail(reader, reader->at, ERROR_SYNTAX, "a map needs an even number of forms");
    reader->pending = level->collection;
    reader->depth--;
    reader->at++;
    return true;
}

// --- scalars -------------------------------------------------------------------------------------

static bool read_word(struct reader *reader, struct span text)
{
    static const struct {
        struct span name;
        value v;
    } words[] = {
        {SPAN("nil"), {.tag = VALUE_NIL}},
        {SPAN("true"), {.tag = VALUE_BOOLEAN, .boolean = true}},
        {SPAN("false"), {.tag = VALUE_BOOLEAN, .boolean = false}},
    };
    size_t length = 0;
    while (length < text.length && literal_is_symbol_character(text.data[length]))
        length++;
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        if (span_equal((struct span){text.data, length}, words[i].name)) {
            reader->pending = words[i].v;
            reader->at += length;
            return true;
        }
    }
    if (!length || !reader->is_data)
        return fail(reader, reader->at, ERROR_SYNTAX,
                    length ? "a symbol is not data" : "expected a literal");
    reader->pending = value_symbol(reader->region, (struct span){text.data, length});
    reader->at += length;
    return true;
}

static bool read_scalar(struct reader *reader)
{
    struct span text = {reader->text.data + reader->at, reader->text.length - reader->at};
    char c = text.data[0], next = text.length > 1 ? text.data[1] : '\0';
    struct literal literal;
    if (c == '"')
        literal = literal_string(reader->region, text, &reader->pending);
    else if (c == '\\')
        literal = literal_character(reader->region, text, &reader->pending);
    else if (c == ':')
        literal = literal_keyword(reader->region, text, &reader->pending);
    else if (ascii_is_digit(c) || (c == '-' && ascii_is_digit(next)))
        literal = literal_number(reader->region, text, reader->digits_most, &reader->pending);
    else if (c == '#' && next == '#')
        literal = literal_special_float(text, &reader->pending);
    else
        return read_word(reader, text);
    if (literal.problem)
        return fail(reader, reader->at + literal.length, ERROR_SYNTAX, literal.problem);
    reader->at += literal.length;
    return true;
}

// --- the loop ------------------------------------------------------------------------------------

// Reads one token. *ret_complete: `pending` holds a whole value.
static bool read_token(struct reader *reader, bool *ret_complete)
{
    *ret_complete = false;
    char c = reader->text.data[reader->at];
    char next = reader->at + 1 < reader->text.length ? reader->text.data[reader->at + 1] : '\0';
    if (c == '[')
        return open_level(reader, vector_new(reader->region, 0), 1, ']');
    if (c == '(' && reader->is_data)
        return open_level(reader, vector_new(reader->region, 0), 1, ')');
    if (c == '{')
        return open_level(reader, map_new(reader->region), 1, '}');
    if (c == '#' && next == '{')
        return open_level(reader, set_new(reader->region), 2, '}');
    *ret_complete = true;
    if (c == ']' || c == '}' || c == ')')
        return close_level(reader, c);
    return read_scalar(reader);
}

static bool read_form(struct reader *reader)
{
    for (;;) {
        skip_space(reader);
        if (reader->at >= reader->text.length)
            return fail(reader, reader->at, ERROR_SYNTAX,
                        reader->depth ? "unexpected end, a bracket is open" : "no form");
        size_t start = reader->at;
        bool complete;
        fuel_spend(1);
        if (!read_token(reader, &complete))
            return false;
        if (!complete)
            continue;
        if (reader->depth == 0)
            break;
        if (!add_pending(reader, start))
            return false;
    }
    skip_space(reader);
    if (reader->at < reader->text.length && !reader->is_data)
        return fail(reader, reader->at, ERROR_SYNTAX, "text after the form");
    return true;
}

static void release_all(struct reader *reader)
{
    value_release(reader->region, reader->pending);
    for (size_t i = 0; i < reader->depth; i++) {
        value_release(reader->region, reader->levels[i].collection);
        if (reader->levels[i].has_key)
            value_release(reader->region, reader->levels[i].key);
    }
    if (reader->levels != reader->first)
        region_return(reader->region, reader->levels, reader->capacity * sizeof(struct level));
}

bool edn_read(struct region *region, struct span text, const struct edn_options *options,
              value *ret_value, struct error *error)
{
    struct reader reader = {.region = region, .text = text, .error = error};
    reader.max_depth = options && options->max_depth ? options->max_depth : DEFAULT_DEPTH;
    reader.digits_most = options && options->any_integer ? SIZE_MAX : LITERAL_DIGITS_MAX;
    reader.is_data = options && options->is_data;
    reader.levels = reader.first;
    reader.capacity = FIRST_LEVELS;
    size_t valid = chunks_valid_prefix(text);
    if (valid < text.length)
        return fail(&reader, valid, ERROR_ENCODING, "invalid UTF-8");
    if (setjmp(reader.guard.jump)) {
        allocation_guard_leave(&reader.guard);
        return error_set(error, ERROR_MEMORY, "not enough memory for the text");
    }
    allocation_guard_enter(&reader.guard, region);
    bool ok = read_form(&reader);
    allocation_guard_leave(&reader.guard);
    if (ok) {
        *ret_value = reader.pending;
        reader.pending = value_nil();
    }
    release_all(&reader);
    return ok;
}
