// Copying values and making them immortal: both visit an object once for each reference to it.
#include <string.h>

#include "base/assert.h"
#include "value/chunks.h"
#include "value/collection/entries.h"
#include "value/collection/table.h"
#include "value/text/text.h"
#include "value/worklist.h"

enum { FIRST_FRAMES = 16, IMMORTAL_BATCH = 1024 };

// --- copying -------------------------------------------------------------------------------------

// The state of one copy: where to, and the last shape translated, since many records in a row have
// the same.
struct copier {
    struct region *to;
    struct worklist work;
    const struct shape *from_shape;
    struct shape *to_shape;
};

// A collection being rebuilt. Its elements are copied one by one into `built`; a map's key waits in
// `key` while its item is copied. Of a record that gets a shape only the slots are copied.
struct frame {
    value source;
    value built;
    value key;
    const struct object *part;
    uint32_t index;
    bool has_key;
    bool is_record;
    bool is_node;  // a sub-node of the source: what it builds is handed to the frame below
};

static value copy_text(struct region *to, value v)
{
    struct span text = value_text(v);
    switch ((enum value_tag)v.tag) {
    case VALUE_KEYWORD: return value_keyword(to, text);
    case VALUE_SYMBOL: return value_symbol(to, text);
    case VALUE_VAR: return value_var(to, text);
    default: return value_string(to, text);
    }
}

static value copy_bytes(struct region *to, value v)
{
    size_t size = object_size(v.object);
    struct object *copy = region_alloc(to, size);
    chunks_copy(copy, v.object, size);
    copy->references = 1;
    v.object = copy;
    return v;
}

static bool has_children(value v)
{
    return v.tag == VALUE_FUNCTION && !(v.flags & VALUE_BORROWED) && foreign_of(v)->type->children;
}

static value copy_leaf(struct region *to, value v)
{
    switch ((enum value_tag)v.tag) {
    case VALUE_BIGNUM: return copy_bytes(to, v);
    case VALUE_STRING:
    case VALUE_KEYWORD:
    case VALUE_SYMBOL:
    case VALUE_VAR: return copy_text(to, v);
    case VALUE_FUNCTION:
    case VALUE_REGEX:
        if (v.flags & VALUE_BORROWED)
            return v;
        value copy = copy_bytes(to, v);
        const struct object_type *type = foreign_of(v)->type;
        if (type->copied)
            type->copied(to, copy.object, v.object);
        return copy;
    default: return v;
    }
}

static size_t foreign_children(value v, value **ret_children)
{
    size_t count;
    *ret_children = foreign_of(v)->type->children(v.object, &count);
    return count;
}

// The same keys as a shape of the other region; NULL when it has no room for more shapes.
static struct shape *translate_shape(struct copier *copier, const struct shape *from)
{
    if (from == copier->from_shape)
        return copier->to_shape;
    struct shape *to = from->order ? &shape_empty : NULL;  // wide shapes are left to map_put()
    for (size_t i = 0; i < from->count && to; i++) {
        value key = copy_text(copier->to, from->keys[i]);
        to = shape_extend(copier->to, to, key);
        value_release(copier->to, key);
    }
    copier->from_shape = from;
    copier->to_shape = to;
    return to;
}

// A record with empty slots, or nil.
static value start_record(struct copier *copier, value v)
{
    struct shape *shape = map_shape(v) ? translate_shape(copier, map_shape(v)) : NULL;
    if (!shape || shape->count == 0)
        return value_nil();
    value empty[SHAPE_NARROW] = {{0}};
    return record_new(copier->to, shape, empty);
}

static void push_copy(struct copier *copier, value v)
{
    struct region *to = copier->to;
    struct frame frame = {.source = v, .part = v.object};
    value record = v.tag == VALUE_MAP ? start_record(copier, v) : value_nil();
    if (record.tag == VALUE_MAP) {
        frame.built = record;
        frame.is_record = frame.has_key = true;
    } else if (v.tag == VALUE_VECTOR) {
        frame.built = vector_new(to, v.aux);
    } else if (v.tag == VALUE_MAP) {
        frame.built = map_new(to);
    } else if (v.tag == VALUE_SET) {
        frame.built = set_new(to);
    } else {
        frame.built = copy_bytes(to, v);
        value *children;
        size_t count = foreign_children(frame.built, &children);
        for (size_t i = 0; i < count; i++)
            children[i] = value_nil();  // what cannot be completed must still be releasable
    }
    *(struct frame *)worklist_push(&copier->work) = frame;
}

static void add_copy(struct frame *frame, struct region *to, value copy)
{
    value *children;
    switch ((enum value_tag)frame->source.tag) {
    case VALUE_VECTOR: frame->built = vector_push(to, frame->built, copy); break;
    case VALUE_SET: frame->built = set_add(to, frame->built, copy); break;
    case VALUE_MAP:
        if (frame->is_record) {
            ((struct record *)frame->built.object)->slots[frame->index] = copy;
            break;
        }
        if (!frame->has_key) {
            frame->key = copy;
            frame->has_key = true;
            return;
        }
        frame->built = map_put(to, frame->built, frame->key, copy);
        frame->has_key = false;
        break;
    default:
        foreign_children(frame->built, &children);
        children[frame->index] = copy;
        break;
    }
    frame->index++;
}

static bool next_source(const struct frame *frame, value *ret_value)
{
    if (frame->source.tag == VALUE_FUNCTION) {
        value *children;
        if (frame->index >= foreign_children(frame->source, &children))
            return false;
        *ret_value = children[frame->index];
        return true;
    }
    if (frame->index >= entries_count(frame->part, frame->source))
        return false;
    *ret_value = frame->has_key ? entries_item(frame->part, frame->index)
                                : entries_key(frame->part, frame->index);
    return true;
}

// Pushes the next sub-node, if the part on top has one.
static bool push_sub_node(struct worklist *work)
{
    struct frame *frame = worklist_top(work);
    if (frame->source.tag == VALUE_FUNCTION)
        return false;
    size_t child = frame->index - entries_count(frame->part, frame->source);
    if (child >= entries_child_count(frame->part))
        return false;
    frame->index++;
    struct frame node = {.source = frame->source,
                         .built = frame->built,
                         .part = node_children((const struct node *)frame->part)[child],
                         .is_node = true};
    *(struct frame *)worklist_push(work) = node;
    return true;
}

static value finish_copy(struct region *to, const struct frame *frame)
{
    if (frame->source.tag == VALUE_FUNCTION) {
        const struct object_type *type = foreign_of(frame->source)->type;
        if (type->copied)
            type->copied(to, frame->built.object, frame->source.object);
    }
    return frame->built;
}

// Pops the finished collection and adds it to the one below it.
static value pop_copy(struct copier *copier)
{
    struct frame *frame = worklist_top(&copier->work);
    bool is_node = frame->is_node;
    value done = is_node ? frame->built : finish_copy(copier->to, frame);
    worklist_pop(&copier->work);
    frame = worklist_top(&copier->work);
    if (frame && is_node)
        frame->built = done;
    else if (frame)
        add_copy(frame, copier->to, done);
    return done;
}

value value_copy(struct region *to, value v)
{
    if (!value_is_collection(v) && !has_children(v))
        return copy_leaf(to, v);
    struct frame first[FIRST_FRAMES];
    struct copier copier = {.to = to};
    worklist_init(&copier.work, first, sizeof(first), sizeof(struct frame));
    push_copy(&copier, v);
    value done = value_nil();
    while (copier.work.count) {
        struct frame *frame = worklist_top(&copier.work);
        value next;
        fuel_spend(1);
        if (next_source(frame, &next)) {
            if (value_is_collection(next) || has_children(next))
                push_copy(&copier, next);
            else
                add_copy(frame, to, copy_leaf(to, next));
        } else if (!push_sub_node(&copier.work)) {
            done = pop_copy(&copier);
        }
    }
    worklist_release(&copier.work);
    return done;
}

// --- immortal values -----------------------------------------------------------------------------

// Makes one object immortal; true when it was not, so that its children are still to be visited.
static bool make_object_immortal(struct object *object)
{
    if (object->references == OBJECT_IMMORTAL)
        return false;
    object->references = OBJECT_IMMORTAL;
    return true;
}

// What an object refers to.
struct list {
    value *values;
    size_t count;
    struct object **children;
    size_t child_count;
};

// What a table, or a node of one, refers to.
static struct list inside_of_table(struct object *object)
{
    switch ((enum object_kind)object->kind) {
    case OBJECT_FLAT: {
        struct flat *flat = (struct flat *)object;
        return (struct list){.values = flat->entries, .count = (size_t)flat->used * object->stride};
    }
    case OBJECT_COLLISION: {
        struct collision *collision = (struct collision *)object;
        return (struct list){.values = collision->entries,
                             .count = (size_t)collision->count * object->stride};
    }
    case OBJECT_HASH_TABLE: {
        struct hash_table *table = (struct hash_table *)object;
        return (struct list){.values = table->entries,
                             .count = (size_t)table->used * object->stride,
                             .children = &table->trie,
                             .child_count = table->trie != NULL};
    }
    case OBJECT_NODE: {
        struct node *node = (struct node *)object;
        return (struct list){.values = node->entries,
                             .count = node_entry_count(node) * object->stride,
                             .children = node_children(node),
                             .child_count = node_child_count(node)};
    }
    default: return (struct list){0};
    }
}

static struct list inside_of(struct object *object)
{
    struct list list = {0};
    switch ((enum object_kind)object->kind) {
    case OBJECT_VECTOR: {
        struct vector *vector = (struct vector *)object;
        if (vector->parent)
            return (struct list){.children = (struct object **)&vector->parent, .child_count = 1};
        return (struct list){.values = vector->items, .count = vector->used};
    }
    case OBJECT_STRING_SLICE: {
        struct string_slice *slice = (struct string_slice *)object;
        return (struct list){.children = (struct object **)&slice->parent, .child_count = 1};
    }
    case OBJECT_RECORD: {
        struct record *record = (struct record *)object;
        return (struct list){.values = record->slots,
                             .count = record->shape->count,
                             .children = (struct object **)&record->shape,
                             .child_count = 1};
    }
    case OBJECT_SHAPE: {
        struct shape *shape = (struct shape *)object;
        return (struct list){.values = shape->keys, .count = shape->count};
    }
    case OBJECT_FOREIGN:
        if (((struct foreign *)object)->type->children)
            list.values = ((struct foreign *)object)->type->children(object, &list.count);
        return list;
    default: return inside_of_table(object);
    }
}

static void push_object(struct worklist *work, struct object *object)
{
    // Narrow shapes are immortal from the start, but not their keys.
    if (make_object_immortal(object) || object->kind == OBJECT_SHAPE)
        *(struct object **)worklist_push(work) = object;
}

void value_make_immortal(value v)
{
    if (!value_is_counted(v))
        return;
    struct object *first[FIRST_FRAMES];
    struct worklist work;
    worklist_init(&work, first, sizeof(first), sizeof(struct object *));
    push_object(&work, v.object);
    while (work.count) {
        struct object *object = *(struct object **)worklist_top(&work);
        worklist_pop(&work);
        struct list list = inside_of(object);
        fuel_spend(1);
        for (size_t i = 0; i < list.count; i++) {
            if (i % IMMORTAL_BATCH == IMMORTAL_BATCH - 1)
                fuel_spend(IMMORTAL_BATCH);
            if (value_is_counted(list.values[i]))
                push_object(&work, list.values[i].object);
        }
        for (size_t i = 0; i < list.child_count; i++)
            push_object(&work, list.children[i]);
    }
    worklist_release(&work);
}
