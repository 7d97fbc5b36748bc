#include "signature/fields.h"

#include <stdint.h>
#include <stdlib.h>

static const char *const kind_words[SIGNATURE_KIND_COUNT] = {
    [SIGNATURE_STRING] = "string", [SIGNATURE_INT] = "int",         [SIGNATURE_FLOAT] = "float",
    [SIGNATURE_BOOL] = "bool",     [SIGNATURE_KEYWORD] = "keyword", [SIGNATURE_ANY] = "any",
    [SIGNATURE_MAP] = "map",       [SIGNATURE_LIST] = "list",       [SIGNATURE_RECORD] = "map",
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
    node->index = list->count++;
    return node;
}

// Equal names stay in declaration order, so that the later one is the duplicate.
static int compare_nodes(const void *a, const void *b)
{
    const struct field_node *left = *(const struct field_node *const *)a;
    const struct field_node *right = *(const struct field_node *const *)b;
    int order = name_compare(left->field.name, right->field.name);
    if (order != 0)
        return order;
    return left->index < right->index ? -1 : left->index > right->index;
}

static struct field_node *find_duplicate(struct field_node *const *sorted, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        if (name_compare(sorted[i - 1]->field.name, sorted[i]->field.name) == 0)
            return sorted[i];
    }
    return NULL;
}

bool field_list_finish(const struct field_list *list, struct arena *arena,
                       struct signature_fields *ret_fields, struct field_node **ret_duplicate)
{
    size_t count = list->count;
    *ret_duplicate = NULL;
    if (count == 0) {
        *ret_fields = (struct signature_fields){0};
        return true;
    }
    struct signature_field *items = arena_alloc(arena, count * sizeof(*items));
    size_t *by_name = arena_alloc(arena, count * sizeof(*by_name));
    struct field_node **sorted = arena_alloc(arena, count * sizeof(*sorted));
    if (!items || !by_name || !sorted)
        return false;

    for (struct field_node *node = list->first; node; node = node->next) {
        items[node->index] = node->field;
        sorted[node->index] = node;
    }
    qsort(sorted, count, sizeof(*sorted), compare_nodes);
    *ret_duplicate = find_duplicate(sorted, count);
    if (*ret_duplicate)
        return false;
    for (size_t i = 0; i < count; i++)
        by_name[i] = sorted[i]->index;
    *ret_fields = (struct signature_fields){.items = items, .by_name = by_name, .count = count};
    return true;
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
