#include "signature/fields.h"

#include <stdint.h>
#include <stdlib.h>

static const char *const kind_words[SIGNATURE_KIND_COUNT] = {
    [SIGNATURE_STRING] = "string",   [SIGNATURE_INT] = "int",
    [SIGNATURE_FLOAT] = "float",     [SIGNATURE_BOOL] = "bool",
    [SIGNATURE_KEYWORD] = "keyword", [SIGNATURE_ANY] = "any",
    [SIGNATURE_MAP] = "map",         [SIGNATURE_LIST] = "list",
    [SIGNATURE_RECORD] = "map",      [SIGNATURE_ENUM] = "enum",
    [SIGNATURE_UNION] = "or",        [SIGNATURE_DATETIME] = "datetime",
};

const char *signature_kind_word(enum signature_kind kind)
{
    return kind_words[kind];
}

bool field_name_is_valid(struct span name)
{
    if (name.length == 0 || !field_name_starts_with(name.data[0]))
        return false;
    for (size_t i = 1; i < name.length; i++) {
        if (!field_name_has(name.data[i]))
            return false;
    }
    return true;
}

static int name_compare(struct span a, struct span b)
{
    size_t shorter = a.length < b.length ? a.length : b.length;
    for (size_t i = 0; i < shorter; i++) {
        unsigned char x = (unsigned char)(a.data[i] == '-' ? '_' : a.data[i]);
        unsigned char y = (unsigned char)(b.data[i] == '-' ? '_' : b.data[i]);
        if (x != y)
            return x < y ? -1 : 1;
    }
    return a.length == b.length ? 0 : a.length < b.length ? -1 : 1;
}

struct field_node *field_list_add(struct field_list *list, struct arena *arena, struct span name)
{
    struct field_node *node = arena_alloc_zero(arena, sizeof(*node));
    char *copy = node ? arena_copy_text(arena, name) : NULL;
    if (!copy)
        return NULL;
    node->field.name = (struct span){copy, name.length};
    if (list->last)
        list->last->next = node;
    else
        list->first = node;
    list->last = node;
    list->count++;
    return node;
}

// Equal names stay in declaration order, so that the later one is the duplicate.
static int compare_indices(const void *a, const void *b, void *data)
{
    const struct signature_field *items = data;
    size_t left = *(const size_t *)a;
    size_t right = *(const size_t *)b;
    int order = name_compare(items[left].name, items[right].name);
    return order != 0 ? order : (left > right) - (left < right);
}

// The index of the later of two equal names, or SIZE_MAX.
static size_t find_duplicate(const struct signature_fields *fields)
{
    for (size_t i = 1; i < fields->count; i++) {
        size_t index = fields->by_name[i];
        if (name_compare(fields->items[fields->by_name[i - 1]].name, fields->items[index].name) ==
            0)
            return index;
    }
    return SIZE_MAX;
}

bool field_list_finish(const struct field_list *list, struct arena *arena,
                       struct signature_fields *ret_fields, struct field_node **ret_duplicate)
{
    size_t count = list->count;
    *ret_duplicate = NULL;
    *ret_fields = (struct signature_fields){0};
    if (count == 0)
        return true;
    struct signature_field *items = arena_alloc(arena, count * sizeof(*items));
    size_t *by_name = arena_alloc(arena, count * sizeof(*by_name));
    if (!items || !by_name)
        return false;
    size_t next = 0;
    for (struct field_node *node = list->first; node; node = node->next) {
        items[next] = node->field;
        by_name[next] = next;
        next++;
    }
    qsort_r(by_name, count, sizeof(*by_name), compare_indices, items);
    struct signature_fields fields = {.items = items, .by_name = by_name, .count = count};
    size_t duplicate = find_duplicate(&fields);
    if (duplicate == SIZE_MAX) {
        *ret_fields = fields;
        return true;
    }
    struct field_node *node = list->first;
    for (; node && duplicate > 0; duplicate--)
        node = node->next;
    *ret_duplicate = node;
    return false;
}

size_t signature_fields_find(const struct signature_fields *fields, struct span name)
{
    size_t low = 0;
    size_t high = fields->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        size_t index = fields->by_name[middle];
        int order = name_compare(name, fields->items[index].name);
        if (order == 0)
            return index;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return SIZE_MAX;
}
