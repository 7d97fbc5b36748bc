// Searching a text with a compiled pattern in bounded time; the course is described in regex.h.
#include <string.h>

#include "base/ascii.h"
#include "program/builtin/regex/regex_cache.h"

enum {
    JIT_WORTH_BYTES = 4096,  // of subjects searched: above this, machine code pays
    QUICK_STEPS = 16,        // of one start position in a quick search
    // What the start positions between two readings of the clock may scan, each the whole text: 20 ms.
    QUICK_BYTES = 64 * 1024 * 1024,
    BYTES_PER_UNIT = 64,         // scanned for a unit of fuel
    SUBJECT_PER_UNIT = 1 << 16,  // an item may scan the subject and leave no trace of that
};

struct search {
    struct run *run;
    const struct builtin *self;
    struct regex_cache *cache;
    struct regex *regex;
    struct regex_subject *subject;
    unsigned kind;  // REGEX_SEARCH or REGEX_WHOLE
};

static size_t next_boundary(struct span text, size_t offset)
{
    while (offset < text.length && ((unsigned char)text.data[offset] & 0xC0) == 0x80)
        offset++;
    return offset;
}

// --- the subject ---------------------------------------------------------------------------------

// The last place of a byte that every match has, in either case: no match starts behind it.
static bool find_last(struct span text, unsigned char byte, size_t *ret_place)
{
    char upper = ascii_to_upper((char)byte), lower = ascii_to_lower((char)byte);
    const char *a = memrchr(text.data, upper, text.length);
    const char *b = upper == lower ? a : memrchr(text.data, lower, text.length);
    if (!a && !b)
        return false;
    *ret_place = (size_t)((a > b ? a : b) - text.data);
    return true;
}

static void find_last_start(struct regex_subject *subject, const pcre2_code *code)
{
    uint32_t kind, byte;
    subject->last_start = subject->text.length;
    if (pcre2_pattern_info(code, PCRE2_INFO_LASTCODETYPE, &kind) != 0 || kind != 1 ||
        pcre2_pattern_info(code, PCRE2_INFO_LASTCODEUNIT, &byte) != 0)
        return;
    subject->is_hopeless = !find_last(subject->text, (unsigned char)byte, &subject->last_start);
}

void regex_subject_init(struct run *run, struct regex *regex, struct regex_subject *ret_subject,
                        struct span text, bool ascii)
{
    *ret_subject = (struct regex_subject){.text = text, .ascii = ascii};
    unsigned kind = REGEX_SEARCH | (ascii ? REGEX_ASCII : 0u);
    run_spend(run, text.length / 4096);
    find_last_start(ret_subject, regex_variant(regex_cache_of(run), regex, kind)->code);
}

// --- one call of the matcher ---------------------------------------------------------------------

// Start positions from … last.
static int match(struct search *search, const struct regex_variant *variant, size_t from,
                 size_t last, uint32_t steps)
{
    pcre2_match_context *context = search->cache->context;
    struct span text = search->subject->text;
    pcre2_set_match_limit(context, steps);
    pcre2_set_offset_limit(context, last);
    if (variant->jit)
        return pcre2_jit_match(variant->code, (PCRE2_SPTR)text.data, text.length, from,
                               PCRE2_NO_UTF_CHECK, search->regex->match, context);
    return pcre2_match(variant->code, (PCRE2_SPTR)text.data, text.length, from,
                       PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, search->regex->match, context);
}

static bool is_limit(int result)
{
    return result == PCRE2_ERROR_MATCHLIMIT || result == PCRE2_ERROR_JIT_STACKLIMIT ||
           result == PCRE2_ERROR_HEAPLIMIT || result == PCRE2_ERROR_DEPTHLIMIT;
}

// --- quick search --------------------------------------------------------------------------------

// The last of the start positions that one call may try. A pattern that matches at the start of lines
// only is tried wherever a call begins, so the next call begins with a line.
static size_t quick_last(const struct search *search, const struct regex_variant *variant,
                         size_t from)
{
    struct span text = search->subject->text;
    size_t starts = QUICK_BYTES / (text.length + 1) + 1;
    if (variant->is_anchored || starts > text.length - from)
        return text.length;
    size_t next = next_boundary(text, from + starts);
    if (!variant->starts_lines)
        return next - 1;
    const char *newline = memchr(text.data + next, '\n', text.length - next);
    return newline ? (size_t)(newline - text.data) : text.length;
}

static int search_quickly(struct search *search, const struct regex_variant *variant, size_t from)
{
    size_t end = search->subject->last_start;
    for (;;) {
        size_t last = quick_last(search, variant, from);
        if (last > end)
            last = end;
        int result = match(search, variant, from, last, QUICK_STEPS);
        run_spend(search->run, 2 + (last - from) / BYTES_PER_UNIT);
        if (result != PCRE2_ERROR_NOMATCH || last >= end)
            return result;
        run_refill(search->run);
        from = last + 1;
    }
}

// --- counted search ------------------------------------------------------------------------------

struct counting {
    struct run *run;
    size_t from;
    size_t steps, allowed, per_start;
    size_t start;     // start position of the last step
    size_t position;  // of the last step
};

// Called at every item of the pattern.
static int count_step(pcre2_callout_block *block, void *data)
{
    struct counting *counting = data;
    size_t position = block->current_position, before = counting->position;
    size_t moved = position > before ? position - before : before - position;
    counting->position = position;
    counting->start = block->start_match;
    run_spend(counting->run, 1 + moved / BYTES_PER_UNIT + block->subject_length / SUBJECT_PER_UNIT);
    size_t free_steps = counting->per_start * (counting->start - counting->from + 1);
    return ++counting->steps > counting->allowed + free_steps ? PCRE2_ERROR_MATCHLIMIT : 0;
}

static int count_item(pcre2_callout_enumerate_block *block, void *data)
{
    (void)block;
    ++*(size_t *)data;
    return 0;
}

static _Noreturn void raise_limit(struct search *search)
{
    struct run *run = search->run;
    run_raise_limit(run, REGEX_LIMIT, search->self->name, "regex_limit",
                    (int64_t)run->limits.regex_limit,
                    "one regex call took too many backtracking steps");
}

static int match_counted(struct search *search, const struct regex_variant *variant,
                         struct counting *counting)
{
    pcre2_match_context *context = search->cache->context;
    counting->steps = 0;
    counting->start = counting->position = counting->from;
    pcre2_set_callout(context, count_step, counting);
    int result = match(search, variant, counting->from, search->subject->last_start, UINT32_MAX);
    pcre2_set_callout(context, NULL, NULL);
    return result;
}

// The whole search again, with every step counted. Machine code takes the same steps as the
// interpreter, but has less stack.
static int search_counted(struct search *search, size_t from)
{
    struct regex_subject *subject = search->subject;
    unsigned kind = search->kind | REGEX_STEPPING | (subject->ascii ? REGEX_ASCII : 0u);
    struct regex_variant *variant = regex_variant(search->cache, search->regex, kind);
    if (!variant->jit_tried)
        regex_translate(search->cache, variant);
    size_t items = 0;
    pcre2_callout_enumerate(variant->code, count_item, &items);
    size_t per_start = items * QUICK_STEPS;
    size_t allowed = search->run->limits.regex_limit + per_start * subject->text.length;
    struct counting counting = {.run = search->run, .from = from, .per_start = per_start};
    counting.allowed = allowed - subject->steps;
    int result = match_counted(search, variant, &counting);
    if (result == PCRE2_ERROR_JIT_STACKLIMIT) {
        struct regex_variant interpreted = {.code = variant->code};
        result = match_counted(search, &interpreted, &counting);
    }
    if (is_limit(result))
        raise_limit(search);
    size_t last = result == PCRE2_ERROR_NOMATCH ? subject->text.length : counting.start;
    size_t free_steps = per_start * (last - from + 1);
    if (counting.steps > free_steps)
        subject->steps += counting.steps - free_steps;
    return result;
}

// --- searching -----------------------------------------------------------------------------------

static void copy_groups(const struct regex *regex, struct regex_group *groups)
{
    const PCRE2_SIZE *offsets = pcre2_get_ovector_pointer(regex->match);
    for (size_t i = 0; i <= regex->groups; i++) {
        bool set = offsets[2 * i] != PCRE2_UNSET;
        groups[i].start = set ? (ptrdiff_t)offsets[2 * i] : REGEX_UNSET;
        groups[i].end = set ? (ptrdiff_t)offsets[2 * i + 1] : REGEX_UNSET;
    }
}

static struct regex_variant *prepare_variant(struct search *search, size_t from)
{
    struct regex *regex = search->regex;
    unsigned kind = search->kind | (search->subject->ascii ? REGEX_ASCII : 0u);
    struct regex_variant *variant = regex_variant(search->cache, regex, kind);
    size_t bytes = search->subject->text.length - from;
    if (!variant->jit_tried && (bytes >= JIT_WORTH_BYTES || regex->bytes_seen >= JIT_WORTH_BYTES))
        regex_translate(search->cache, variant);
    return variant;
}

static _Noreturn void fail_match(const struct search *search, int code)
{
    PCRE2_UCHAR text[128];
    if (pcre2_get_error_message(code, text, sizeof(text)) < 0)
        text[0] = '\0';
    builtin_fail(search->run, search->self, RUNTIME_ERROR, "the matcher failed: %s (%d)",
                 (const char *)text, code);
}

static bool search_run(struct search *search, size_t from, struct regex_group *groups)
{
    struct regex *regex = search->regex;
    struct regex_subject *subject = search->subject;
    if (subject->is_hopeless || from > subject->last_start) {
        run_spend(search->run, 2);
        return false;
    }
    int result = search_quickly(search, prepare_variant(search, from), from);
    if (is_limit(result))
        result = search_counted(search, from);
    if (result == PCRE2_ERROR_NOMATCH) {
        regex->bytes_seen += 64 + subject->text.length - from;
        return false;
    }
    if (result < 0)
        fail_match(search, result);
    copy_groups(regex, groups);
    size_t found = groups[0].start > (ptrdiff_t)from ? (size_t)groups[0].start : from;
    regex->bytes_seen += 64 + found - from;
    return true;
}

bool regex_search(struct run *run, const struct builtin *self, struct regex *regex,
                  struct regex_subject *subject, size_t from, struct regex_group *groups)
{
    struct search search = {run, self, regex_cache_of(run), regex, subject, REGEX_SEARCH};
    return search_run(&search, from, groups);
}

bool regex_match_whole(struct run *run, const struct builtin *self, struct regex *regex,
                       struct regex_subject *subject, struct regex_group *groups)
{
    struct search search = {run, self, regex_cache_of(run), regex, subject, REGEX_WHOLE};
    return search_run(&search, 0, groups);
}
