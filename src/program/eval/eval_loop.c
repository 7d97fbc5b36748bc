// Evaluating loop, recur, for, doseq and patterns.
#include <stdio.h>

#include "program/eval/eval.h"
#include "value/collection/key_lookup.h"
#include "value/text/text.h"

static void bind_rest(struct run *run, struct frame *frame, const struct pattern *pattern,
                      value rest);

// --- loop, recur ---------------------------------------------------------------------------------

value eval_loop(const struct expression *expression, struct frame *frame, struct run *run)
{
    PART(loop, loop);
    for (uint32_t i = 0; i < loop->count; i++)
        pattern_bind_fast(run, frame, loop->steps[i].pattern,
                          evaluate(loop->steps[i].value, frame, run));
    return rounds_run(loop->body, frame, run, 0);
}

// Every pattern is a slot: the new values are computed, then stored.
value eval_recur_plain(const struct expression *expression, struct frame *frame, struct run *run)
{
    PART(recur, recur);
    value few[RECUR_PLAIN_MAX];
    spend_call(run);
    for (uint32_t i = 0; i < recur->count; i++)
        few[i] = evaluate_quick(recur->items[i], frame, run);
    run->site = expression;
    for (uint32_t i = 0; i < recur->count; i++)
        slot_store(run, frame, recur->patterns[i]->slot, few[i]);
    return value_recur();
}

value eval_recur(const struct expression *expression, struct frame *frame, struct run *run)
{
    PART(recur, recur);
    spend_call(run);
    value values = vector_new(run->region, recur->count);
    for (uint32_t i = 0; i < recur->count; i++)
        values = vector_push(run->region, values, evaluate(recur->items[i], frame, run));
    run->site = expression;
    if (recur->count != recur->wanted)
        run_raise(run, ARITY_MISMATCH, "recur", "recur: expected %u value%s, got %u",
                  (unsigned)recur->wanted, recur->wanted == 1 ? "" : "s", (unsigned)recur->count);
    for (uint32_t i = 0; i < recur->count; i++) {
        value v = value_retain(vector_at(values, i));
        if (recur->has_rest && i + 1 == recur->count)
            bind_rest(run, frame, recur->patterns[i], v);
        else
            pattern_bind_fast(run, frame, recur->patterns[i], v);
    }
    value_release(run->region, values);
    run->site = expression;
    return value_recur();
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
            bind_rest(run, frame, code->parameters[i], v);
        else
            pattern_bind(run, frame, code->parameters[i], v);
    }
}

// --- for, doseq ----------------------------------------------------------------------------------

struct comprehension {
    const struct expression_for *loop;
    struct frame *frame;
    struct run *run;
    value result;  // vector, or nil for doseq
};

enum progress { GO_ON, STOP_BINDING };

static enum progress run_clauses(struct comprehension *comprehension, uint32_t index);

static void run_each(struct comprehension *comprehension, uint32_t index)
{
    const struct clause *clause = &comprehension->loop->clauses[index];
    struct run *run = comprehension->run;
    struct builtin self = {.name = comprehension->loop->base.flag ? "for" : "doseq"};
    value collection = evaluate(clause->value, comprehension->frame, run);
    struct sequence items;
    run->site = clause->value;
    sequence_start(run, &self, 1, &items, collection);
    value item;
    while (sequence_next(&items, &item)) {
        pattern_bind_fast(run, comprehension->frame, clause->pattern, item);
        if (run_clauses(comprehension, index + 1) == STOP_BINDING)
            break;
    }
    sequence_end(&items);
}

// The clauses from `index` to the end, and the body. :while stops the binding just before it.
static enum progress run_clauses(struct comprehension *comprehension, uint32_t index)
{
    const struct expression_for *loop = comprehension->loop;
    struct run *run = comprehension->run;
    struct frame *frame = comprehension->frame;
    for (; index < loop->count; index++) {
        const struct clause *clause = &loop->clauses[index];
        switch ((enum clause_kind)clause->kind) {
        case CLAUSE_EACH: run_each(comprehension, index); return GO_ON;
        case CLAUSE_LET:
            for (uint32_t i = 0; i < clause->count; i++)
                pattern_bind_fast(run, frame, clause->steps[i].pattern,
                                  evaluate(clause->steps[i].value, frame, run));
            break;
        case CLAUSE_WHEN:
            if (!evaluate_test(clause->value, frame, run))
                return GO_ON;
            break;
        case CLAUSE_WHILE:
            if (!evaluate_test(clause->value, frame, run))
                return STOP_BINDING;
            break;
        }
    }
    value v = evaluate(loop->body, frame, run);
    if (loop->base.flag)
        comprehension->result = vector_push(run->region, comprehension->result, v);
    else
        value_release(run->region, v);
    return GO_ON;
}

value eval_for(const struct expression *expression, struct frame *frame, struct run *run)
{
    PART(for, loop);
    struct comprehension comprehension = {
        .loop = loop,
        .frame = frame,
        .run = run,
        .result = expression->flag ? vector_new(run->region, 0) : value_nil(),
    };
    run_clauses(&comprehension, 0);
    return comprehension.result;
}

// --- patterns ------------------------------------------------------------------------------------

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

static void bind_rest(struct run *run, struct frame *frame, const struct pattern *pattern,
                      value rest)
{
    if (pattern->kind == PATTERN_MAP && rest.tag == VALUE_VECTOR)
        rest = rest_map(run, pattern, rest);
    pattern_bind_fast(run, frame, pattern, rest);
}

static void bind_vector(struct run *run, struct frame *frame, const struct pattern *pattern,
                        value v)
{
    if (v.tag != VALUE_NIL && v.tag != VALUE_VECTOR && v.tag != VALUE_STRING)
        fail_kind(run, pattern, v);
    static const struct builtin self = {.name = "let"};
    if (pattern->whole)
        pattern_bind_fast(run, frame, pattern->whole, value_retain(v));
    value items = sequence_vector(run, &self, 1, v);
    size_t count = vector_count(items);
    for (size_t i = 0; i < pattern->count; i++)
        pattern_bind_fast(run, frame, pattern->items[i],
                          i < count ? value_retain(vector_at(items, i)) : value_nil());
    if (!pattern->rest) {
        value_release(run->region, items);
        return;
    }
    size_t start = pattern->count < count ? pattern->count : count;
    bind_rest(run, frame, pattern->rest, vector_slice(run->region, items, start, count));
}

static void bind_map(struct run *run, struct frame *frame, const struct pattern *pattern, value v)
{
    if (v.tag != VALUE_NIL && v.tag != VALUE_MAP)
        fail_kind(run, pattern, v);
    for (uint32_t i = 0; i < pattern->count; i++) {
        const struct pattern_entry *entry = &pattern->entries[i];
        value item = value_nil();
        bool found = v.tag == VALUE_MAP &&
                     map_find_flexible(v, frame->instance->constants[entry->key], &item);
        if (!found && entry->fallback)
            item = evaluate(entry->fallback, frame, run);
        else
            item = value_retain(item);
        pattern_bind_fast(run, frame, entry->pattern, item);
    }
    if (pattern->whole)
        pattern_bind_fast(run, frame, pattern->whole, value_retain(v));
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
