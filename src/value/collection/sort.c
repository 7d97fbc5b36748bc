#include "value/collection/sort.h"

#include <string.h>

#include "value/chunks.h"
#include "value/layout.h"

enum { INSERTION_RUN = 8 };

struct sort {
    size_t stride;
    sort_compare_fn *compare;
    void *data;
};

static void insertion_sort(const struct sort *sort, value *entries, size_t count)
{
    size_t stride = sort->stride;
    value held[2];
    for (size_t i = 1; i < count; i++) {
        value *entry = entries + i * stride;
        size_t place = i;
        while (place > 0 && sort->compare(sort->data, entries + (place - 1) * stride, entry) > 0)
            place--;
        if (place == i)
            continue;
        memcpy(held, entry, stride * sizeof(value));
        memmove(entries + (place + 1) * stride, entries + place * stride,
                (i - place) * stride * sizeof(value));
        memcpy(entries + place * stride, held, stride * sizeof(value));
    }
}

// Merges two sorted neighbours from `from` into `to`.
static void merge(const struct sort *sort, const value *from, size_t left, size_t total, value *to)
{
    size_t stride = sort->stride, entry_size = stride * sizeof(value);
    const value *a = from, *a_end = from + left * stride;
    const value *b = a_end, *b_end = from + total * stride;
    while (a < a_end && b < b_end) {
        const value **taken = sort->compare(sort->data, a, b) <= 0 ? &a : &b;
        memcpy(to, *taken, entry_size);
        *taken += stride;
        to += stride;
    }
    chunks_copy(to, a, (size_t)(a_end - a) * sizeof(value));
    to += a_end - a;
    chunks_copy(to, b, (size_t)(b_end - b) * sizeof(value));
}

void sort_entries(value *entries, size_t count, size_t stride, value *scratch,
                  sort_compare_fn *compare, void *data)
{
    const struct sort sort = {stride, compare, data};
    for (size_t start = 0; start < count; start += INSERTION_RUN) {
        size_t left = count - start;
        insertion_sort(&sort, entries + start * stride,
                       left < INSERTION_RUN ? left : INSERTION_RUN);
        fuel_spend(INSERTION_RUN);
    }
    value *from = entries, *to = scratch;
    for (size_t run = INSERTION_RUN; run < count; run *= 2) {
        for (size_t start = 0; start < count; start += 2 * run) {
            size_t total = count - start < 2 * run ? count - start : 2 * run;
            size_t left = total < run ? total : run;
            merge(&sort, from + start * stride, left, total, to + start * stride);
            fuel_spend(total);
        }
        value *swapped = from;
        from = to;
        to = swapped;
    }
    if (from != entries)
        chunks_copy(entries, from, count * stride * sizeof(value));
}

static int compare_keys(void *data, const value *a, const value *b)
{
    (void)data;
    fuel_spend(1);
    return value_compare_keys(*a, *b);
}

value vector_sort_keys(struct region *region, value vector)
{
    size_t count = vector_count(vector);
    if (count < 2)
        return vector;
    vector =
        vector_put(region, vector, 0, value_retain(vector_at(vector, 0)));  // now its only owner
    size_t scratch_size = count * sizeof(value);
    value *scratch = region_alloc(region, scratch_size);
    sort_entries(((struct vector *)vector.object)->items, count, 1, scratch, compare_keys, NULL);
    region_return(region, scratch, scratch_size);
    return vector;
}
