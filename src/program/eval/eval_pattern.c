// Destructuring: binding patterns to values (docs/reference/language.md 5).
#include <stdio.h>

#include "program/eval/eval.h"
#include "program/eval/generator.h"
#include "value/collection/key_lookup.h"

// The place of a failure is that of the pattern; the call evaluated last may be anywhere.
static _Noreturn void fail_pattern(struct run *run, const struct pattern *pattern,
                                   const char *message)
{
    run_raise_at(run, DESTRUCTURE_ERROR, pattern->offset, message);
}

static _Noreturn void fail_kind(struct run *run, const struct pattern *pattern, value got)
{
    char text[DESCRIBE_SIZE], message[DESCRIBE_SIZE + 64];
    snprintf(message, sizeof(message), "cannot destructure %s with a %s pattern",
             value_describe(got, text), pattern->kind == PATTERN_VECTOR ? "vector" : "map");
    fail_pattern(run, pattern, message);
}

// Rest arguments for & {map}: alternating keys and values, or a single map. Consumes the vector.
static value rest_map(struct run *run, const struct pattern *pattern, value rest)
{
    size_t count = vector_count(rest);
    if (count == 1 && value_is_map(vector_at(rest, 0))) {
        value map = value_retain(vector_at(rest, 0));
        value_release(run->region, rest);
        return map;
    }
    if (count % 2) {
        char message[80];
        snprintf(message, sizeof(message),
                 "& with a map pattern needs keys and values in pairs, got %zu", count);
        fail_pattern(run, pattern, message);
    }
    value map = map_new(run->region);
    for (size_t i = 0; i < count; i += 2)
        map = map_put(run->region, map, value_retain(vector_at(rest, i)),
                      value_retain(vector_at(rest, i + 1)));
    value_release(run->region, rest);
    return map;
}

void pattern_bind_rest(struct run *run, struct frame *frame, const struct pattern *pattern,
                       value rest)
{
    if (pattern->kind == PATTERN_MAP && rest.tag == VALUE_VECTOR)
        rest = rest_map(run, pattern, rest);
    pattern_bind_inline(run, frame, pattern, rest);
}

// A vector pattern takes as many items of a generator as it names.
static void bind_generator(struct run *run, struct frame *frame, const struct pattern *pattern,
                           value v)
{
    static const struct builtin self = {.name = "let"};
    value rest;
    if (pattern->whole)
        pattern_bind_inline(run, frame, pattern->whole, value_retain(v));
    value items = generator_take(run, &self, v, pattern->count, &rest);
    for (size_t i = 0; i < pattern->count; i++)
        pattern_bind_inline(run, frame, pattern->items[i],
                            i < vector_count(items) ? value_retain(vector_at(items, i))
                                                    : value_nil());
    value_release(run->region, items);
    if (value_is_generator(rest) && pattern->rest)
        rest = generator_seq(run, &self, rest);
    if (rest.tag == VALUE_VECTOR && vector_count(rest) == 0)
        rest = value_nil();
    if (pattern->rest)
        pattern_bind_rest(run, frame, pattern->rest, rest);
    else
        value_release(run->region, rest);
}

static void bind_vector(struct run *run, struct frame *frame, const struct pattern *pattern,
                        value v)
{
    static const struct builtin self = {.name = "let"};
    if (value_is_generator(v)) {
        bind_generator(run, frame, pattern, v);
        return;
    }
    if (v.tag != VALUE_NIL && v.tag != VALUE_VECTOR && v.tag != VALUE_STRING)
        fail_kind(run, pattern, v);
    if (pattern->whole)
        pattern_bind_inline(run, frame, pattern->whole, value_retain(v));
    value items = sequence_vector(run, &self, 1, v);
    size_t count = vector_count(items);
    for (size_t i = 0; i < pattern->count; i++)
        pattern_bind_inline(run, frame, pattern->items[i],
                            i < count ? value_retain(vector_at(items, i)) : value_nil());
    if (!pattern->rest) {
        value_release(run->region, items);
        return;
    }
    size_t start = pattern->count < count ? pattern->count : count;
    value rest = vector_slice(run->region, items, start, count);
    pattern_bind_rest(run, frame, pattern->rest,
                      start == count ? value_nil() : vector_as_seq(rest));
}

// What a key finds: an entry of a map, or by its index an item of a vector.
static bool find_entry(struct run *run, const struct pattern *pattern, value v, value key,
                       value *ret_item)
{
    if (v.tag == VALUE_MAP)
        return map_find_flexible(v, key, ret_item);
    if (v.tag == VALUE_NIL)
        return false;
    if (v.tag != VALUE_VECTOR || key.tag != VALUE_INTEGER)
        fail_kind(run, pattern, v);
    bool found = key.integer >= 0 && (uint64_t)key.integer < vector_count(v);
    if (found)
        *ret_item = vector_at(v, (size_t)key.integer);
    return found;
}

static void bind_map(struct run *run, struct frame *frame, const struct pattern *pattern, value v)
{
    if (v.tag != VALUE_NIL && v.tag != VALUE_MAP && (v.tag != VALUE_VECTOR || !pattern->count))
        fail_kind(run, pattern, v);
    for (uint32_t i = 0; i < pattern->count; i++) {
        const struct pattern_entry *entry = &pattern->entries[i];
        value item = value_nil();
        bool found = find_entry(run, pattern, v, frame->instance->constants[entry->key], &item);
        if (!found && entry->fallback)
            item = evaluate(entry->fallback, frame, run);
        else
            item = value_retain(item);
        pattern_bind_inline(run, frame, entry->pattern, item);
    }
    if (pattern->whole)
        pattern_bind_inline(run, frame, pattern->whole, value_retain(v));
    value_release(run->region, v);
}

void pattern_bind(struct run *run, struct frame *frame, const struct pattern *pattern, value v)
{
    switch ((enum pattern_kind)pattern->kind) {
    case PATTERN_SLOT: slot_store(run, frame, pattern->slot, v); break;
    case PATTERN_VECTOR: bind_vector(run, frame, pattern, v); break;
    case PATTERN_MAP: bind_map(run, frame, pattern, v); break;
    }
}

void closure_bind_parameters(struct run *run, struct frame *frame, const struct code *code)
{
    uint32_t total = code->parameter_count + code->has_rest;
    for (uint32_t i = 0; i < total; i++) {
        if (code->parameters[i]->kind == PATTERN_SLOT)
            continue;
        value v = frame->slots[i];
        frame->slots[i] = value_nil();
        if (i == code->parameter_count)
            pattern_bind_rest(run, frame, code->parameters[i], v);
        else
            pattern_bind(run, frame, code->parameters[i], v);
    }
}
