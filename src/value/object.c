#include "value/object.h"

#include "base/assert.h"
#include "value/collection/hash_table.h"
#include "value/fuel.h"
#include "value/region_tables.h"

enum { RELEASE_BATCH = 1024 };  // values released per check of the fuel

// --- the list of dead objects, linked through 48 bits of their headers ---------------------------

static void push_dead(struct region *region, struct object *object)
{
    uintptr_t link = (uintptr_t)region->attached[ATTACHED_DEAD];
    CHECK(link >> 48 == 0);
    object->references = (uint32_t)link;
    object->link_high = (uint16_t)(link >> 32);
    region->attached[ATTACHED_DEAD] = object;
}

static struct object *pop_dead(struct region *region)
{
    struct object *object = region->attached[ATTACHED_DEAD];
    if (object) {
        uintptr_t link = (uintptr_t)object->link_high << 32 | object->references;
        region->attached[ATTACHED_DEAD] = (void *)link;
    }
    return object;
}

// --- sizes ---------------------------------------------------------------------------------------

static size_t node_size(const struct node *node)
{
    size_t entries = (size_t)bits_count(node->entry_map) * node->header.stride;
    size_t children = bits_count(node->child_map);
    return sizeof(*node) + entries * sizeof(value) + children * sizeof(struct object *);
}

static size_t shape_size(const struct shape *shape)
{
    size_t size = sizeof(*shape) + shape->count * sizeof(value);
    if (shape->index_mask)
        size +=
            shape->count * sizeof(uint64_t) + ((size_t)shape->index_mask + 1) * sizeof(uint32_t);
    return size + (shape->order ? shape->count : 0);
}

size_t object_size(const struct object *object)
{
    switch ((enum object_kind)object->kind) {
    case OBJECT_BIGNUM: {
        const struct bignum *bignum = (const struct bignum *)object;
        return sizeof(*bignum) + bignum->capacity * sizeof(mp_limb_t);
    }
    case OBJECT_STRING: return sizeof(struct string) + ((const struct string *)object)->capacity;
    case OBJECT_STRING_SLICE: return sizeof(struct string_slice);
    case OBJECT_KEYWORD: return sizeof(struct keyword) + ((const struct keyword *)object)->length;
    case OBJECT_VECTOR: {
        const struct vector *vector = (const struct vector *)object;
        size_t front = vector->parent ? 0 : (size_t)(vector->items - vector->own);
        return sizeof(*vector) + (front + vector->capacity) * sizeof(value);
    }
    case OBJECT_RECORD: {
        const struct record *record = (const struct record *)object;
        return sizeof(*record) + record->shape->count * sizeof(value);
    }
    case OBJECT_FLAT: {
        const struct flat *flat = (const struct flat *)object;
        return sizeof(*flat) + (size_t)flat->capacity * object->stride * sizeof(value);
    }
    case OBJECT_HASH_TABLE: {
        const struct hash_table *table = (const struct hash_table *)object;
        return sizeof(*table) + (size_t)table->capacity * object->stride * sizeof(value);
    }
    case OBJECT_NODE: return node_size((const struct node *)object);
    case OBJECT_COLLISION: {
        const struct collision *collision = (const struct collision *)object;
        return sizeof(*collision) + (size_t)collision->count * object->stride * sizeof(value);
    }
    case OBJECT_SHAPE: return shape_size((const struct shape *)object);
    case OBJECT_FOREIGN: return ((const struct foreign *)object)->type->size(object);
    }
    UNREACHABLE();
}

// --- taking apart --------------------------------------------------------------------------------

static void release_values(struct region *region, value *values, size_t count)
{
    while (count > 0) {
        size_t batch = count < RELEASE_BATCH ? count : RELEASE_BATCH;
        fuel_spend(batch);
        for (size_t i = 0; i < batch; i++)
            value_release(region, values[i]);
        values += batch;
        count -= batch;
    }
}

static void release_vector(struct region *region, struct vector *vector)
{
    if (vector->parent)
        object_release(region, &vector->parent->header);
    else
        release_values(region, vector->items, vector->used);
}

static void release_node(struct region *region, struct node *node)
{
    size_t entries = (size_t)bits_count(node->entry_map) * node->header.stride;
    struct object **children = (struct object **)(node->entries + entries);
    release_values(region, node->entries, entries);
    for (uint32_t i = 0; i < bits_count(node->child_map); i++)
        object_release(region, children[i]);
}

static void release_foreign(struct region *region, struct object *object)
{
    const struct object_type *type = ((struct foreign *)object)->type;
    if (type->children) {
        size_t count;
        value *children = type->children(object, &count);
        release_values(region, children, count);
    }
    if (type->destroy)
        type->destroy(region, object);
}

// Releases what the object refers to. Children that die are pushed to the list of dead objects.
static void release_children(struct region *region, struct object *object)
{
    switch ((enum object_kind)object->kind) {
    case OBJECT_STRING_SLICE:
        object_release(region, &((struct string_slice *)object)->parent->header);
        break;
    case OBJECT_VECTOR: release_vector(region, (struct vector *)object); break;
    case OBJECT_RECORD: {
        struct record *record = (struct record *)object;
        release_values(region, record->slots, record->shape->count);
        break;
    }
    case OBJECT_FLAT: {
        struct flat *flat = (struct flat *)object;
        release_values(region, flat->entries, (size_t)flat->used * object->stride);
        break;
    }
    case OBJECT_HASH_TABLE: {
        struct hash_table *table = (struct hash_table *)object;
        if (table->has_objects)
            release_values(region, table->entries, (size_t)table->used * object->stride);
        hash_table_release(region, table);
        break;
    }
    case OBJECT_NODE: release_node(region, (struct node *)object); break;
    case OBJECT_COLLISION: {
        struct collision *collision = (struct collision *)object;
        release_values(region, collision->entries, (size_t)collision->count * object->stride);
        break;
    }
    case OBJECT_SHAPE: {
        struct shape *shape = (struct shape *)object;
        release_values(region, shape->keys, shape->count);
        break;
    }
    case OBJECT_FOREIGN: release_foreign(region, object); break;
    case OBJECT_BIGNUM:
    case OBJECT_STRING: break;
    case OBJECT_KEYWORD: keyword_forget(region, (struct keyword *)object); break;
    }
}

static void dismantle(struct region *region, struct object *object)
{
    release_children(region, object);
    size_t size = object_size(object);
    struct shape *shape = NULL;
    if (object->kind == OBJECT_RECORD)
        shape = ((struct record *)object)->shape;
    region_return(region, object, size);
    if (shape)
        object_release(region, &shape->header);
}

void object_free(struct region *region, struct object *object)
{
    if (object->kind <= OBJECT_STRING) {
        region_return(region, object, object_size(object));
        return;
    }
    push_dead(region, object);
    if (region->attached[ATTACHED_FREEING])
        return;
    region->attached[ATTACHED_FREEING] = region;
    while ((object = pop_dead(region))) {
        dismantle(region, object);
        fuel_spend(1);
    }
    region->attached[ATTACHED_FREEING] = NULL;
}
