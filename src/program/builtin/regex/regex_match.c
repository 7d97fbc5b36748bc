// Searching a text with a compiled pattern in bounded time; the course is described in regex.h.
#include "program/builtin/regex/regex_cache.h"

enum {
    JIT_WORTH_BYTES = 4096,  // of subjects searched: above this, machine code pays
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

// Called at every item of the pattern. One item may scan the whole subject, so with a long
// subject the clock is read sooner.
static int stepping_callout(pcre2_callout_block *block, void *data)
{
    struct run *run = data;
    run_spend(run, 2 + block->subject_length / 256);
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
    struct regex_variant *variant =
        regex_variant(cache, search->regex, search->kind | REGEX_STEPPING);
    size_t limit = search->run->limits.regex_limit;
    pcre2_set_match_limit(cache->context, limit > UINT32_MAX ? UINT32_MAX : (uint32_t)limit);
    pcre2_set_offset_limit(cache->context, from);
    pcre2_set_callout(cache->context, stepping_callout, search->run);
    int result = pcre2_match(variant->code, (PCRE2_SPTR)search->subject.text.data,
                             search->subject.text.length, from, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT,
                             search->regex->match, cache->context);
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

// Start positions from … last, within the budget of one call.
static int match_window(struct search *search, struct regex_variant *variant, size_t ahead,
                        size_t from, size_t last)
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
    run_spend(search->run, 2 + starts / 32);
    regex->starts_tried += starts;
    if (now || regex->starts_tried >= STARTS_PER_CLOCK) {
        regex->starts_tried = 0;
        run_refill(search->run);
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
static int match_some(struct search *search, struct regex_variant *variant, struct window *window,
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
    for (size_t i = 0; i <= regex->groups; i++) {
        bool set = offsets[2 * i] != PCRE2_UNSET;
        groups[i].start = set ? (ptrdiff_t)offsets[2 * i] : REGEX_UNSET;
        groups[i].end = set ? (ptrdiff_t)offsets[2 * i + 1] : REGEX_UNSET;
    }
}

static struct regex_variant *prepare_variant(struct search *search, size_t from)
{
    struct regex *regex = search->regex;
    unsigned kind = search->kind | (search->subject.ascii ? REGEX_ASCII : 0u);
    struct regex_variant *variant = regex_variant(search->cache, regex, kind);
    size_t bytes = search->subject.text.length - from;
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
    struct span text = search->subject.text;
    struct regex *regex = search->regex;
    struct regex_variant *variant = prepare_variant(search, from);
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
            fail_match(search, result);
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
    struct search search = {run, self, regex_cache_of(run), regex, subject, REGEX_SEARCH};
    return search_run(&search, from, groups);
}

bool regex_match_whole(struct run *run, const struct builtin *self, struct regex *regex,
                       struct regex_subject subject, struct regex_group *groups)
{
    struct search search = {run, self, regex_cache_of(run), regex, subject, REGEX_WHOLE};
    return search_run(&search, 0, groups);
}
