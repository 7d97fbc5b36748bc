#include "program/regex.h"

#include <string.h>

#include "base/assert.h"
#include "base/utf8.h"
#include "program/regex_pattern.h"
#include "value/object.h"
#include "value/print.h"

enum {
    CACHE_SIZE = 32,
    VARIANT_COUNT = 8,
    JIT_STACK_START = 32 * 1024,
    JIT_STACK_LIMIT = 128 * 1024,
    JIT_WORTH_BYTES = 4096,        // of subjects searched: from here on machine code pays
    JIT_PATTERN_LIMIT = 8 * 1024,  // larger compiled patterns take too long to translate
    STARTS_PER_CLOCK = 256,
};

// How far one call of the matcher may go: its worst case is starts × steps × bytes, which BUDGET
// bounds to a few milliseconds. A window that does not fit is cut down: to fewer starts when it needs
// more steps, to fewer starts and a longer view when it needs to see more.
enum {
    BUDGET = 4 * 1024 * 1024,
    WINDOW_STARTS = 256,
    WINDOW_AHEAD = 1024,  // bytes visible behind the last start
    WINDOW_SCALE = 16,
    STEPS_LEAST = 16,
    STEPS_MOST = 4096,
    WINDOWS_BEFORE_WIDER = 16,  // that fit, before a larger window is tried again
};

struct window {
    size_t starts;
    size_t ahead;
    unsigned fitting;  // windows of this size that fitted, one after another
};

struct variant {
    pcre2_code *code;
    bool failed;  // this variant cannot be made: use the Unicode one
    bool jit;
    bool jit_tried;
    size_t jit_bytes;  // charged to the region
};

struct regex {
    value source;  // the regex value or string it was made from, retained
    struct variant variants[VARIANT_COUNT];
    pcre2_match_data *match;
    uint32_t groups;
    uint64_t used;        // stamp of the last use
    size_t bytes_seen;    // of subjects, as long as no machine code exists
    size_t starts_tried;  // since the last look at the clock
};

struct regex_cache {
    struct regex *entries[CACHE_SIZE];
    uint64_t clock;
    pcre2_general_context *memory;
    pcre2_match_context *context;
    pcre2_jit_stack *stack;
    struct region *region;
    struct run *run;
    bool may_raise;  // a full region leaves the run; otherwise PCRE2 gets NULL
};

// --- the value ------------------------------------------------------------------------------------

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

// --- memory ---------------------------------------------------------------------------------------

// PCRE2 frees without telling the size, so each block is preceded by it.
enum { BLOCK_HEAD = 16 };

static void *cache_take(size_t size, void *data)
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

static struct regex_cache *cache_of(struct run *run)
{
    if (run->regexes)
        return run->regexes;
    struct regex_cache *cache = region_alloc_zero(run->region, sizeof(struct regex_cache));
    cache->region = run->region;
    cache->run = run;
    cache->may_raise = true;
    cache->memory = pcre2_general_context_create(cache_take, cache_give, cache);
    CHECK(cache->memory);
    cache->context = pcre2_match_context_create(cache->memory);
    CHECK(cache->context);
    run->regexes = cache;
    return cache;
}

static void regex_free(struct regex_cache *cache, struct regex *regex)
{
    for (size_t i = 0; i < VARIANT_COUNT; i++) {
        struct variant *variant = &regex->variants[i];
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
    for (size_t i = 0; i < CACHE_SIZE; i++) {
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

// --- compiling ------------------------------------------------------------------------------------

static struct regex *cache_find(struct regex_cache *cache, value pattern)
{
    struct span text = value_text(pattern);
    for (size_t i = 0; i < CACHE_SIZE && cache->entries[i]; i++) {
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
    for (size_t i = 0; i < CACHE_SIZE; i++) {
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

static struct variant *regex_variant(struct regex_cache *cache, struct regex *regex,
                                     unsigned kind)
{
    struct variant *variant = &regex->variants[kind];
    if (!variant->code && !variant->failed) {
        variant->code = regex_pattern_compile(value_text(regex->source), kind, cache->memory,
                                              NULL);
        variant->failed = !variant->code;
    }
    if (variant->failed) {
        // Only what the Unicode variant accepts as well may be missing, e.g. \x{100} in ASCII.
        CHECK(kind & REGEX_ASCII);
        return regex_variant(cache, regex, kind & ~(unsigned)REGEX_ASCII);
    }
    return variant;
}

struct regex *regex_compile(struct run *run, const struct builtin *self, value pattern)
{
    struct regex_cache *cache = cache_of(run);
    struct regex *regex = cache_find(cache, pattern);
    if (!regex) {
        struct error error;
        struct span text = value_text(pattern);
        run_tick(run, 100 + text.length);
        pcre2_code *code = regex_pattern_compile(text, REGEX_SEARCH, cache->memory, &error);
        if (!code)
            builtin_fail(run, self, RUNTIME_ERROR, "%s", error.message);
        regex = region_alloc_zero(run->region, sizeof(struct regex));
        regex->source = value_retain(pattern);
        regex->variants[REGEX_SEARCH].code = code;
        for (unsigned kind = 0; kind < VARIANT_COUNT; kind++)
            regex->variants[kind].failed = (kind & REGEX_ASCII) && !utf8_is_ascii(text.data, text.length);
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

// Translates to machine code, if the system allows it and the region has room.
static void variant_translate(struct regex_cache *cache, struct variant *variant)
{
    variant->jit_tried = true;
    size_t size;
    if (pcre2_pattern_info(variant->code, PCRE2_INFO_SIZE, &size) != 0 ||
        size > JIT_PATTERN_LIMIT)
        return;
    struct region *region = cache->region;
    if (!cache->stack) {
        if (region->live + JIT_STACK_LIMIT > region->limit)
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
    bool done =
        pcre2_jit_compile(variant->code, PCRE2_JIT_COMPLETE | PCRE2_JIT_PARTIAL_HARD) == 0;
    cache->may_raise = true;
    run_tick(cache->run, 1000 + size);
    if (!done)
        return;
    variant->jit = true;
    if (pcre2_pattern_info(variant->code, PCRE2_INFO_JITSIZE, &size) == 0) {
        region_charge(region, size);
        variant->jit_bytes = size;
    }
}

// --- matching -------------------------------------------------------------------------------------

struct search {
    struct run *run;
    const struct builtin *self;
    struct regex_cache *cache;
    struct regex *regex;
    struct regex_subject subject;
    unsigned kind;  // REGEX_SEARCH or REGEX_WHOLE
};

static bool is_continuation(struct span text, size_t offset)
{
    return offset < text.length && ((unsigned char)text.data[offset] & 0xC0) == 0x80;
}

static size_t next_boundary(struct span text, size_t offset)
{
    while (is_continuation(text, offset))
        offset++;
    return offset;
}

// Called at every item of the pattern. One item may look at the whole subject, so a long subject
// brings the next look at the clock nearer.
static int stepping_callout(pcre2_callout_block *block, void *data)
{
    struct run *run = data;
    run_tick(run, 2 + block->subject_length / 256);
    return 0;
}

static _Noreturn void raise_limit(struct search *search)
{
    struct run *run = search->run;
    run_raise_limit(run, REGEX_LIMIT, search->self->name, "regex_limit",
                    (int64_t)run->limits.regex_limit,
                    "one regex call took too many backtracking steps");
}

// One start position, by the interpreter, with the limit of the run.
static int match_stepping(struct search *search, size_t from)
{
    struct regex_cache *cache = search->cache;
    struct variant *variant = regex_variant(cache, search->regex, search->kind | REGEX_STEPPING);
    size_t limit = search->run->limits.regex_limit;
    pcre2_set_match_limit(cache->context, limit > UINT32_MAX ? UINT32_MAX : (uint32_t)limit);
    pcre2_set_offset_limit(cache->context, from);
    pcre2_set_callout(cache->context, stepping_callout, search->run);
    int result = pcre2_match(variant->code, (PCRE2_SPTR)search->subject.text.data,
                             search->subject.text.length, from,
                             PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, search->regex->match,
                             cache->context);
    pcre2_set_callout(cache->context, NULL, NULL);
    if (result == PCRE2_ERROR_MATCHLIMIT || result == PCRE2_ERROR_HEAPLIMIT ||
        result == PCRE2_ERROR_DEPTHLIMIT)
        raise_limit(search);
    return result;
}

static uint32_t steps_allowed(struct search *search, size_t starts, size_t visible)
{
    size_t steps = BUDGET / (starts * (visible + 1));
    steps = steps < STEPS_LEAST ? STEPS_LEAST : steps > STEPS_MOST ? STEPS_MOST : steps;
    size_t limit = search->run->limits.regex_limit;
    return (uint32_t)(limit < steps ? limit : steps);
}

// Start positions from … last, with as much work as fits into one go.
static int match_window(struct search *search, struct variant *variant, size_t ahead, size_t from,
                        size_t last)
{
    struct regex_cache *cache = search->cache;
    struct span text = search->subject.text;
    size_t end = text.length;
    uint32_t options = PCRE2_NO_UTF_CHECK;
    if (ahead < text.length - last) {
        end = next_boundary(text, last + ahead);
        if (end < text.length)
            options |= PCRE2_PARTIAL_HARD;
    }
    pcre2_set_match_limit(cache->context, steps_allowed(search, last + 1 - from, end - from));
    pcre2_set_offset_limit(cache->context, last);
    if (variant->jit)
        return pcre2_jit_match(variant->code, (PCRE2_SPTR)text.data, end, from, options,
                               search->regex->match, cache->context);
    return pcre2_match(variant->code, (PCRE2_SPTR)text.data, end, from, options | PCRE2_NO_JIT,
                       search->regex->match, cache->context);
}

static void look_at_clock(struct search *search, size_t starts, bool now)
{
    struct regex *regex = search->regex;
    run_tick(search->run, 2 + starts / 32);
    regex->starts_tried += starts;
    if (now || regex->starts_tried >= STARTS_PER_CLOCK) {
        regex->starts_tried = 0;
        run_refuel(search->run);
    }
}

static bool needs_more_steps(int result)
{
    return result == PCRE2_ERROR_MATCHLIMIT || result == PCRE2_ERROR_JIT_STACKLIMIT ||
           result == PCRE2_ERROR_HEAPLIMIT || result == PCRE2_ERROR_DEPTHLIMIT;
}

static size_t last_start(struct span text, size_t from, size_t starts)
{
    if (starts > text.length - from)
        return text.length;
    return next_boundary(text, from + starts) - 1;
}

// Tries the start positions from `from` on: one window that fits, made smaller until it does.
// *ret_last gets the last start position tried.
static int match_some(struct search *search, struct variant *variant, struct window *window,
                      size_t from, size_t *ret_last)
{
    struct span text = search->subject.text;
    for (;;) {
        size_t last = search->kind == REGEX_WHOLE ? from : last_start(text, from, window->starts);
        bool whole_view = window->ahead >= text.length - last;
        *ret_last = last;
        if (window->starts == 1 && window->ahead > BUDGET / STEPS_LEAST && !whole_view)
            return match_stepping(search, from);
        int result = match_window(search, variant, window->ahead, from, last);
        if (result != PCRE2_ERROR_PARTIAL && !needs_more_steps(result)) {
            window->fitting++;
            return result;
        }
        look_at_clock(search, 1, true);
        window->fitting = 0;
        if (window->starts == 1 && result != PCRE2_ERROR_PARTIAL) {
            *ret_last = last_start(text, from, 1);
            return match_stepping(search, from);
        }
        window->starts = window->starts > WINDOW_SCALE ? window->starts / WINDOW_SCALE : 1;
        if (result == PCRE2_ERROR_PARTIAL)
            window->ahead *= WINDOW_SCALE;
    }
}

static void widen(struct window *window)
{
    if (window->fitting < WINDOWS_BEFORE_WIDER)
        return;
    window->fitting = 0;
    if (window->starts < WINDOW_STARTS)
        window->starts *= WINDOW_SCALE;
    if (window->ahead > WINDOW_AHEAD)
        window->ahead /= WINDOW_SCALE;
}

static void copy_groups(const struct regex *regex, struct regex_group *groups)
{
    const PCRE2_SIZE *offsets = pcre2_get_ovector_pointer(regex->match);
    for (uint32_t i = 0; i <= regex->groups; i++) {
        bool set = offsets[2 * i] != PCRE2_UNSET;
        groups[i].start = set ? (ptrdiff_t)offsets[2 * i] : REGEX_UNSET;
        groups[i].end = set ? (ptrdiff_t)offsets[2 * i + 1] : REGEX_UNSET;
    }
}

static struct variant *prepare_variant(struct search *search, size_t from)
{
    struct regex *regex = search->regex;
    unsigned kind = search->kind | (search->subject.ascii ? REGEX_ASCII : 0u);
    struct variant *variant = regex_variant(search->cache, regex, kind);
    size_t bytes = search->subject.text.length - from;
    if (!variant->jit_tried &&
        (bytes >= JIT_WORTH_BYTES || regex->bytes_seen >= JIT_WORTH_BYTES))
        variant_translate(search->cache, variant);
    return variant;
}

static bool search_run(struct search *search, size_t from, struct regex_group *groups)
{
    struct span text = search->subject.text;
    struct regex *regex = search->regex;
    struct variant *variant = prepare_variant(search, from);
    struct window window = {WINDOW_STARTS, WINDOW_AHEAD, 0};
    if (search->kind == REGEX_WHOLE)
        window = (struct window){1, SIZE_MAX, 0};
    for (size_t start = from; start <= text.length;) {
        size_t last;
        int result = match_some(search, variant, &window, start, &last);
        if (result > 0) {
            copy_groups(regex, groups);
            size_t found = groups[0].start > (ptrdiff_t)start ? (size_t)groups[0].start : start;
            regex->bytes_seen += 64 + found - from;
            look_at_clock(search, 1 + found - start, window.starts < WINDOW_STARTS);
            return true;
        }
        if (result != PCRE2_ERROR_NOMATCH)
            builtin_fail(search->run, search->self, RUNTIME_ERROR, "the matcher failed (%d)",
                         result);
        look_at_clock(search, last + 1 - start, window.starts < WINDOW_STARTS);
        if (search->kind == REGEX_WHOLE)
            break;
        start = last + 1;
        widen(&window);
    }
    regex->bytes_seen += 64 + text.length - from;
    return false;
}

bool regex_search(struct run *run, const struct builtin *self, struct regex *regex,
                  struct regex_subject subject, size_t from, struct regex_group *groups)
{
    struct search search = {run, self, cache_of(run), regex, subject, REGEX_SEARCH};
    return search_run(&search, from, groups);
}

bool regex_match_whole(struct run *run, const struct builtin *self, struct regex *regex,
                       struct regex_subject subject, struct regex_group *groups)
{
    struct search search = {run, self, cache_of(run), regex, subject, REGEX_WHOLE};
    return search_run(&search, 0, groups);
}
