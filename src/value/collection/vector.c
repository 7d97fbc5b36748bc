// Vectors: one array, shared by slices, grown in place by its only owner.
#include <string.h>

#include "base/assert.h"
#include "value/chunks.h"
#include "value/layout.h"

enum { COPY_PER_UNIT = 4, COPY_BATCH = 1024, VECTOR_MAX = UINT32_MAX / 16 };

static struct vector empty_vector = {
    .header = {.references = OBJECT_IMMORTAL, .kind = OBJECT_VECTOR}, .items = empty_vector.own};

static value vector_value(struct vector *vector, size_t count)
{
    return (value){.tag = VALUE_VECTOR, .aux = (uint32_t)count, .object = &vector->header};
}

static size_t vector_size(size_t capacity)
{
    if (capacity > VECTOR_MAX)
        return SIZE_MAX / 2;  // the region refuses it
    return sizeof(struct vector) + capacity * sizeof(value);
}

static struct vector *vector_reserve(struct region *region, size_t capacity)
{
    struct vector *vector = region_alloc(region, vector_size(capacity));
    *vector = (struct vector){.header = object_header(OBJECT_VECTOR),
                              .items = vector->own,
                              .capacity = (uint32_t)capacity};
    return vector;
}

value vector_new(struct region *region, size_t capacity)
{
    if (capacity == 0)
        return vector_value(&empty_vector, 0);
    return vector_value(vector_reserve(region, capacity), 0);
}

value vector_from(struct region *region, const value *items, size_t count)
{
    if (count == 0)
        return vector_value(&empty_vector, 0);
    struct vector *vector = vector_reserve(region, count);
    chunks_copy(vector->own, items, count * sizeof(value));
    vector->used = (uint32_t)count;
    return vector_value(vector, count);
}

size_t vector_count(value vector)
{
    return vector.aux;
}

value vector_at(value vector, size_t index)
{
    CHECK(index < vector.aux);
    return vector_of(vector)->items[index];
}

const value *vector_items(value vector)
{
    return vector_of(vector)->items;
}

// A new vector object with the elements of v and room; v is consumed.
static struct vector *copy_elements(struct region *region, value v, size_t capacity)
{
    const struct vector *old = vector_of(v);
    struct vector *vector = vector_reserve(region, capacity);
    for (size_t i = 0; i < v.aux; i++) {
        if (i % COPY_BATCH == 0)
            fuel_spend(COPY_BATCH / COPY_PER_UNIT);
        vector->own[i] = value_retain(old->items[i]);
    }
    vector->used = v.aux;
    value_release(region, v);
    return vector;
}

// Forgets the elements behind what `v`, the only owner, sees.
static void drop_hidden(struct region *region, struct vector *vector, uint32_t visible)
{
    while (vector->used > visible)
        value_release(region, vector->items[--vector->used]);
}

// Forgets the first elements; what they took is room for the front.
static void drop_front(struct region *region, struct vector *vector, size_t count)
{
    fuel_spend(count / COPY_PER_UNIT);
    for (size_t i = 0; i < count; i++)
        value_release(region, vector->items[i]);
    vector->used -= (uint32_t)count;
    vector->capacity -= (uint32_t)count;
}

static size_t grown(size_t count)
{
    return count + count / 2 + 4;
}

// Moves the elements of an unshared vector to another place of its room.
static struct vector *move_elements(struct vector *vector, size_t front)
{
    size_t room = (size_t)(vector->items - vector->own) + vector->capacity;
    fuel_spend(vector->used / COPY_PER_UNIT);
    memmove(vector->own + front, vector->items, vector->used * sizeof(value));
    vector->items = vector->own + front;
    vector->capacity = (uint32_t)(room - front);
    return vector;
}

// The vector object of v with room for one more element behind the v.aux that v sees.
static struct vector *room_behind(struct region *region, value v)
{
    struct vector *vector = (struct vector *)v.object;
    if (!vector->parent && object_is_unique(&vector->header)) {
        drop_hidden(region, vector, v.aux);
        if (vector->used < vector->capacity)
            return vector;
        size_t front = (size_t)(vector->items - vector->own);
        if (front > vector->used)
            return move_elements(vector, 0);
        size_t old = front + vector->capacity, capacity = grown(old);
        fuel_spend(vector->used / COPY_PER_UNIT);
        vector = region_resize(region, vector, vector_size(old), vector_size(capacity));
        vector->capacity = (uint32_t)(capacity - front);
        vector->items = vector->own + front;
        return vector;
    }
    return copy_elements(region, v, grown(v.aux));
}

value vector_push(struct region *region, value v, value item)
{
    struct vector *vector = room_behind(region, v);
    vector->items[vector->used++] = item;
    return vector_value(vector, vector->used);
}

// The vector object of v with room for one more element before its first one.
static struct vector *room_before(struct region *region, value v)
{
    struct vector *vector = (struct vector *)v.object;
    if (!vector->parent && object_is_unique(&vector->header)) {
        drop_hidden(region, vector, v.aux);
        if (vector->items > vector->own)
            return vector;
        if (vector->capacity / 2 > vector->used)
            return move_elements(vector, vector->capacity - vector->used);
    }
    size_t capacity = grown(v.aux);
    return move_elements(copy_elements(region, v, capacity), capacity - v.aux);
}

value vector_push_front(struct region *region, value v, value item)
{
    struct vector *vector = room_before(region, v);
    *--vector->items = item;
    vector->capacity++;
    vector->used++;
    return vector_value(vector, vector->used);
}

value vector_put(struct region *region, value v, size_t index, value item)
{
    CHECK(index < v.aux);
    struct vector *vector = (struct vector *)v.object;
    if (vector->parent || !object_is_unique(&vector->header))
        vector = copy_elements(region, v, v.aux);
    value old = vector->items[index];
    vector->items[index] = item;
    value_release(region, old);
    return vector_value(vector, v.aux);
}

value vector_slice(struct region *region, value v, size_t start, size_t end)
{
    CHECK(start <= end && end <= v.aux);
    if (start == end) {
        value_release(region, v);
        return vector_value(&empty_vector, 0);
    }
    struct vector *vector = (struct vector *)v.object;
    if (start == 0)
        return vector_value(vector, end);
    if (object_is_unique(&vector->header)) {
        if (!vector->parent)
            drop_front(region, vector, start);
        vector->items += start;
        return vector_value(vector, end - start);
    }
    struct vector *slice = region_alloc(region, sizeof(*slice));
    *slice =
        (struct vector){.header = object_header(OBJECT_VECTOR), .items = vector->items + start};
    slice->parent = vector->parent ? vector->parent : vector;
    object_retain(&slice->parent->header);
    value_release(region, v);
    return vector_value(slice, end - start);
}
