#include "lisp_syntax/repair_base.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum {
    HEAD_WORDS = 2,        // `defun name`
    ATOMS_MAXIMUM = 3000,  // of a form; longer ones get no hints
};

static bool is_delimiter(char c)
{
    return c == '(' || c == ')' || c == '"' || c == '|' || c == '#';
}

// --- forms that differ in delimiters only ----------------------------------------------------------

static void append_bare(struct buffer *out, struct span text, size_t *offsets)
{
    for (size_t i = 0; i < text.length; i++) {
        if (is_delimiter(text.data[i]))
            continue;
        if (offsets)
            offsets[out->length] = i;
        buffer_append_byte(out, text.data[i]);
    }
    if (offsets)
        offsets[out->length] = text.length;
}

void repair_base_init(struct repair_base *base, struct span text)
{
    *base = (struct repair_base){.text = text};
    buffer_init(&base->bare, BUFFER_DEFAULT_LIMIT);
    base->offsets = memory_alloc((text.length + 1) * sizeof(*base->offsets));
    append_bare(&base->bare, text, base->offsets);
}

void repair_base_release(struct repair_base *base)
{
    buffer_release(&base->bare);
    memory_free(base->offsets);
}

static unsigned lines_before(struct span text, size_t offset)
{
    unsigned count = 0;
    for (size_t i = 0; i < offset; i++)
        count += text.data[i] == '\n';
    return count;
}

static struct span lines_of_bare(const struct repair_base *base, size_t start, size_t end)
{
    size_t from = start == 0 ? 0 : base->offsets[start - 1] + 1;
    size_t to = end == base->bare.length ? base->text.length : base->offsets[end - 1] + 1;
    return (struct span){base->text.data + from, to - from};
}

bool repair_base_find(const struct repair_base *base, struct span segment, unsigned line,
                      struct span *ret_lines)
{
    CLEANUP_BUFFER struct buffer wanted;
    buffer_init(&wanted, BUFFER_DEFAULT_LIMIT);
    append_bare(&wanted, segment, NULL);
    struct span bare = buffer_span(&base->bare);
    unsigned nearest = UINT32_MAX;
    if (wanted.length == 0)
        return false;
    for (size_t at = 0; at + wanted.length <= bare.length;) {
        const char *found = memmem(bare.data + at, bare.length - at, wanted.data, wanted.length);
        if (!found)
            break;
        size_t start = (size_t)(found - bare.data), end = start + wanted.length;
        bool whole_lines = (start == 0 || bare.data[start - 1] == '\n') &&
                           (end == bare.length || bare.data[end - 1] == '\n');
        unsigned there = lines_before(bare, start);
        unsigned distance = there > line ? there - line : line - there;
        if (whole_lines && distance < nearest) {
            nearest = distance;
            *ret_lines = lines_of_bare(base, start, end);
        }
        at = start + 1;
    }
    return nearest != UINT32_MAX;
}

bool repair_base_is_like(const struct repair_base *base, struct span text)
{
    CLEANUP_BUFFER struct buffer bare;
    buffer_init(&bare, BUFFER_DEFAULT_LIMIT);
    append_bare(&bare, text, NULL);
    return span_equal(buffer_span(&bare), buffer_span(&base->bare));
}

// --- hints ---------------------------------------------------------------------------------------

// The atoms of a form, and how many parentheses stand before each and at the end.
struct words {
    size_t count;
    struct word {
        struct span text;
        size_t token;
        unsigned opens, closes;
    } * items;
};

static bool is_word(const struct lisp_token *token)
{
    return token->kind == LISP_TOKEN_ATOM || token->kind == LISP_TOKEN_FEATURE;
}

static void words_init(struct words *words, struct span text, const struct lisp_tokens *tokens,
                       size_t from, size_t to)
{
    words->items = memory_alloc_zero((to - from + 1) * sizeof(*words->items));
    words->count = 0;
    unsigned opens = 0, closes = 0;
    for (size_t i = from; i <= to; i++) {
        const struct lisp_token *token = i < to ? &tokens->items[i] : NULL;
        if (token && !is_word(token)) {
            opens += token->kind == LISP_TOKEN_OPEN;
            closes += token->kind == LISP_TOKEN_CLOSE;
            continue;
        }
        words->items[words->count] = (struct word){.token = i, .opens = opens, .closes = closes};
        opens = closes = 0;
        if (token)
            words->items[words->count++].text = lisp_token_text(text, token);
    }
}

// partner[i]: the word of b that belongs to word i of a, SIZE_MAX for none: a longest common
// subsequence.
static size_t *words_align(const struct words *a, const struct words *b)
{
    size_t width = b->count + 1;
    uint16_t *length = memory_try_alloc((a->count + 1) * width * sizeof(*length));
    if (!length)
        return NULL;
    memset(length + a->count * width, 0, width * sizeof(*length));
    for (size_t i = a->count; i-- > 0;) {
        length[i * width + b->count] = 0;
        for (size_t j = b->count; j-- > 0;) {
            uint16_t down = length[(i + 1) * width + j], right = length[i * width + j + 1];
            length[i * width + j] = span_equal(a->items[i].text, b->items[j].text)
                                        ? (uint16_t)(length[(i + 1) * width + j + 1] + 1)
                                        : (down > right ? down : right);
        }
    }
    size_t *partner = memory_alloc((a->count + 1) * sizeof(*partner));
    for (size_t i = 0, j = 0; i < a->count; i++) {
        partner[i] = SIZE_MAX;
        while (j < b->count && length[i * width + j] == length[i * width + j + 1])
            j++;
        if (j < b->count && span_equal(a->items[i].text, b->items[j].text) &&
            length[i * width + j] == length[(i + 1) * width + j + 1] + 1)
            partner[i] = j++;
    }
    partner[a->count] = b->count;
    memory_free(length);
    return partner;
}

static enum repair_hint compare(unsigned now, unsigned before)
{
    return now == before ? REPAIR_HINT_SAME : now < before ? REPAIR_HINT_MORE : REPAIR_HINT_LESS;
}

// The parentheses between two words that are neighbours in both texts can be compared.
static struct repair_hints *compare_gaps(const struct words *words, const struct words *before,
                                         const size_t *partner, size_t tokens)
{
    struct repair_hints *hints = memory_alloc_zero((tokens + 1) * sizeof(*hints));
    for (size_t i = 0; i <= words->count; i++) {
        size_t previous = i == 0 ? SIZE_MAX : partner[i - 1];
        bool neighbours =
            partner[i] != SIZE_MAX &&
            (i == 0 ? partner[i] == 0 : previous != SIZE_MAX && previous + 1 == partner[i]);
        if (!neighbours)
            continue;
        const struct word *now = &words->items[i], *then = &before->items[partner[i]];
        struct repair_hints hint = {(unsigned char)compare(now->opens, then->opens),
                                    (unsigned char)compare(now->closes, then->closes)};
        size_t from = i == 0 ? 0 : words->items[i - 1].token + 1;
        for (size_t token = from; token <= now->token; token++)
            hints[token] = hint;
    }
    return hints;
}

static bool same_head(const struct words *a, const struct words *b)
{
    if (a->count < HEAD_WORDS || b->count < HEAD_WORDS)
        return false;
    for (size_t i = 0; i < HEAD_WORDS; i++)
        if (!span_equal(a->items[i].text, b->items[i].text))
            return false;
    return true;
}

// The first form of the base with the same head.
static bool find_form(const struct repair_base *base, const struct lisp_tokens *tokens,
                      const struct words *wanted, struct words *ret_words)
{
    for (size_t i = 0; i < tokens->count;) {
        size_t depth = 0, start = i;
        do {
            depth += tokens->items[i].kind == LISP_TOKEN_OPEN;
            depth -= tokens->items[i].kind == LISP_TOKEN_CLOSE && depth > 0;
            i++;
        } while (depth > 0 && i < tokens->count);
        words_init(ret_words, base->text, tokens, start, i);
        if (same_head(ret_words, wanted) && ret_words->count <= ATOMS_MAXIMUM)
            return true;
        memory_free(ret_words->items);
    }
    return false;
}

struct repair_hints *repair_base_hints(const struct repair_base *base, struct span segment,
                                       const struct lisp_tokens *tokens)
{
    struct words words, before;
    struct lisp_tokens base_tokens;
    struct repair_hints *hints = NULL;
    words_init(&words, segment, tokens, 0, tokens->count);
    lisp_tokens_init(&base_tokens, base->text);
    if (words.count <= ATOMS_MAXIMUM && find_form(base, &base_tokens, &words, &before)) {
        size_t *partner = words_align(&words, &before);
        if (partner)
            hints = compare_gaps(&words, &before, partner, tokens->count);
        memory_free(partner);
        memory_free(before.items);
    }
    lisp_tokens_release(&base_tokens);
    memory_free(words.items);
    return hints;
}
