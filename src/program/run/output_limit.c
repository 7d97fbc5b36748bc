#include "program/run/output_limit.h"

#include <stdio.h>

#include "program/eval/eval.h"
#include "program/run/run_state.h"
#include "value/collection/entries.h"
#include "value/fuel.h"
#include "value/number/bignum.h"
#include "value/text/json.h"
#include "value/worklist.h"

enum {
    FIRST_FRAMES = 8,
    FLOAT_BYTES = 8,
    FOREIGN_BYTES = 12,
    PORTION = 1024,
    LONG_NUMBER = 10000,
    SMALL = 128
};

// A part of a collection (value/collection/entries.h) and how much of it was counted.
struct measured {
    value v;
    const struct object *part;
    size_t entry;
    size_t child;
};

struct measure {
    struct worklist work;
    size_t size;
    size_t most;
    bool has_long_number;
};

static size_t integer_bytes(int64_t number)
{
    uint64_t bits = number < 0 ? -(uint64_t)number : (uint64_t)number;
    unsigned width = 64 - (unsigned)__builtin_clzll(bits | 1);
    return (size_t)(width * 77 >> 8) + 1 + (number < 0);  // 77/256: log10 of 2
}

static size_t foreign_bytes(value v)
{
    // Two returns: gcc 14.2 reads the length in `12 + (is_closure ? length : 0)` also when it is false.
    if (!value_is_foreign(v, &closure_type))
        return FOREIGN_BYTES;
    return FOREIGN_BYTES + ((const struct closure *)v.object)->code->source.length;
}

static size_t scalar_bytes(value v)
{
    switch ((enum value_tag)v.tag) {
    case VALUE_NIL: return 3;
    case VALUE_BOOLEAN: return 4;
    case VALUE_INTEGER: return integer_bytes(v.integer);
    case VALUE_FLOAT: return FLOAT_BYTES;
    case VALUE_BIGNUM: return integer_text_size(v);
    case VALUE_STRING:
    case VALUE_KEYWORD:
    case VALUE_SYMBOL:
    case VALUE_VAR:
    case VALUE_REGEX: return value_text(v).length + 2;
    default: return foreign_bytes(v);
    }
}

static void push_part(struct measure *measure, value v, const struct object *part)
{
    struct measured *top = worklist_push(&measure->work);
    *top = (struct measured){.v = v, .part = part};
}

static void count_scalar(struct measure *measure, value v)
{
    size_t size = scalar_bytes(v);
    measure->size += size;
    if (v.tag == VALUE_BIGNUM && size > LONG_NUMBER)
        measure->has_long_number = true;
}

// Counts a value and what separates it from the next one.
static void count_value(struct measure *measure, value v)
{
    measure->size++;
    if (!value_is_collection(v)) {
        count_scalar(measure, v);
        return;
    }
    measure->size += 2;
    if (v.aux)
        push_part(measure, v, v.object);
}

// Elements of a vector up to the first collection: the usual case, without a test of each part's kind.
static size_t count_elements(struct measure *measure, const value *items, size_t count)
{
    size_t size = 0, i = 0;
    for (; i < count && !value_is_collection(items[i]); i++) {
        if (items[i].tag == VALUE_INTEGER)
            size += integer_bytes(items[i].integer);
        else
            count_scalar(measure, items[i]);
    }
    measure->size += size + i;
    return i;
}

// Counts the part on top until it is done or a nested one was pushed.
static void count_part(struct measure *measure)
{
    size_t depth = measure->work.count;
    struct measured *top = worklist_top(&measure->work);
    value v = top->v;
    const struct object *part = top->part;
    size_t entries = entries_count(part, v), first = top->entry, entry = first;
    size_t end = entries - first < PORTION ? entries : first + PORTION;
    if (v.tag == VALUE_VECTOR)
        entry += count_elements(measure, vector_items(v) + first, end - first);
    while (entry < end && measure->work.count == depth) {
        size_t at = entry++;
        if (v.tag == VALUE_MAP) {
            count_value(measure, entries_key(part, at));
            count_value(measure, entries_item(part, at));
        } else {
            count_value(measure, entries_key(part, at));
        }
    }
    fuel_spend(1 + (entry - first) / 4);
    top = (struct measured *)measure->work.frames + depth - 1;
    top->entry = entry;
    if (entry < entries || measure->work.count > depth)
        return;
    if (top->child < entries_child_count(part))
        push_part(measure, v, node_children((const struct node *)part)[top->child++]);
    else
        worklist_pop(&measure->work);
}

static struct measure measure_text(value v, size_t most)
{
    struct measured first[FIRST_FRAMES];
    struct measure measure = {.most = most};
    worklist_init(&measure.work, first, sizeof(first), sizeof(struct measured));
    count_value(&measure, v);
    while (measure.work.count && measure.size <= measure.most)
        count_part(&measure);
    worklist_release(&measure.work);
    return measure;
}

size_t output_limit_size(value v, size_t most)
{
    return measure_text(v, most).size;
}

// A run may always return its inputs, however small max_memory is.
static size_t inputs_size(const struct run *run)
{
    const struct run_state *state = run->state;
    size_t size = state->program->source.length + output_limit_size(state->context, SIZE_MAX) +
                  output_limit_size(state->input_memory, SIZE_MAX);
    for (size_t i = 0; i < 3; i++)
        size += output_limit_size(state->history[i], SIZE_MAX);
    return size;
}

// The limit of a text that is longer than max_memory.
static size_t most_with_inputs(struct run *run)
{
    struct run_state *state = run->state;
    if (!state->text_most) {
        size_t inputs = inputs_size(run), most = run->limits.max_memory;
        state->text_most = inputs < SIZE_MAX - most ? most + inputs : SIZE_MAX;
    }
    return state->text_most;
}

// Written inside the run, where the deadline applies.
static void write_for_trial(struct run *run, value v)
{
    struct buffer *text = &run->state->scratch;
    buffer_release(text);  // left by a branch of pmap that ran out of time
    buffer_init(text, BUFFER_DEFAULT_LIMIT);
    json_write(text, v, 0, NULL);
    buffer_release(text);
}

size_t output_limit_check(struct run *run, value v, const char *what)
{
    size_t most = run->limits.max_memory;
    struct measure measure = measure_text(v, most);
    if (measure.size > most) {
        most = most_with_inputs(run);
        measure = measure_text(v, most);
    }
    if (measure.size <= most) {
        if (measure.has_long_number)
            write_for_trial(run, v);
        return measure.size;
    }
    char message[80];
    snprintf(message, sizeof(message), "the text of %s exceeded %zu bytes", what,
             run->limits.max_memory);
    run->site = NULL;
    run_raise_limit(run, MEMORY_EXCEEDED, NULL, "max_memory", (int64_t)run->limits.max_memory,
                    message);
}

bool output_limit_reserve(struct run *run, size_t size)
{
    if (size <= SMALL)
        return true;  // not more than the entry itself
    size_t *reserved = &run->state->ledger_text;
    size_t most = run->limits.max_memory;
    if (*reserved > most || size > most - *reserved)
        most = most_with_inputs(run);
    if (size > most - *reserved)
        return false;
    *reserved += size;
    return true;
}
