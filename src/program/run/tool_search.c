#include "program/run/tool_search.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/ascii.h"

enum { TERMS_MAX = 16, WORD_MAX = 32, NAME_WEIGHT = 3 };

// In lower case, and without the s of a plural.
struct word {
    char text[WORD_MAX];
    size_t length;
};

enum letter { LETTER_NONE, LETTER_LOWER, LETTER_UPPER };

// A tool as the search sees it.
struct document {
    size_t number;
    struct span name;
    double length;             // words
    double counts[TERMS_MAX];  // how often it has each term
    double score;
};

struct search {
    struct word terms[TERMS_MAX];
    size_t term_count;
    uint8_t letters[256];  // enum letter of each byte
    char lower[256];
    struct document *documents;
    size_t count;
};

// --- words ---------------------------------------------------------------------------------------

static void read_alphabet(struct search *search)
{
    for (int byte = 0; byte < 256; byte++) {
        bool upper = byte >= 'A' && byte <= 'Z';
        bool lower = ascii_is_letter((char)byte) || ascii_is_digit((char)byte) || byte >= 0x80;
        search->letters[byte] = upper ? LETTER_UPPER : lower ? LETTER_LOWER : LETTER_NONE;
        search->lower[byte] = (char)(upper ? byte + 32 : byte);
    }
}

// The next word from *at on as it is written: "listIssues" has two.
static struct span next_word(const struct search *search, struct span text, size_t *at)
{
    const uint8_t *bytes = (const uint8_t *)text.data, *letters = search->letters;
    size_t i = *at;
    while (i < text.length && letters[bytes[i]] == LETTER_NONE)
        i++;
    size_t start = i;
    for (; i < text.length && letters[bytes[i]] != LETTER_NONE; i++)
        if (letters[bytes[i]] == LETTER_UPPER && i > start && letters[bytes[i - 1]] != LETTER_UPPER)
            break;
    *at = i;
    size_t length = i - start < WORD_MAX ? i - start : WORD_MAX;
    bool plural = length > 3 && search->lower[bytes[start + length - 1]] == 's';
    return (struct span){text.data + start, length - plural};
}

static bool is_term(const struct search *search, struct span word, const struct word *term)
{
    if (word.length != term->length)
        return false;
    for (size_t i = 0; i < word.length; i++)
        if (search->lower[(uint8_t)word.data[i]] != term->text[i])
            return false;
    return true;
}

static void count_words(const struct search *search, struct document *document, struct span text,
                        double weight)
{
    struct span word;
    for (size_t at = 0; (word = next_word(search, text, &at)).length;) {
        document->length += 1;
        for (size_t i = 0; i < search->term_count; i++)
            if (is_term(search, word, &search->terms[i]))
                document->counts[i] += weight;
    }
}

// Words that say nothing about what is meant.
static bool is_filler(const struct word *term)
{
    static const char *const fillers[] = {"a",  "an", "and", "by",  "for", "from", "in",
                                          "of", "on", "or",  "the", "to",  "with"};
    for (size_t i = 0; i < COUNT_OF(fillers); i++)
        if (span_equal_text((struct span){term->text, term->length}, fillers[i]))
            return true;
    return false;
}

static void read_terms(struct search *search, struct span query)
{
    struct span word;
    for (size_t at = 0;
         search->term_count < TERMS_MAX && (word = next_word(search, query, &at)).length;) {
        struct word *term = &search->terms[search->term_count];
        term->length = word.length;
        for (size_t i = 0; i < word.length; i++)
            term->text[i] = search->lower[(uint8_t)word.data[i]];
        bool is_new = !is_filler(term);
        for (size_t i = 0; i < search->term_count; i++)
            is_new = is_new && !is_term(search, word, &search->terms[i]);
        search->term_count += is_new;
    }
}

// --- scores --------------------------------------------------------------------------------------

static void read_documents(struct search *search, const struct tool_text *tools, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct document *document = &search->documents[search->count++];
        document->number = i;
        document->name = tools[i].name;
        count_words(search, document, tools[i].name, NAME_WEIGHT);
        count_words(search, document, tools[i].signature, 1);
        count_words(search, document, tools[i].description, 1);
    }
}

// Okapi BM25 with its usual constants.
static void score(struct search *search)
{
    const double k = 1.2, b = 0.75;
    double total = 0;
    for (size_t i = 0; i < search->count; i++)
        total += search->documents[i].length;
    double average = total / (double)search->count + 1e-9;
    for (size_t term = 0; term < search->term_count; term++) {
        double with = 0;
        for (size_t i = 0; i < search->count; i++)
            with += search->documents[i].counts[term] > 0;
        double weight = log(1 + ((double)search->count - with + 0.5) / (with + 0.5));
        for (size_t i = 0; i < search->count; i++) {
            struct document *document = &search->documents[i];
            double count = document->counts[term];
            document->score +=
                weight * count * (k + 1) / (count + k * (1 - b + b * document->length / average));
        }
    }
}

static int compare_names(struct span a, struct span b)
{
    size_t shorter = a.length < b.length ? a.length : b.length;
    int order = memcmp(a.data, b.data, shorter);
    return order ? order : (a.length > b.length) - (a.length < b.length);
}

// Best first; of equal ones by name, so that a search is repeatable.
static int compare_documents(const void *a, const void *b)
{
    const struct document *left = a, *right = b;
    if (left->score != right->score)
        return left->score < right->score ? 1 : -1;
    return compare_names(left->name, right->name);
}

size_t tool_search(struct region *region, const struct tool_text *tools, size_t count,
                   struct span query, size_t limit, size_t *ret_found)
{
    struct search search = {0};
    read_alphabet(&search);
    read_terms(&search, query);
    if (count == 0 || search.term_count == 0)
        return 0;
    search.documents = region_alloc_zero(region, count * sizeof(*search.documents));
    read_documents(&search, tools, count);
    score(&search);
    qsort(search.documents, search.count, sizeof(*search.documents), compare_documents);
    size_t found = 0;
    for (; found < count && found < limit && search.documents[found].score > 0; found++)
        ret_found[found] = search.documents[found].number;
    region_return(region, search.documents, count * sizeof(*search.documents));
    return found;
}
