#include "program/builtin/key_index.h"

#include <string.h>

#include "program/builtin/support.h"

enum { FIRST_SLOTS = 16 };  // filled to three quarters at most

static size_t hash_room(size_t slot_count)
{
    return slot_count / 4 * 3;
}

void key_index_start(struct run *run, struct key_index *ret_index)
{
    *ret_index = (struct key_index){.run = run, .keys = vector_new(run->region, 0)};
}

static void place(struct key_index *index, size_t number)
{
    size_t slot = index->hashes[number] & (index->slot_count - 1);
    while (index->slots[slot] != 0)
        slot = (slot + 1) & (index->slot_count - 1);
    index->slots[slot] = (uint32_t)number + 1;
}

static void release_table(struct key_index *index)
{
    if (index->slot_count == 0)
        return;
    struct region *region = index->run->region;
    region_return(region, index->slots, index->slot_count * sizeof(uint32_t));
    region_return(region, index->hashes, hash_room(index->slot_count) * sizeof(uint64_t));
}

static void grow(struct key_index *index)
{
    struct region *region = index->run->region;
    size_t count = vector_count(index->keys);
    struct key_index larger = *index;
    larger.slot_count = index->slot_count == 0 ? FIRST_SLOTS : 2 * index->slot_count;
    larger.slots = region_alloc_zero(region, larger.slot_count * sizeof(uint32_t));
    larger.hashes = region_alloc(region, hash_room(larger.slot_count) * sizeof(uint64_t));
    if (count > 0)
        memcpy(larger.hashes, index->hashes, count * sizeof(uint64_t));
    release_table(index);
    *index = larger;
    for (size_t i = 0; i < count; i++)
        place(index, i);
    run_spend(index->run, count / 4);
}

size_t key_index_number(struct key_index *index, value key, bool *ret_is_new)
{
    uint64_t hash = value_hash(key);
    size_t count = vector_count(index->keys), mask = index->slot_count - 1;
    const value *keys = vector_items(index->keys);
    for (size_t slot = hash & mask; index->slot_count > 0 && index->slots[slot] != 0;
         slot = (slot + 1) & mask) {
        size_t number = index->slots[slot] - 1;
        if (index->hashes[number] == hash && value_identical(keys[number], key)) {
            value_release(index->run->region, key);
            *ret_is_new = false;
            return number;
        }
    }
    if (count == hash_room(index->slot_count))
        grow(index);
    vector_add(index->run, &index->keys, key);
    index->hashes[count] = hash;
    place(index, count);
    *ret_is_new = true;
    return count;
}

value key_index_end(struct key_index *index)
{
    release_table(index);
    return index->keys;
}
