// Run by the build: writes builtin_hash.h, a perfect hash over the names of all builtins. Names fall
// into buckets; for each bucket, the fullest first, a seed is searched that sends its names to places
// that are still free.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "program/builtin/builtin_hash_function.h"

static const char *const names[] = {
#define BUILTIN(name, function, least, highest, flags, signature, doc) name,
#include "program/builtin/builtins.def"
#undef BUILTIN
};

enum {
    COUNT = sizeof(names) / sizeof(names[0]),
    BUCKETS = COUNT / 3 + 1,
    PLACES = COUNT + COUNT / 8 + 1,
    NO_PLACE = 65535,
    MOST_SEEDS = 60000,
};

static unsigned short places[PLACES];
static unsigned short seeds[BUCKETS];
static unsigned sizes[BUCKETS];
static unsigned order[BUCKETS];

static unsigned bucket_of(const char *name)
{
    return builtin_hash(name, strlen(name), 0) % BUCKETS;
}

static int by_size(const void *a, const void *b)
{
    unsigned x = sizes[*(const unsigned *)a], y = sizes[*(const unsigned *)b];
    return x < y ? 1 : x > y ? -1 : 0;
}

// Places all names of a bucket with this seed, or none.
static int try_seed(unsigned bucket, unsigned seed)
{
    unsigned taken[COUNT], count = 0;
    for (unsigned i = 0; i < COUNT; i++) {
        if (bucket_of(names[i]) != bucket)
            continue;
        unsigned place = builtin_hash(names[i], strlen(names[i]), seed) % PLACES;
        if (places[place] != NO_PLACE) {
            while (count > 0)
                places[taken[--count]] = NO_PLACE;
            return 0;
        }
        places[place] = (unsigned short)i;
        taken[count++] = place;
    }
    return 1;
}

static void write_table(const char *type, const char *name, const unsigned short *table,
                        unsigned count)
{
    printf("static const %s %s[] = {", type, name);
    for (unsigned i = 0; i < count; i++)
        printf("%s%u,", i % 16 ? " " : "\n    ", (unsigned)table[i]);
    printf("\n};\n");
}

int main(void)
{
    for (unsigned i = 0; i < PLACES; i++)
        places[i] = NO_PLACE;
    for (unsigned i = 0; i < COUNT; i++) {
        for (unsigned j = 0; j < i; j++) {
            if (strcmp(names[i], names[j]) == 0) {
                fprintf(stderr, "builtin %s is defined twice\n", names[i]);
                return EXIT_FAILURE;
            }
        }
        sizes[bucket_of(names[i])]++;
    }
    for (unsigned i = 0; i < BUCKETS; i++)
        order[i] = i;
    qsort(order, BUCKETS, sizeof(order[0]), by_size);
    for (unsigned i = 0; i < BUCKETS; i++) {
        unsigned seed = 1;
        while (seed < MOST_SEEDS && !try_seed(order[i], seed))
            seed++;
        if (seed == MOST_SEEDS) {
            fprintf(stderr, "no perfect hash found\n");
            return EXIT_FAILURE;
        }
        seeds[order[i]] = (unsigned short)seed;
    }
    printf("// Made by generate_hash.c.\n#pragma once\n\n#include <stdint.h>\n\n");
    printf("enum { BUILTIN_BUCKETS = %u, BUILTIN_PLACES = %u, BUILTIN_NO_PLACE = %u };\n\n",
           (unsigned)BUCKETS, (unsigned)PLACES, (unsigned)NO_PLACE);
    write_table("uint16_t", "builtin_seeds", seeds, BUCKETS);
    write_table("uint16_t", "builtin_places", places, PLACES);
    return EXIT_SUCCESS;
}
