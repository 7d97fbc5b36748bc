// Reading JSON: one pass over the text, without recursion. Values of open arrays and objects wait on
// a stack, and each container is made, in its final size, when it closes.
//
// Objects find their shape key by key. Records in arrays have the same keys in the same order, so
// the reader compares the text with the key that followed last time, and scans and hashes the key
// only when they differ (read_key): a third of the instructions.
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/utf8.h"
#include "value/allocation_guard.h"
#include "value/collection/shape.h"
#include "value/fuel.h"
#include "value/region_tables.h"
#include "value/text/json.h"
#include "value/text/json_text.h"
#include "value/text/literal.h"

enum {
    DEFAULT_DEPTH = 128,
    FIRST_VALUES = 256,
    FIRST_LEVELS = 32,
    VALUES_PER_TICK = 4096,
    WIDE_KEPT = 1024,    // keys of a wide shape that is kept for the next object
    LONG_STRING = 4096,  // longer ones are left to read_string_slow(), which spends fuel
};

enum level_kind { LEVEL_ARRAY, LEVEL_RECORD, LEVEL_PAIRS };

struct level {
    enum level_kind kind;
    size_t base;                // where its values begin on the stack
    struct shape *shape;        // RECORD: the keys so far
    size_t slot;                // RECORD: where the next value goes, seen from base
    struct shape **first_hint;  // the first key of the previous object in this place
};

struct reader {
    struct region *region;
    const char *start;
    const char *end;
    struct json_options options;
    struct error *error;
    value *values;
    size_t count;
    size_t room;  // how far the stack may grow before fuel is spent or memory allocated
    size_t capacity;
    struct level *levels;
    struct level *top;  // the innermost open level; only when depth > 0
    size_t depth;
    size_t level_capacity;
    value first_values[FIRST_VALUES];
    struct level first_levels[FIRST_LEVELS];
    struct allocation_guard guard;
};

// --- errors --------------------------------------------------------------------------------------

static const char *fail_at(struct reader *reader, const char *at, enum error_code code,
                           const char *what)
{
    unsigned line, column;
    literal_position((struct span){reader->start, (size_t)(at - reader->start)}, &line, &column);
    error_set_at(reader->error, code, line, column, "%s", what);
    return NULL;
}

static const char *unexpected(struct reader *reader, const char *at, const char *wanted)
{
    char message[80];
    if (at >= reader->end)
        snprintf(message, sizeof(message), "unexpected end of text, expected %s", wanted);
    else
        snprintf(message, sizeof(message), "expected %s", wanted);
    return fail_at(reader, at, ERROR_SYNTAX, message);
}

// --- memory --------------------------------------------------------------------------------------

static void grow_values(struct reader *reader)
{
    size_t old_size = reader->capacity * sizeof(value);
    if (reader->values != reader->first_values) {
        reader->values = region_resize(reader->region, reader->values, old_size, 2 * old_size);
    } else {
        reader->values = region_alloc(reader->region, 2 * old_size);
        memcpy(reader->values, reader->first_values, old_size);
    }
    reader->capacity *= 2;
}

static void grow_levels(struct reader *reader)
{
    size_t capacity = reader->level_capacity * 2;
    struct level *levels = region_alloc(reader->region, capacity * sizeof(struct level));
    memcpy(levels, reader->levels, reader->depth * sizeof(struct level));
    if (reader->levels != reader->first_levels)
        region_return(reader->region, reader->levels,
                      reader->level_capacity * sizeof(struct level));
    reader->levels = levels;
    reader->level_capacity = capacity;
    reader->top = &levels[reader->depth - 1];
}

static __attribute__((noinline)) void make_room(struct reader *reader)
{
    fuel_spend(VALUES_PER_TICK);
    if (reader->count == reader->capacity)
        grow_values(reader);
    size_t room = reader->capacity - reader->count;
    reader->room = reader->count + (room < VALUES_PER_TICK ? room : VALUES_PER_TICK);
}

static inline void push_value(struct reader *reader, value v)
{
    if (__builtin_expect(reader->count == reader->room, 0))
        make_room(reader);
    reader->values[reader->count++] = v;
}

static void release_all(struct reader *reader)
{
    while (reader->count)
        value_release(reader->region, reader->values[--reader->count]);
    if (reader->values != reader->first_values)
        region_return(reader->region, reader->values, reader->capacity * sizeof(value));
    if (reader->levels != reader->first_levels)
        region_return(reader->region, reader->levels,
                      reader->level_capacity * sizeof(struct level));
}

// With the option `immortal`.
static value make_immortal(const struct reader *reader, value v)
{
    if (reader->options.immortal && value_is_counted(v))
        v.object->references = OBJECT_IMMORTAL;
    return v;
}

// --- scalars -------------------------------------------------------------------------------------

static const char *read_string_slow(struct reader *reader, const char *at, value *ret_value)
{
    struct json_string string;
    const char *p = json_scan_string(at, reader->end, &string);
    if (string.problem)
        return fail_at(reader, p, string.invalid_utf8 ? ERROR_ENCODING : ERROR_SYNTAX,
                       string.problem);
    struct span text = {at, string.length};
    value v;
    if (string.escaped)
        v = json_unescape(reader->region, text);
    else
        v = json_unescaped_string(reader->region, text, string.simple, reader->options.borrow);
    *ret_value = make_immortal(reader, v);
    return p;
}

// `at` is behind the opening quote.
static inline const char *read_string(struct reader *reader, const char *at, value *ret_value)
{
    const char *stop = reader->end - at > LONG_STRING ? at + LONG_STRING : reader->end;
    const char *p = json_find_special(at, stop);
    size_t length = (size_t)(p - at);
    if (p == stop || *p != '"' || !reader->options.borrow)
        return read_string_slow(reader, at, ret_value);
    *ret_value = (value){.tag = VALUE_STRING,
                         .flags = VALUE_BORROWED | VALUE_SIMPLE,
                         .aux = (uint32_t)length,
                         .text = at};
    return p + 1;
}

static const char *read_number(struct reader *reader, const char *at, value *ret_value)
{
    struct json_problem problem = {0};
    const char *p = json_read_number(reader->region, at, reader->end, ret_value, &problem);
    if (!p)
        return fail_at(reader, problem.at, problem.code, problem.text);
    *ret_value = make_immortal(reader, *ret_value);
    return p;
}

static const char *read_word(struct reader *reader, const char *at, const char *word, value v,
                             value *ret_value)
{
    size_t length = strlen(word);
    if ((size_t)(reader->end - at) < length || memcmp(at, word, length) != 0)
        return unexpected(reader, at, "a value");
    *ret_value = v;
    return at + length;
}

static const char *read_scalar(struct reader *reader, const char *p, value *ret_value)
{
    switch (*p) {
    case '"': return read_string(reader, p + 1, ret_value);
    case 't': return read_word(reader, p, "true", value_boolean(true), ret_value);
    case 'f': return read_word(reader, p, "false", value_boolean(false), ret_value);
    case 'n': return read_word(reader, p, "null", value_nil(), ret_value);
    default:
        if (*p == '-' || (unsigned char)(*p - '0') < 10)
            return read_number(reader, p, ret_value);
        return unexpected(reader, p, "a value");
    }
}

// --- objects -------------------------------------------------------------------------------------

static inline const char *skip_space(const char *p, const char *end)
{
    while (p < end && (unsigned char)*p <= ' ' &&
           (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t'))
        p++;
    return p;
}

// From slots of a shape to keys and values in turn: the object has too many keys, or keys that no
// shape knows.
static void record_to_pairs(struct reader *reader, struct level *level)
{
    size_t count = level->shape->count;
    while (reader->capacity - reader->count < count)
        grow_values(reader);
    reader->room = reader->count + count;
    value *slots = reader->values + level->base;
    for (size_t i = count; i-- > 0;) {
        slots[2 * i + 1] = slots[i];
        slots[2 * i] = value_retain(level->shape->keys[i]);
    }
    reader->count += count;
    level->kind = LEVEL_PAIRS;
}

// The region that keeps what this reader learns about shapes.
static inline struct region *learner(const struct reader *reader)
{
    struct region *shared = reader->region->attached[ATTACHED_SHARED_SHAPES];
    return shared ? shared : reader->region;
}

static inline struct shape **hint_of(const struct level *level)
{
    return level->shape == &shape_empty ? level->first_hint : &level->shape->hint;
}

static const char *add_key(struct reader *reader, const char *at, value key)
{
    struct level *level = reader->top;
    size_t slot;
    if (shape_slot(level->shape, key, &slot)) {
        value_release(reader->region, key);
        if (reader->options.reject_duplicate_names)
            return fail_at(reader, at, ERROR_INVALID, "duplicate name in an object");
        level->slot = slot;
        return at;
    }
    push_value(reader, key);  // so that it is released when there is no memory for a shape
    struct shape *next = shape_extend(reader->region, level->shape, key);
    reader->count--;
    if (next) {
        if (next->shared == learner(reader) || learner(reader) == reader->region)
            *hint_of(level) = next;  // a shared shape must not point to one of this region
        level->slot = level->shape->count;
        level->shape = next;
        value_release(reader->region, key);
        return at;
    }
    record_to_pairs(reader, level);
    push_value(reader, key);
    return at;
}

// The key behind its first 8 bytes, and the closing quote.
static bool match_rest(const struct reader *reader, const struct shape *hint, const char *p)
{
    size_t length = hint->head_length, head = sizeof(hint->head);
    struct span key = value_text(hint->keys[hint->count - 1]);
    return (size_t)(reader->end - p) > length && p[length] == '"' &&
           memcmp(p + head, key.data + head, length - head) == 0;
}

// Whether the text is the key that followed this shape last time; gives the position behind it.
static inline const char *match_hint(struct reader *reader, struct level *level, const char *p)
{
    struct shape *hint = *hint_of(level);
    uint64_t word;
    if (!hint || (size_t)(reader->end - p) < sizeof(word))
        return NULL;
    memcpy(&word, p, sizeof(word));
    if ((word & hint->head_mask) != hint->head || !hint->head_mask)
        return NULL;
    size_t length = hint->head_length;
    if (length >= sizeof(word) && !match_rest(reader, hint, p))
        return NULL;
    level->slot = level->shape->count;
    level->shape = hint;
    return p + length + 1;
}

static const char *read_key(struct reader *reader, const char *p)
{
    struct level *level = reader->top;
    if (p >= reader->end || *p != '"')
        return unexpected(reader, p, "a name in quotes");
    const char *behind = NULL;
    if (level->kind == LEVEL_RECORD)
        behind = match_hint(reader, level, p + 1);
    if (!behind) {
        value key;
        behind = read_string(reader, p + 1, &key);
        if (!behind)
            return NULL;
        if (level->kind == LEVEL_PAIRS)
            push_value(reader, key);
        else if (!add_key(reader, p, key))
            return NULL;
    }
    p = skip_space(behind, reader->end);
    if (p >= reader->end || *p != ':')
        return unexpected(reader, p, "':'");
    return p + 1;
}

// Keys and values in turn, with more keys than a narrow shape has: all different?
static bool pairs_are_distinct(const struct shape *shape)
{
    size_t slot;
    for (size_t i = 0; i < shape->count; i++) {
        fuel_spend(1);
        if (shape_slot(shape, shape->keys[i], &slot) && slot != i)
            return false;
    }
    return true;
}

// Whether the object has just these keys in this order.
static bool shape_fits(const struct reader *reader, const struct shape *shape, const value *pairs,
                       size_t count)
{
    if (!shape || shape->count != count)
        return false;
    if (reader->options.immortal && shape->header.references != OBJECT_IMMORTAL)
        return false;
    for (size_t i = 0; i < count; i++)
        if (!value_identical(shape->keys[i], pairs[2 * i]))
            return false;
    return true;
}

// A new wide shape; NULL when keys repeat.
static struct shape *make_wide_shape(struct reader *reader, const value *pairs, size_t count,
                                     value *column)
{
    struct region *region = reader->region;
    for (size_t i = 0; i < count; i++)
        column[i] = value_retain(pairs[2 * i]);
    struct shape *shape = shape_new_wide(region, column, count);
    if (!pairs_are_distinct(shape)) {
        object_release(region, &shape->header);
        return NULL;
    }
    make_immortal(reader, (value){.tag = VALUE_MAP, .object = &shape->header});
    struct region_tables *tables = region_tables_of(region);
    if (count <= WIDE_KEPT) {
        if (tables->wide)
            object_release(region, &tables->wide->header);
        tables->wide = shape;
        object_retain(&shape->header);
    }
    return shape;
}

// A record with more keys than a narrow shape has; nil when keys repeat, and then the caller still
// owns the pairs.
static value wide_record(struct reader *reader, const value *pairs, size_t count)
{
    struct region *region = reader->region;
    size_t size = count * sizeof(value);
    value *column = region_alloc(region, size);
    struct shape *shape = region_tables_of(region)->wide;
    if (shape_fits(reader, shape, pairs, count))
        object_retain(&shape->header);
    else
        shape = make_wide_shape(reader, pairs, count, column);
    value record = value_nil();
    if (shape) {
        for (size_t i = 0; i < count; i++)
            column[i] = pairs[2 * i + 1];
        record = record_new(region, shape, column);
        for (size_t i = 0; i < count; i++)
            value_release(region, pairs[2 * i]);
    }
    region_return(region, column, size);
    return record;
}

// Made immortal only afterwards, because maps with one owner are built in place.
static value map_from_pairs(struct reader *reader, const value *pairs, size_t count)
{
    value map = map_new(reader->region);
    for (size_t i = 0; i < count; i++)
        map = map_put(reader->region, map, value_retain(pairs[2 * i]),
                      value_retain(pairs[2 * i + 1]));
    for (size_t i = 0; i < 2 * count; i++)
        value_release(reader->region, pairs[i]);
    if (reader->options.immortal)
        value_make_immortal(map);
    return map;
}

static value close_pairs(struct reader *reader, const struct level *level)
{
    const value *pairs = reader->values + level->base;
    size_t count = (reader->count - level->base) / 2;
    value map = value_nil();
    if (count > SHAPE_NARROW)
        map = wide_record(reader, pairs, count);
    if (map.tag == VALUE_NIL)
        map = map_from_pairs(reader, pairs, count);
    else
        map = make_immortal(reader, map);
    return map;
}

static const char *close_level(struct reader *reader, const char *at, value *ret_value)
{
    const struct level *level = reader->top;
    const value *values = reader->values + level->base;
    size_t count = reader->count - level->base;
    switch (level->kind) {
    case LEVEL_ARRAY:
        *ret_value = make_immortal(reader, vector_from(reader->region, values, count));
        break;
    case LEVEL_RECORD:
        *ret_value = count ? make_immortal(reader, record_new(reader->region, level->shape, values))
                           : map_new(reader->region);
        break;
    case LEVEL_PAIRS:
        *ret_value = close_pairs(reader, level);
        if (reader->options.reject_duplicate_names && map_count(*ret_value) < count / 2) {
            reader->count = level->base;
            value_release(reader->region, *ret_value);
            return fail_at(reader, at, ERROR_INVALID, "duplicate name in an object");
        }
        break;
    }
    fuel_spend(1);
    reader->count = level->base;
    if (--reader->depth)
        reader->top--;
    return at;
}

// --- the loop ------------------------------------------------------------------------------------

static const char *open_level(struct reader *reader, const char *at, enum level_kind kind)
{
    if (reader->depth >= reader->options.max_depth)
        return fail_at(reader, at, ERROR_LIMIT, "nested too deeply");
    if (reader->depth == reader->level_capacity)
        grow_levels(reader);
    struct shape **first_hint = NULL;
    if (reader->depth) {
        struct level *outer = reader->top;
        first_hint = outer->kind == LEVEL_RECORD ? &outer->shape->inner_hint : outer->first_hint;
    }
    if (!first_hint && kind == LEVEL_RECORD)
        first_hint = &region_tables_of(learner(reader))->hint;
    reader->top = &reader->levels[reader->depth++];
    *reader->top = (struct level){
        .kind = kind, .base = reader->count, .shape = &shape_empty, .first_hint = first_hint};
    return at + 1;
}

static inline void store_value(struct reader *reader, value v)
{
    struct level *level = reader->top;
    if (level->kind == LEVEL_RECORD && level->base + level->slot < reader->count) {
        value *slot = &reader->values[level->base + level->slot];
        value_release(reader->region, *slot);
        *slot = v;
        return;
    }
    push_value(reader, v);
}

// Reads to the next complete value, opening arrays and objects on the way.
static const char *read_value(struct reader *reader, const char *p, value *ret_value)
{
    for (;;) {
        p = skip_space(p, reader->end);
        if (p >= reader->end)
            return unexpected(reader, p, "a value");
        if (*p != '[' && *p != '{')
            return read_scalar(reader, p, ret_value);
        bool array = *p == '[';
        p = open_level(reader, p, array ? LEVEL_ARRAY : LEVEL_RECORD);
        if (!p)
            return NULL;
        p = skip_space(p, reader->end);
        if (p < reader->end && *p == (array ? ']' : '}')) {
            if (!close_level(reader, p, ret_value))
                return NULL;
            return p + 1;
        }
        if (!array && !(p = read_key(reader, p)))
            return NULL;
    }
}

// Reads what follows a value inside a container: a comma (and a key), or closing brackets. Returns
// where the next value begins, or with *ret_done where the text must end.
static const char *read_after(struct reader *reader, const char *p, value *v, bool *ret_done)
{
    while (reader->depth) {
        store_value(reader, *v);
        *v = value_nil();  // the stack owns it now
        bool array = reader->top->kind == LEVEL_ARRAY;
        p = skip_space(p, reader->end);
        if (p < reader->end && *p == ',') {
            if (array)
                return p + 1;
            return read_key(reader, skip_space(p + 1, reader->end));
        }
        if (p >= reader->end || *p != (array ? ']' : '}'))
            return unexpected(reader, p, array ? "',' or ']'" : "',' or '}'");
        if (!close_level(reader, p, v))
            return NULL;
        p++;
    }
    *ret_done = true;
    return p;
}

static bool read_text(struct reader *reader, value *ret_value)
{
    const char *p = reader->start;
    bool done = false;
    value v = value_nil();
    while (!done) {
        p = read_value(reader, p, &v);
        if (p)
            p = read_after(reader, p, &v, &done);
        if (!p)
            return false;
    }
    p = skip_space(p, reader->end);
    if (p < reader->end) {
        value_release(reader->region, v);
        return fail_at(reader, p, ERROR_SYNTAX, "text after the value");
    }
    *ret_value = v;
    return true;
}

bool json_read(struct region *region, struct span text, const struct json_options *options,
               value *ret_value, struct error *error)
{
    struct reader reader;
    reader.region = region;
    reader.start = text.data;
    reader.end = text.data + text.length;
    reader.options = options ? *options : (struct json_options){0};
    if (!reader.options.max_depth)
        reader.options.max_depth = DEFAULT_DEPTH;
    reader.error = error;
    reader.values = reader.first_values;
    reader.capacity = FIRST_VALUES;
    reader.levels = reader.first_levels;
    reader.level_capacity = FIRST_LEVELS;
    reader.count = reader.depth = 0;
    reader.room = FIRST_VALUES;
    bool ok;
    if (setjmp(reader.guard.jump)) {
        ok = error_set(error, ERROR_MEMORY, "not enough memory for the JSON text");
    } else {
        allocation_guard_enter(&reader.guard, region);
        ok = read_text(&reader, ret_value);
    }
    allocation_guard_leave(&reader.guard);
    release_all(&reader);
    return ok;
}
