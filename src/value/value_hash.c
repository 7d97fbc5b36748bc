#include "value/value_hash.h"

#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "value/chunks.h"
#include "value/collection/entries.h"
#include "value/worklist.h"

enum { FIRST_FRAMES = 16 };

uint64_t hash_mask = UINT64_MAX;

static uint64_t known_seed;

static inline uint64_t seed(void)
{
    uint64_t drawn = __atomic_load_n(&known_seed, __ATOMIC_RELAXED);
    if (__builtin_expect(drawn == 0, 0)) {
        drawn = hash_seed();
        __atomic_store_n(&known_seed, drawn, __ATOMIC_RELAXED);
    }
    return drawn;
}

static inline uint64_t mix(enum value_tag tag, uint64_t payload)
{
    return hash_u64(payload, seed() + tag);
}

uint64_t hash_name(enum value_tag tag, struct span name)
{
    return chunks_hash(name, seed() + tag) & hash_mask;
}

static uint64_t hash_limbs(const mp_limb_t *limbs, size_t count, bool is_negative)
{
    struct span bytes = {(const char *)limbs, count * sizeof(*limbs)};
    return chunks_hash(bytes, seed() + VALUE_BIGNUM + is_negative);
}

// A float beyond 64 bits, as the integer that it is.
static uint64_t hash_large_float(double number)
{
    enum { LIMB_BITS = 64, MANTISSA_BITS = 53, LIMBS_MAX = 1024 / LIMB_BITS + 1 };
    mp_limb_t limbs[LIMBS_MAX] = {0};
    int exponent;
    uint64_t mantissa = (uint64_t)ldexp(frexp(fabs(number), &exponent), MANTISSA_BITS);
    size_t shift = (size_t)(exponent - MANTISSA_BITS), low = shift / LIMB_BITS;
    limbs[low] = mantissa << shift % LIMB_BITS;
    if (shift % LIMB_BITS)
        limbs[low + 1] = mantissa >> (LIMB_BITS - shift % LIMB_BITS);
    return hash_limbs(limbs, low + (limbs[low + 1] ? 2 : 1), number < 0);
}

static uint64_t hash_float(double number)
{
    uint64_t bits;
    int64_t whole;
    if (float_is_whole(number, &whole))
        return mix(VALUE_INTEGER, (uint64_t)whole);
    if (isfinite(number) && fabs(number) >= 0x1p63)
        return hash_large_float(number);
    if (isnan(number))
        number = (double)NAN;
    memcpy(&bits, &number, sizeof(bits));
    return mix(VALUE_FLOAT, bits);
}

static uint64_t hash_foreign(value v)
{
    if (v.tag == VALUE_REGEX)
        return hash_name(VALUE_REGEX, value_text(v));
    return mix(v.tag, (uintptr_t)v.pointer);
}

static uint64_t hash_scalar(value v)
{
    switch ((enum value_tag)v.tag) {
    case VALUE_BOOLEAN: return mix(VALUE_BOOLEAN, v.boolean);
    case VALUE_INTEGER: return mix(VALUE_INTEGER, (uint64_t)v.integer);
    case VALUE_FLOAT: return hash_float(v.number);
    case VALUE_BIGNUM: {
        const struct bignum *bignum = bignum_of(v);
        size_t limbs = (size_t)(bignum->size < 0 ? -bignum->size : bignum->size);
        return hash_limbs(bignum->limbs, limbs, bignum->size < 0);
    }
    case VALUE_KEYWORD:
        if (!(v.flags & VALUE_BORROWED))
            return keyword_of(v)->hash;
        return hash_name(VALUE_KEYWORD, value_text(v));
    case VALUE_STRING:
    case VALUE_SYMBOL:
    case VALUE_VAR: return hash_name(v.tag, value_text(v));
    case VALUE_FUNCTION:
    case VALUE_REGEX: return hash_foreign(v);
    default: return mix(VALUE_NIL, 0);
    }
}

// A collection, or one node of it, on its way to a hash. Vectors chain the hashes of their
// elements; maps and sets add up those of their entries, so that order does not matter.
struct frame {
    value v;
    const struct object *part;
    uint64_t sum;
    uint64_t key_hash;
    uint32_t index;
    bool has_key;  // key_hash is the hash of the key of entry `index`
    bool is_node;  // a sub-node: its sum is added to that of its parent
};

static void push_part(struct worklist *work, value v, const struct object *part, bool is_node)
{
    struct frame *frame = worklist_push(work);
    *frame = (struct frame){.v = v, .part = part, .is_node = is_node};
}

static void add_hash(struct frame *frame, uint64_t hash)
{
    if (frame->v.tag == VALUE_VECTOR) {
        frame->sum = hash_u64(hash, frame->sum + 1);
        frame->index++;
    } else if (frame->v.tag == VALUE_SET) {
        frame->sum += mix(VALUE_SET, hash);
        frame->index++;
    } else if (!frame->has_key) {
        frame->key_hash = hash;
        frame->has_key = true;
    } else {
        frame->sum += hash_u64(hash, frame->key_hash);
        frame->has_key = false;
        frame->index++;
    }
}

// The next value of the part to be hashed; false: there is none left (or a sub-node was pushed).
static bool next_value(struct worklist *work, struct frame *frame, value *ret_value)
{
    size_t count = entries_count(frame->part, frame->v);
    if (frame->index < count) {
        *ret_value = frame->has_key ? entries_item(frame->part, frame->index)
                                    : entries_key(frame->part, frame->index);
        return true;
    }
    size_t child = frame->index - count;
    if (child < entries_child_count(frame->part)) {
        frame->index++;
        push_part(work, frame->v, node_children((const struct node *)frame->part)[child], true);
    }
    return false;
}

static __attribute__((noinline)) uint64_t hash_collection(value v)
{
    struct frame first[FIRST_FRAMES];
    struct worklist work;
    worklist_init(&work, first, sizeof(first), sizeof(struct frame));
    push_part(&work, v, v.object, false);
    uint64_t hash = 0;
    while (work.count) {
        struct frame *frame = worklist_top(&work);
        size_t depth = work.count;
        value next;
        fuel_spend(1);
        if (next_value(&work, frame, &next)) {
            if (value_is_collection(next))
                push_part(&work, next, next.object, false);
            else
                add_hash(frame, hash_scalar(next));
            continue;
        }
        if (work.count > depth)
            continue;
        hash = frame->sum;
        bool is_node = frame->is_node;
        if (!is_node)
            hash = hash_u64(hash + frame->v.aux, seed() + frame->v.tag);
        worklist_pop(&work);
        frame = worklist_top(&work);
        if (frame && is_node)
            frame->sum += hash;
        else if (frame)
            add_hash(frame, hash);
    }
    worklist_release(&work);
    return hash;
}

uint64_t value_hash(value v)
{
    if (v.tag == VALUE_INTEGER)
        return mix(VALUE_INTEGER, (uint64_t)v.integer) & hash_mask;
    uint64_t hash = value_is_collection(v) ? hash_collection(v) : hash_scalar(v);
    return hash & hash_mask;
}
