#define PCRE2_CODE_UNIT_WIDTH 8
#include "signature/pattern.h"

#include <pcre2.h>

#include "base/assert.h"
#include "base/region.h"
#include "signature/signature.h"
#include "value/fuel.h"

enum {
    MATCH_STEPS = 200000,  // of one search: some milliseconds
    MATCH_HEAP_KIB = 4096,
    BYTES_PER_UNIT = 16,
    UNITS_OF_LIMIT = 50000,
    BLOCK_HEAD = 16  // PCRE2 frees without giving the size, so each block is preceded by it
};

struct signature_pattern {
    struct span text;
    const pcre2_code *code;
};

// --- compiling -----------------------------------------------------------------------------------

static void *arena_block(size_t size, void *data)
{
    return arena_alloc(data, size);
}

static void keep_block(void *pointer, void *data)
{
    (void)pointer;
    (void)data;
}

static bool refuse_pattern(struct error *error, int code, size_t offset)
{
    PCRE2_UCHAR text[200];
    if (pcre2_get_error_message(code, text, sizeof(text)) < 0)
        text[0] = '\0';
    return error_set(error, ERROR_SYNTAX, "invalid pattern: %s at byte %zu", (const char *)text,
                     offset);
}

static bool compile(struct arena *arena, struct signature_pattern *pattern, struct error *error)
{
    static const uint32_t options = PCRE2_UTF | PCRE2_NEVER_BACKSLASH_C | PCRE2_ALT_BSUX |
                                    PCRE2_ALLOW_EMPTY_CLASS | PCRE2_DOLLAR_ENDONLY |
                                    PCRE2_MATCH_UNSET_BACKREF;
    pcre2_general_context *memory = pcre2_general_context_create(arena_block, keep_block, arena);
    pcre2_compile_context *context = memory ? pcre2_compile_context_create(memory) : NULL;
    if (!context)
        return error_set(error, ERROR_MEMORY, "the signature needs too much memory");
    pcre2_set_compile_extra_options(context, PCRE2_EXTRA_ALT_BSUX);
    int code;
    PCRE2_SIZE offset;
    pattern->code = pcre2_compile((PCRE2_SPTR)pattern->text.data, pattern->text.length, options,
                                  &code, &offset, context);
    return pattern->code || refuse_pattern(error, code, offset);
}

const struct signature_pattern *signature_pattern_new(struct arena *arena, struct span text,
                                                      struct error *error)
{
    if (text.length > SIGNATURE_MAX_LITERAL) {
        error_set(error, ERROR_LIMIT, "a pattern of %zu bytes, at most %d are allowed", text.length,
                  SIGNATURE_MAX_LITERAL);
        return NULL;
    }
    struct signature_pattern *pattern = arena_alloc_zero(arena, sizeof(*pattern));
    char *copy = pattern ? arena_copy_text(arena, text) : NULL;
    if (!copy) {
        error_set(error, ERROR_MEMORY, "the signature needs too much memory");
        return NULL;
    }
    pattern->text = (struct span){copy, text.length};
    return compile(arena, pattern, error) ? pattern : NULL;
}

struct span signature_pattern_text(const struct signature_pattern *pattern)
{
    return pattern->text;
}

// --- matching ------------------------------------------------------------------------------------

// A full region leaves by a jump: all of a search is in it, so nothing leaks.
static void *region_block(size_t size, void *data)
{
    size_t *block = region_alloc(data, size + BLOCK_HEAD);
    block[0] = size + BLOCK_HEAD;
    return (char *)block + BLOCK_HEAD;
}

static void return_block(void *pointer, void *data)
{
    if (!pointer)
        return;
    size_t *block = (size_t *)((char *)pointer - BLOCK_HEAD);
    region_return(data, block, block[0]);
}

bool signature_pattern_fits(const struct signature_pattern *pattern, struct region *region,
                            struct span text)
{
    fuel_spend(1 + text.length / BYTES_PER_UNIT);
    pcre2_general_context *memory =
        pcre2_general_context_create(region_block, return_block, region);
    CHECK(memory);
    pcre2_match_context *context = pcre2_match_context_create(memory);
    CHECK(context);
    pcre2_match_data *match = pcre2_match_data_create(1, memory);
    CHECK(match);
    pcre2_set_match_limit(context, MATCH_STEPS);
    pcre2_set_depth_limit(context, MATCH_STEPS);
    pcre2_set_heap_limit(context, MATCH_HEAP_KIB);
    int found =
        pcre2_match(pattern->code, (PCRE2_SPTR)text.data, text.length, 0, 0, match, context);
    pcre2_match_data_free(match);
    pcre2_match_context_free(context);
    pcre2_general_context_free(memory);
    if (found < 0 && found != PCRE2_ERROR_NOMATCH)
        fuel_spend(UNITS_OF_LIMIT);
    return found >= 0;
}
