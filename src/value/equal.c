// Equality of programs and key identity, without recursion on the C stack.
#include <math.h>
#include <string.h>

#include "value/chunks.h"
#include "value/collection/entries.h"
#include "value/collection/hash_table.h"
#include "value/collection/table.h"
#include "value/number/number.h"
#include "value/worklist.h"

enum { FIRST_FRAMES = 16 };

static bool text_equal(value a, value b)
{
    if (a.aux != b.aux)
        return false;
    if (a.pointer == b.pointer)
        return true;
    return chunks_compare(value_text(a).data, value_text(b).data, a.aux) == 0;
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
    case VALUE_NIL: return true;
    case VALUE_BOOLEAN: return a.boolean == b.boolean;
    case VALUE_INTEGER: return a.integer == b.integer;
    case VALUE_FLOAT: return a.number == b.number || (strict && isnan(a.number) && isnan(b.number));
    case VALUE_BIGNUM: return number_compare(a, b) == VALUE_SAME;
    case VALUE_STRING:
    case VALUE_KEYWORD:
    case VALUE_SYMBOL:
    case VALUE_VAR: return text_equal(a, b);
    default: return foreign_equal(a, b);
    }
}

enum answer { DIFFERENT, EQUAL, UNDECIDED };

static enum answer compare_outside(value a, value b, bool strict)
{
    if (a.tag != b.tag) {
        if (!value_is_number(a) || !value_is_number(b))
            return DIFFERENT;
        return number_compare(a, b) == VALUE_SAME ? EQUAL : DIFFERENT;
    }
    if (!value_is_collection(a))
        return scalar_equal(a, b, strict) ? EQUAL : DIFFERENT;
    if (a.aux != b.aux)
        return DIFFERENT;
    // NaN is not equal to itself, so equal pointers prove identity, not equality.
    if (a.aux == 0 || (strict && a.object == b.object))
        return EQUAL;
    return UNDECIDED;
}

// A part of `a` (the whole, or a node of its trie) whose entries are searched in `b`.
struct frame {
    value a;
    value b;
    const struct object *part;
    uint32_t index;
    bool strict;
};

static void push_part(struct worklist *work, value a, value b, const struct object *part,
                      bool strict)
{
    struct frame *frame = worklist_push(work);
    *frame = (struct frame){.a = a, .b = b, .part = part, .strict = strict};
}

static bool check(struct worklist *work, value a, value b, bool strict)
{
    enum answer answer = compare_outside(a, b, strict);
    if (answer == UNDECIDED)
        push_part(work, a, b, a.object, strict);
    return answer != DIFFERENT;
}

static bool next_entry(struct map_cursor *cursor, value *ret_key, value *ret_item)
{
    fuel_spend(1);
    if (cursor->map.tag == VALUE_MAP)
        return map_next(cursor, ret_key, ret_item);
    bool more = set_next(cursor, ret_key);
    *ret_item = value_nil();
    return more;
}

// Counts the keys of `b` that have the kind and size of this collection, and returns one of them.
static size_t count_candidates(value b, value key, value *ret_key, value *ret_item)
{
    struct map_cursor cursor = map_iterate(b);
    value candidate, item;
    size_t count = 0;
    while (next_entry(&cursor, &candidate, &item)) {
        if (candidate.tag == key.tag && candidate.aux == key.aux) {
            *ret_key = candidate;
            *ret_item = item;
            count++;
        }
    }
    return count;
}

// The same in a hash table: only entries with the key's hash are candidates.
static bool find_in_hash_table(value b, value key, value *ret_key, value *ret_item)
{
    uint64_t hash = value_hash(key);
    struct hash_table_probe probe = hash_table_probe((const struct hash_table *)b.object, key);
    struct table_entry entry;
    bool found = false;
    while (hash_table_probe_next(&probe, &entry)) {
        if (entry.key.tag != key.tag || entry.key.aux != key.aux || value_hash(entry.key) != hash)
            continue;
        if (found && value_identical(*ret_key, key))
            return true;
        *ret_key = entry.key;
        *ret_item = entry.item;
        found = true;
    }
    return found;
}

// A key that is a collection is not compared here, for that would recurse on the C stack. It is
// found by its hash (when there is a choice), and the caller compares it with the key found.
static bool find_collection(value b, value key, value *ret_key, value *ret_item)
{
    uint64_t hash;
    if (b.object->kind == OBJECT_HASH_TABLE)
        return find_in_hash_table(b, key, ret_key, ret_item);
    if (b.object->kind == OBJECT_NODE) {
        hash = value_hash(key);
        const struct object *last;
        const value *entry = trie_at(b.object, hash, &last);
        if (last->kind == OBJECT_NODE) {
            if (entry) {
                *ret_key = entry[0];
                *ret_item = b.tag == VALUE_MAP ? entry[1] : value_nil();
            }
            return entry;
        }
    } else {
        size_t candidates = count_candidates(b, key, ret_key, ret_item);
        if (candidates < 2)
            return candidates;
        hash = value_hash(key);
    }
    struct map_cursor cursor = map_iterate(b);
    value candidate, item;
    bool found = false;
    while (next_entry(&cursor, &candidate, &item)) {
        if (candidate.tag != key.tag || candidate.aux != key.aux || value_hash(candidate) != hash)
            continue;
        // Only two keys with one 64-bit hash need a comparison.
        if (found && value_identical(*ret_key, key))
            return true;
        *ret_key = candidate;
        *ret_item = item;
        found = true;
    }
    return found;
}

// Where a key of `a` must be in `b`.
static bool find_entry(value b, value key, value *ret_key, value *ret_item)
{
    if (value_is_collection(key))
        return find_collection(b, key, ret_key, ret_item);
    if (b.tag == VALUE_MAP)
        return map_find_entry(b, key, ret_key, ret_item);
    struct table_entry entry;
    bool found = table_find(b.object, key, &entry);
    if (found)
        *ret_key = entry.key;
    return found;
}

static bool check_entry(struct worklist *work, const struct frame *frame)
{
    value key = entries_key(frame->part, frame->index);
    if (frame->a.tag == VALUE_VECTOR)
        return check(work, key, vector_items(frame->b)[frame->index], frame->strict);
    value other_key, other_item;
    value b = frame->b;
    bool strict = frame->strict;
    value item = frame->a.tag == VALUE_MAP ? entries_item(frame->part, frame->index) : value_nil();
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

// Not inlined: its large stack frame would slow down the comparison of scalars.
static __attribute__((noinline)) bool compare_inside(value a, value b, bool strict)
{
    struct frame first[FIRST_FRAMES];
    struct worklist work;
    worklist_init(&work, first, sizeof(first), sizeof(struct frame));
    push_part(&work, a, b, a.object, strict);
    bool equal = true;
    while (equal && work.count) {
        struct frame *top = worklist_top(&work);
        struct frame frame = *top;
        size_t count = entries_count(frame.part, frame.a);
        fuel_spend(1);
        top->index++;
        if (frame.index < count) {
            equal = check_entry(&work, &frame);
        } else if (frame.index - count < entries_child_count(frame.part)) {
            const struct object *child =
                node_children((const struct node *)frame.part)[frame.index - count];
            push_part(&work, frame.a, frame.b, child, frame.strict);
        } else {
            worklist_pop(&work);
        }
    }
    worklist_release(&work);
    return equal;
}

bool value_equal(value a, value b)
{
    enum answer answer = compare_outside(a, b, false);
    return answer == UNDECIDED ? compare_inside(a, b, false) : answer == EQUAL;
}

bool value_identical(value a, value b)
{
    if (a.tag == VALUE_INTEGER && b.tag == VALUE_INTEGER)
        return a.integer == b.integer;
    enum answer answer = compare_outside(a, b, true);
    return answer == UNDECIDED ? compare_inside(a, b, true) : answer == EQUAL;
}
