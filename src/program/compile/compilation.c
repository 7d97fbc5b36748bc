#include "program/compile/compilation.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/utf8.h"
#include "program/builtin/builtin.h"

static const struct {
    const char *name;
    const char *signature;
    const char *doc;
} specials[SPECIAL_COUNT] = {
#define SPECIAL(name, symbol, signature, doc) [SPECIAL_##symbol] = {name, signature, doc},
#include "program/compile/specials.def"
#undef SPECIAL
};

const char *special_name(enum special special)
{
    return specials[special].name;
}

const char *special_signature(enum special special)
{
    return specials[special].signature;
}

const char *special_doc(enum special special)
{
    return specials[special].doc;
}

void source_position(struct span source, size_t offset, unsigned *ret_line, unsigned *ret_column)
{
    unsigned line = 1;
    size_t line_start = 0;
    if (offset > source.length)
        offset = source.length;
    for (size_t i = 0; i < offset; i++) {
        if (source.data[i] == '\n') {
            line++;
            line_start = i + 1;
        }
    }
    size_t column = 1;
    for (size_t i = line_start; i < offset; i++)
        column += ((unsigned char)source.data[i] & 0xC0) != 0x80;
    *ret_line = line;
    *ret_column = (unsigned)column;
}

static void diagnostic_set(struct compilation *compilation, enum failure_kind kind, uint32_t offset,
                           const char *op)
{
    struct diagnostic *diagnostic = compilation->diagnostic;
    diagnostic->kind = kind;
    diagnostic->offset = offset;
    snprintf(diagnostic->op, sizeof(diagnostic->op), "%s", op ? op : "");
}

void compilation_fail(struct compilation *compilation, enum failure_kind kind, uint32_t offset,
                      const char *op, const char *format, ...)
{
    diagnostic_set(compilation, kind, offset, op);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(compilation->diagnostic->message, DIAGNOSTIC_MESSAGE_SIZE, format, arguments);
    va_end(arguments);
    __builtin_longjmp(compilation->exit, 1);
}

void compilation_fail_limit(struct compilation *compilation, enum failure_kind kind,
                            uint32_t offset, const char *option, size_t limit, const char *message)
{
    diagnostic_set(compilation, kind, offset, NULL);
    compilation->diagnostic->limit_option = option;
    compilation->diagnostic->limit_value = (int64_t)limit;
    snprintf(compilation->diagnostic->message, DIAGNOSTIC_MESSAGE_SIZE, "%s: %s %zu (option %s)",
             failure_kind_name(kind), message, limit, option);
    __builtin_longjmp(compilation->exit, 1);
}

void *compilation_alloc(struct compilation *compilation, size_t size)
{
    void *memory = arena_alloc_zero(compilation->arena, size);
    if (!memory)
        compilation_fail_limit(compilation, MEMORY_EXCEEDED, 0, "max_memory",
                               compilation->limits->max_memory,
                               "compiling the program needs more bytes than");
    return memory;
}

struct region *compilation_scratch(struct compilation *compilation)
{
    if (!compilation->scratch)
        compilation->scratch = region_new(compilation->limits->max_memory);
    return compilation->scratch;
}

void pointer_list_push(struct compilation *compilation, struct pointer_list *list, void *item)
{
    if (list->count == list->capacity) {
        size_t capacity = list->capacity ? list->capacity * 2 : 4;
        void **grown = compilation_alloc(compilation, capacity * sizeof(*grown));
        if (list->count)
            memcpy(grown, list->items, list->count * sizeof(*grown));
        list->items = grown;
        list->capacity = capacity;
    }
    list->items[list->count++] = item;
}

// --- symbols -------------------------------------------------------------------------------------

// Rows of specials.def in the order of their names, sorted by the build (sort_rows.sh).
static const uint8_t specials_by_name[] = {
#include "program/compile/special_order.inc"
};

static int compare_special(const void *name, const void *row)
{
    const char *other = specials[SPECIAL_NONE + 1 + *(const uint8_t *)row].name;
    return span_compare_text(*(const struct span *)name, other);
}

static enum special special_find(struct span name)
{
    const uint8_t *row = bsearch(&name, specials_by_name, COUNT_OF(specials_by_name),
                                 sizeof(specials_by_name[0]), compare_special);
    return row ? (enum special)(SPECIAL_NONE + 1 + *row) : SPECIAL_NONE;
}

static void table_grow(struct compilation *compilation, struct symbol_table *table)
{
    size_t capacity = table->capacity ? table->capacity * 4 : 64;
    struct symbol **slots = compilation_alloc(compilation, capacity * sizeof(void *));
    for (size_t i = 0; i < table->capacity; i++) {
        if (!table->slots[i])
            continue;
        size_t at = table->slots[i]->hash & (capacity - 1);
        while (slots[at])
            at = (at + 1) & (capacity - 1);
        slots[at] = table->slots[i];
    }
    table->slots = slots;
    table->capacity = capacity;
}

static void count_symbol(struct compilation *compilation, uint32_t offset)
{
    if (++compilation->symbols.counted > compilation->limits->max_symbols)
        compilation_fail_limit(compilation, SYMBOL_LIMIT, offset, "max_symbols",
                               compilation->limits->max_symbols,
                               "the program has more distinct names than");
}

// The slot of a name: where it is, or where it belongs.
static struct symbol **table_slot(struct compilation *compilation, struct span name, uint64_t hash)
{
    struct symbol_table *table = &compilation->symbols;
    if ((table->count + 1) * 2 > table->capacity)
        table_grow(compilation, table);
    size_t at = hash & (table->capacity - 1);
    while (table->slots[at] &&
           (table->slots[at]->hash != hash || !span_equal(table->slots[at]->name, name)))
        at = (at + 1) & (table->capacity - 1);
    return &table->slots[at];
}

struct symbol *symbol_intern(struct compilation *compilation, struct span name, uint32_t offset)
{
    uint64_t hash = hash_bytes(name.data, name.length, hash_seed());
    struct symbol **slot = table_slot(compilation, name, hash);
    if (*slot)
        return *slot;
    struct symbol *symbol = compilation_alloc(compilation, sizeof(*symbol));
    *symbol = (struct symbol){.name = name, .hash = hash, .global = -1};
    symbol->builtin = builtin_find(name);
    if (!symbol->builtin)
        symbol->special = special_find(name);
    if (!symbol->builtin && !symbol->special)
        count_symbol(compilation, offset);
    *slot = symbol;
    compilation->symbols.count++;
    return symbol;
}

void symbol_count_keyword(struct compilation *compilation, struct span name, uint32_t offset)
{
    // A keyword is entered with its colon, so that it does not meet the symbol of the same name.
    uint64_t hash = hash_bytes(name.data, name.length, hash_seed() + 1);
    struct symbol **slot =
        table_slot(compilation, (struct span){name.data - 1, name.length + 1}, hash);
    if (*slot)
        return;
    count_symbol(compilation, offset);
    struct symbol *symbol = compilation_alloc(compilation, sizeof(*symbol));
    *symbol = (struct symbol){.name = {name.data - 1, name.length + 1}, .hash = hash, .global = -1};
    *slot = symbol;
    compilation->symbols.count++;
}

struct symbol *symbol_hidden(struct compilation *compilation, const char *name)
{
    struct symbol *symbol = compilation_alloc(compilation, sizeof(*symbol));
    *symbol = (struct symbol){.name = span_from(name), .global = -1};
    return symbol;
}
