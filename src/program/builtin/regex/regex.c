// Regex values and the cache of their compiled forms; the syntax is in regex_pattern.c, searching in
// regex_match.c.
#include "program/builtin/regex/regex_cache.h"

#include <string.h>

#include "base/assert.h"
#include "base/utf8.h"
#include "value/object.h"
#include "value/text/print.h"

enum {
    JIT_STACK_START = 32 * 1024,
    JIT_STACK_LIMIT = 128 * 1024,
    JIT_PATTERN_LIMIT = 8 * 1024,  // larger compiled patterns take too long to translate
};

// --- the value -----------------------------------------------------------------------------------

struct regex_object {
    struct foreign base;
    size_t length;
    char source[];
};

static struct span regex_object_text(const struct object *object)
{
    const struct regex_object *regex = (const struct regex_object *)object;
    return (struct span){regex->source, regex->length};
}

static size_t regex_object_size(const struct object *object)
{
    return sizeof(struct regex_object) + ((const struct regex_object *)object)->length;
}

static void regex_object_print(struct sink *sink, const struct object *object)
{
    sink_text(sink, "#\"");
    sink_span(sink, regex_object_text(object));
    sink_text(sink, "\"");
}

static const struct object_type regex_type = {
    .size = regex_object_size,
    .text = regex_object_text,
    .print = regex_object_print,
};

value regex_new(struct run *run, struct span pattern)
{
    struct regex_object *regex =
        region_alloc(run->region, sizeof(struct regex_object) + pattern.length);
    regex->base.header = object_header(OBJECT_FOREIGN);
    regex->base.type = &regex_type;
    regex->length = pattern.length;
    memcpy(regex->source, pattern.data, pattern.length);
    return (value){.tag = VALUE_REGEX, .object = &regex->base.header};
}

// --- memory --------------------------------------------------------------------------------------

// PCRE2 frees without giving the size, so each block is preceded by it.
enum { BLOCK_HEAD = 16 };

static void *cache_alloc(size_t size, void *data)
{
    struct regex_cache *cache = data;
    size_t total = size + BLOCK_HEAD;
    struct region *region = cache->region;
    if (!cache->may_raise && region->live + region_round(total) > region->limit)
        return NULL;
    size_t *block = region_alloc(region, total);
    block[0] = total;
    return (char *)block + BLOCK_HEAD;
}

static void cache_give(void *pointer, void *data)
{
    struct regex_cache *cache = data;
    if (!pointer)
        return;
    size_t *block = (size_t *)((char *)pointer - BLOCK_HEAD);
    region_return(cache->region, block, block[0]);
}

struct regex_cache *regex_cache_of(struct run *run)
{
    if (run->regexes)
        return run->regexes;
    struct regex_cache *cache = region_alloc_zero(run->region, sizeof(struct regex_cache));
    cache->region = run->region;
    cache->run = run;
    cache->may_raise = true;
    cache->memory = pcre2_general_context_create(cache_alloc, cache_give, cache);
    CHECK(cache->memory);
    cache->context = pcre2_match_context_create(cache->memory);
    CHECK(cache->context);
    run->regexes = cache;
    return cache;
}

static void regex_free(struct regex_cache *cache, struct regex *regex)
{
    for (size_t i = 0; i < REGEX_VARIANTS; i++) {
        struct regex_variant *variant = &regex->variants[i];
        pcre2_code_free(variant->code);
        region_discharge(cache->region, variant->jit_bytes);
    }
    pcre2_match_data_free(regex->match);
    value_release(cache->region, regex->source);
    region_return(cache->region, regex, sizeof(struct regex));
}

void regex_cache_free(struct run *run)
{
    struct regex_cache *cache = run->regexes;
    if (!cache)
        return;
    run->regexes = NULL;
    for (size_t i = 0; i < REGEX_CACHE_SIZE; i++) {
        if (cache->entries[i])
            regex_free(cache, cache->entries[i]);
    }
    if (cache->stack) {
        pcre2_jit_stack_free(cache->stack);
        region_discharge(cache->region, JIT_STACK_LIMIT);
    }
    pcre2_match_context_free(cache->context);
    pcre2_general_context_free(cache->memory);
    region_return(cache->region, cache, sizeof(struct regex_cache));
}

// --- compiling -----------------------------------------------------------------------------------

static struct regex *cache_find(struct regex_cache *cache, value pattern)
{
    struct span text = value_text(pattern);
    for (size_t i = 0; i < REGEX_CACHE_SIZE && cache->entries[i]; i++) {
        struct regex *regex = cache->entries[i];
        if (!span_equal(value_text(regex->source), text))
            continue;
        // The last one used comes first next time.
        cache->entries[i] = cache->entries[0];
        cache->entries[0] = regex;
        return regex;
    }
    return NULL;
}

static void cache_add(struct regex_cache *cache, struct regex *regex)
{
    size_t place = 0;
    for (size_t i = 0; i < REGEX_CACHE_SIZE; i++) {
        if (!cache->entries[i]) {
            place = i;
            break;
        }
        if (cache->entries[i]->used < cache->entries[place]->used)
            place = i;
    }
    if (cache->entries[place])
        regex_free(cache, cache->entries[place]);
    cache->entries[place] = regex;
}

static void variant_set_code(struct regex_variant *variant, pcre2_code *code)
{
    uint32_t options = 0, first = 0;
    variant->code = code;
    variant->failed = !code;
    if (!code)
        return;
    variant->is_anchored = pcre2_pattern_info(code, PCRE2_INFO_ALLOPTIONS, &options) == 0 &&
                           (options & PCRE2_ANCHORED);
    variant->starts_lines =
        pcre2_pattern_info(code, PCRE2_INFO_FIRSTCODETYPE, &first) == 0 && first == 2;
}

struct regex_variant *regex_variant(struct regex_cache *cache, struct regex *regex, unsigned kind)
{
    struct regex_variant *variant = &regex->variants[kind];
    if (!variant->code && !variant->failed)
        variant_set_code(
            variant, regex_pattern_compile(value_text(regex->source), kind, cache->memory, NULL));
    if (variant->failed) {
        // Only what the Unicode variant accepts as well may be missing, e.g. \x{100} in ASCII.
        CHECK(kind & REGEX_ASCII);
        return regex_variant(cache, regex, kind & ~(unsigned)REGEX_ASCII);
    }
    return variant;
}

struct regex *regex_compile(struct run *run, const struct builtin *self, value pattern)
{
    struct regex_cache *cache = regex_cache_of(run);
    struct regex *regex = cache_find(cache, pattern);
    if (!regex) {
        struct error error;
        struct span text = value_text(pattern);
        run_spend(run, 100 + text.length);
        pcre2_code *code = regex_pattern_compile(text, REGEX_SEARCH, cache->memory, &error);
        if (!code)
            builtin_fail(run, self, RUNTIME_ERROR, "%s", error.message);
        regex = region_alloc_zero(run->region, sizeof(struct regex));
        regex->source = value_retain(pattern);
        for (unsigned kind = 0; kind < REGEX_VARIANTS; kind++)
            regex->variants[kind].failed =
                (kind & REGEX_ASCII) && !utf8_is_ascii(text.data, text.length);
        variant_set_code(&regex->variants[REGEX_SEARCH], code);
        pcre2_pattern_info(code, PCRE2_INFO_CAPTURECOUNT, &regex->groups);
        regex->match = pcre2_match_data_create_from_pattern(code, cache->memory);
        CHECK(regex->match);
        cache_add(cache, regex);
    }
    regex->used = ++cache->clock;
    return regex;
}

unsigned regex_group_count(const struct regex *regex)
{
    return regex->groups;
}

void regex_translate(struct regex_cache *cache, struct regex_variant *variant)
{
    variant->jit_tried = true;
    size_t size;
    if (pcre2_pattern_info(variant->code, PCRE2_INFO_SIZE, &size) != 0 || size > JIT_PATTERN_LIMIT)
        return;
    struct region *region = cache->region;
    if (!cache->stack) {
        // Speed must not cost a run the memory that it needs for its data.
        if (region->live + JIT_STACK_LIMIT > region->limit / 2)
            return;
        region_charge(region, JIT_STACK_LIMIT);  // may raise: before there is something to free
        cache->stack = pcre2_jit_stack_create(JIT_STACK_START, JIT_STACK_LIMIT, NULL);
        if (!cache->stack) {
            region_discharge(region, JIT_STACK_LIMIT);
            return;
        }
        pcre2_jit_stack_assign(cache->context, NULL, cache->stack);
    }
    cache->may_raise = false;
    bool done = pcre2_jit_compile(variant->code, PCRE2_JIT_COMPLETE) == 0;
    cache->may_raise = true;
    run_spend(cache->run, 1000 + size);
    if (!done)
        return;
    variant->jit = true;
    if (pcre2_pattern_info(variant->code, PCRE2_INFO_JITSIZE, &size) == 0) {
        region_charge(region, size);
        variant->jit_bytes = size;
    }
}
