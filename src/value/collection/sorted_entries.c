#include "value/collection/sorted_entries.h"

#include "value/collection/entries.h"
#include "value/collection/sort.h"
#include "value/fuel.h"

static size_t stride_of(value v)
{
    return v.tag == VALUE_MAP ? 2 : 1;
}

static int compare_entries(void *data, const value *a, const value *b)
{
    (void)data;
    fuel_spend(1);
    return value_compare_keys(*a, *b);
}

static size_t entries_size(value v)
{
    return 2 * (size_t)v.aux * stride_of(v) * sizeof(value);
}

static value *sorted_copy(const struct worklist *work, value v)
{
    size_t stride = stride_of(v);
    value *entries = worklist_alloc(work, entries_size(v));
    struct map_cursor cursor = map_iterate(v);
    fuel_spend(v.aux);
    for (size_t i = 0; i < v.aux; i++) {
        if (v.tag == VALUE_MAP)
            map_next(&cursor, &entries[i * 2], &entries[i * 2 + 1]);
        else
            set_next(&cursor, &entries[i]);
    }
    sort_entries(entries, v.aux, stride, entries + v.aux * stride, compare_entries, NULL);
    return entries;
}

void sorted_entries_start(struct sorted_entries *sorted, const struct worklist *work, value v)
{
    *sorted = (struct sorted_entries){.v = v};
    if (v.tag == VALUE_VECTOR || v.aux == 0)
        return;
    const struct shape *shape = v.tag == VALUE_MAP ? map_shape(v) : NULL;
    if (shape && shape->order)
        sorted->order = shape->order;
    else
        sorted->entries = sorted_copy(work, v);
}

void sorted_entries_start_inserted(struct sorted_entries *sorted, const struct worklist *work,
                                   value v)
{
    if (v.tag == VALUE_MAP && v.object->kind != OBJECT_NODE)
        *sorted = (struct sorted_entries){.v = v};
    else
        sorted_entries_start(sorted, work, v);
}

bool sorted_entries_next(struct sorted_entries *sorted)
{
    if (sorted->index >= sorted->v.aux)
        return false;
    uint32_t index = sorted->index++;
    if (sorted->entries) {
        size_t stride = stride_of(sorted->v);
        sorted->key = sorted->entries[index * stride];
        sorted->item = sorted->entries[index * stride + stride - 1];
    } else {
        size_t place = sorted->order ? sorted->order[index] : index;
        sorted->key = entries_key(sorted->v.object, place);
        if (sorted->v.tag == VALUE_MAP)
            sorted->item = entries_item(sorted->v.object, place);
    }
    return true;
}

void sorted_entries_end(struct sorted_entries *sorted, const struct worklist *work)
{
    if (sorted->entries)
        worklist_return(work, sorted->entries, entries_size(sorted->v));
}
