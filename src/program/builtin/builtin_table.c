// All builtins in one table, found by a perfect hash that the build computes (generate_hash.c).
#include <string.h>

#include "base/array.h"
#include "program/builtin/builtin_hash_function.h"
#include "program/builtin/builtins.h"
#include "program/builtin_hash.h"

const struct builtin builtin_table[] = {
#define BUILTIN(name, function, least, highest, flags, signature, doc) \
    {name, function, least, highest, flags, signature, doc},
#include "program/builtin/builtins.def"
#undef BUILTIN
};

const size_t builtin_count = COUNT_OF(builtin_table);

const struct builtin *builtin_find(struct span name)
{
    uint32_t bucket = builtin_hash(name.data, name.length, 0) % BUILTIN_BUCKETS;
    uint32_t place = builtin_hash(name.data, name.length, builtin_seeds[bucket]) % BUILTIN_PLACES;
    uint16_t index = builtin_places[place];
    if (index == BUILTIN_NO_PLACE || !span_equal_text(name, builtin_table[index].name))
        return NULL;
    return &builtin_table[index];
}
