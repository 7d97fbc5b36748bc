#include "tools/program/tool_search.h"

#include <math.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/ascii.h"
#include "base/memory.h"

enum { TERMS_MAX = 16, WORD_MAX = 32, NAME_WEIGHT = 3 };

struct word {
    char text[WORD_MAX];
    size_t length;
};

// A tool as the search sees it.
struct document {
    value name;
    double length;             // words
    double counts[TERMS_MAX];  // how often it has each term
    double score;
};

struct search {
    struct word terms[TERMS_MAX];
    size_t term_count;
    struct document *documents;
    size_t count;
};

// --- words ---------------------------------------------------------------------------------------

static bool is_word_byte(char byte)
{
    return ascii_is_letter(byte) || ascii_is_digit(byte) || (unsigned char)byte >= 0x80;
}

static bool is_upper(char byte)
{
    return byte >= 'A' && byte <= 'Z';
}

// The next word from *at on, in lower case, without the s of a plural: "listIssues" has two.
static bool next_word(struct span text, size_t *at, struct word *ret_word)
{
    while (*at < text.length && !is_word_byte(text.data[*at]))
        ++*at;
    ret_word->length = 0;
    for (; *at < text.length && is_word_byte(text.data[*at]); ++*at) {
        char byte = text.data[*at];
        bool begins = is_upper(byte) && ret_word->length > 0 && !is_upper(text.data[*at - 1]);
        if (begins)
            break;
        if (ret_word->length < WORD_MAX)
            ret_word->text[ret_word->length++] = is_upper(byte) ? (char)(byte + 32) : byte;
    }
    if (ret_word->length > 3 && ret_word->text[ret_word->length - 1] == 's')
        ret_word->length--;
    return ret_word->length > 0;
}

static bool same_word(const struct word *a, const struct word *b)
{
    return a->length == b->length && memcmp(a->text, b->text, a->length) == 0;
}

static void count_words(const struct search *search, struct document *document, struct span text,
                        double weight)
{
    struct word word;
    for (size_t at = 0; next_word(text, &at, &word);) {
        document->length += 1;
        for (size_t i = 0; i < search->term_count; i++)
            if (same_word(&word, &search->terms[i]))
                document->counts[i] += weight;
    }
}

// Words that say nothing about what is meant.
static bool is_filler(const struct word *word)
{
    static const char *const fillers[] = {"a",  "an", "and", "by",  "for", "from", "in",
                                          "of", "on", "or",  "the", "to",  "with"};
    for (size_t i = 0; i < COUNT_OF(fillers); i++)
        if (span_equal_text((struct span){word->text, word->length}, fillers[i]))
            return true;
    return false;
}

static void read_terms(struct search *search, struct span query)
{
    struct word *terms = search->terms;
    for (size_t at = 0;
         search->term_count < TERMS_MAX && next_word(query, &at, &terms[search->term_count]);) {
        bool is_new = !is_filler(&terms[search->term_count]);
        for (size_t i = 0; i < search->term_count; i++)
            is_new = is_new && !same_word(&terms[i], &terms[search->term_count]);
        search->term_count += is_new;
    }
}

// --- scores --------------------------------------------------------------------------------------

static void read_documents(struct search *search, value tools)
{
    value name, record;
    struct map_cursor cursor = map_iterate(tools);
    while (map_next(&cursor, &name, &record)) {
        struct document *document = &search->documents[search->count++];
        document->name = name;
        count_words(search, document, value_text(name), NAME_WEIGHT);
        count_words(search, document, map_get_string(record, "signature"), 1);
        count_words(search, document, map_get_string(record, "description"), 1);
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
    return compare_names(value_text(left->name), value_text(right->name));
}

value tool_search(struct region *region, value tools, struct span query, size_t limit)
{
    struct search search = {0};
    value found = vector_new(region, 0);
    read_terms(&search, query);
    if (map_count(tools) == 0 || search.term_count == 0)
        return found;
    search.documents = memory_alloc_zero(map_count(tools) * sizeof(*search.documents));
    read_documents(&search, tools);
    score(&search);
    qsort(search.documents, search.count, sizeof(*search.documents), compare_documents);
    for (size_t i = 0; i < search.count && i < limit && search.documents[i].score > 0; i++)
        found = vector_push(region, found, value_retain(search.documents[i].name));
    memory_free(search.documents);
    return found;
}
