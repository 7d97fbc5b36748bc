// All builtins in one table, in the order of builtins.def, and an index of it by name.
#include <stdlib.h>

#include "base/array.h"
#include "program/builtin/builtins.h"

const struct builtin builtin_table[] = {
#define BUILTIN(name, function, least, highest, flags, signature, doc) \
    {name, function, least, highest, flags, signature, doc},
#include "program/builtin/builtins.def"
#include "program/builtin/java/java.def"
#undef BUILTIN
};

enum { COUNT = COUNT_OF(builtin_table) };
const size_t builtin_count = COUNT;

// Rows in the order of their names, sorted by the build (sort_rows.sh).
static const uint16_t by_name[COUNT] = {
#include "program/builtin/builtin_order.inc"
};

static int compare_name(const void *name, const void *row)
{
    return span_compare_text(*(const struct span *)name,
                             builtin_table[*(const uint16_t *)row].name);
}

const struct builtin *builtin_find(struct span name)
{
    const uint16_t *row = bsearch(&name, by_name, COUNT, sizeof(by_name[0]), compare_name);
    return row ? &builtin_table[*row] : NULL;
}
