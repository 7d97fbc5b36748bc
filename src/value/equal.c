#include <math.h>
#include <string.h>

#include "value/number.h"
#include "value/part.h"
#include "value/table.h"
#include "value/tick.h"
#include "value/work.h"

enum { FIRST_FRAMES = 16, BYTES_PER_UNIT = 64 };

static bool text_equal(value a, value b)
{
    if (a.aux != b.aux)
        return false;
    if (a.pointer == b.pointer)
        return true;
    tick_spend(a.aux / BYTES_PER_UNIT);
    return span_equal(value_text(a), value_text(b));
}

static bool foreign_equal(value a, value b)
{
    if (a.pointer == b.pointer)
        return true;
    if (a.tag != VALUE_REGEX)
        return false;
    return span_equal(value_text(a), value_text(b));
}

// Values of one tag that are not collections. Strict: key identity.
static bool scalar_equal(value a, value b, bool strict)
{
    switch ((enum value_tag)a.tag) {
    case VALUE_NIL:
        return true;
    case VALUE_BOOLEAN:
        return a.boolean == b.boolean;
    case VALUE_INTEGER:
        return a.integer == b.integer;
    case VALUE_FLOAT:
        return a.number == b.number || (strict && isnan(a.number) && isnan(b.number));
    case VALUE_BIGNUM:
        return number_compare(a, b) == VALUE_SAME;
    case VALUE_STRING:
    case VALUE_KEYWORD:
    case VALUE_SYMBOL:
    case VALUE_VAR:
        return text_equal(a, b);
    default:
        return foreign_equal(a, b);
    }
}

enum answer { DIFFERENT, EQUAL, LOOK_INSIDE };

static enum answer compare_outside(value a, value b, bool strict)
{
    if (a.tag != b.tag) {
        if (strict || !value_is_number(a) || !value_is_number(b))
            return DIFFERENT;
        return number_compare(a, b) == VALUE_SAME ? EQUAL : DIFFERENT;
    }
    if (!value_is_collection(a))
        return scalar_equal(a, b, strict) ? EQUAL : DIFFERENT;
    if (a.aux != b.aux)
        return DIFFERENT;
    // NaN is not equal to itself, so that only identity may be told from the pointers.
    if (a.aux == 0 || (strict && a.object == b.object))
        return EQUAL;
    return LOOK_INSIDE;
}

// A part of `a` (the whole, or a node of its trie) whose entries are looked for in `b`.
struct frame {
    value a;
    value b;
    const struct object *part;
    uint32_t index;
    bool strict;
};

static void push_part(struct work *work, value a, value b, const struct object *part, bool strict)
{
    struct frame *frame = work_push(work);
    *frame = (struct frame){.a = a, .b = b, .part = part, .strict = strict};
}

static bool check(struct work *work, value a, value b, bool strict)
{
    enum answer answer = compare_outside(a, b, strict);
    if (answer == LOOK_INSIDE)
        push_part(work, a, b, a.object, strict);
    return answer != DIFFERENT;
}

// Where a key of `a` must be in `b`. A key that is a collection is not compared here (that would
// recurse on the C stack) but found by its hash; the caller compares it.
static bool find_entry(value b, value key, value *ret_key, value *ret_item)
{
    if (!value_is_collection(key)) {
        if (b.tag == VALUE_MAP)
            return map_find_entry(b, key, ret_key, ret_item);
        const value *entry = table_find(b.object, key);
        if (entry)
            *ret_key = *entry;
        return entry;
    }
    bool single = b.aux == 1;
    uint64_t hash = single ? 0 : value_hash(key);
    struct map_cursor cursor = map_iterate(b);
    bool found = false;
    for (;;) {
        value candidate, item = value_nil();
        bool more = b.tag == VALUE_MAP ? map_next(&cursor, &candidate, &item)
                                       : set_next(&cursor, &candidate);
        if (!more)
            return found;
        tick_spend(1);
        if (candidate.tag != key.tag || candidate.aux != key.aux)
            continue;
        if (!single && value_hash(candidate) != hash)
            continue;
        // Two candidates with one hash of 64 bits: only then is a comparison needed to choose.
        if (found && value_identical(*ret_key, key))
            return true;
        *ret_key = candidate;
        *ret_item = item;
        found = true;
    }
}

static bool check_entry(struct work *work, const struct frame *frame)
{
    value key = part_key(frame->part, frame->index);
    if (frame->a.tag == VALUE_VECTOR)
        return check(work, key, vector_items(frame->b)[frame->index], frame->strict);
    value other_key, other_item;
    value b = frame->b;
    bool strict = frame->strict;
    value item = frame->a.tag == VALUE_MAP ? part_item(frame->part, frame->index) : value_nil();
    bool is_map = frame->a.tag == VALUE_MAP;
    if (is_map && frame->part->kind == OBJECT_RECORD && b.object->kind == OBJECT_RECORD &&
        record_of(b)->shape == ((const struct record *)frame->part)->shape)
        return check(work, item, record_of(b)->slots[frame->index], strict);
    if (!find_entry(b, key, &other_key, &other_item))
        return false;
    if (value_is_collection(key) && !check(work, key, other_key, true))
        return false;
    return !is_map || check(work, item, other_item, strict);
}

static bool compare(value a, value b, bool strict)
{
    enum answer answer = compare_outside(a, b, strict);
    if (answer != LOOK_INSIDE)
        return answer == EQUAL;
    struct frame first[FIRST_FRAMES];
    struct work work;
    work_init(&work, first, sizeof(first), sizeof(struct frame));
    push_part(&work, a, b, a.object, strict);
    bool equal = true;
    while (equal && work.count) {
        struct frame *top = work_top(&work);
        struct frame frame = *top;
        size_t count = part_count(frame.part, frame.a);
        tick_spend(1);
        top->index++;
        if (frame.index < count) {
            equal = check_entry(&work, &frame);
        } else if (frame.index - count < part_children(frame.part)) {
            const struct object *child =
                node_children((const struct node *)frame.part)[frame.index - count];
            push_part(&work, frame.a, frame.b, child, frame.strict);
        } else {
            work_pop(&work);
        }
    }
    work_release(&work);
    return equal;
}

bool value_equal(value a, value b)
{
    return compare(a, b, false);
}

bool value_identical(value a, value b)
{
    if (a.tag != b.tag)
        return false;
    return compare(a, b, true);
}
