#include "program/compile/suggest.h"

#include <stdio.h>
#include <string.h>

#include "program/builtin/builtin.h"

enum { MAX_NAME = 40 };

// Edits (insert, delete, replace, swap of neighbours) that make one name from the other; both are at
// most MAX_NAME bytes.
static unsigned edit_distance(struct span a, struct span b)
{
    unsigned rows[3][MAX_NAME + 1];
    unsigned *before = rows[0], *above = rows[1], *row = rows[2];
    for (size_t j = 0; j <= b.length; j++)
        above[j] = (unsigned)j;
    for (size_t i = 1; i <= a.length; i++) {
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= b.length; j++) {
            unsigned best = above[j - 1] + (a.data[i - 1] != b.data[j - 1]);
            if (above[j] + 1 < best)
                best = above[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            if (i > 1 && j > 1 && a.data[i - 1] == b.data[j - 2] &&
                a.data[i - 2] == b.data[j - 1] && before[j - 2] + 1 < best)
                best = before[j - 2] + 1;
            row[j] = best;
        }
        unsigned *spare = before;
        before = above;
        above = row;
        row = spare;
    }
    return above[b.length];
}

void suggest_add(struct diagnostic *diagnostic, struct suggestion best)
{
    struct span name = best.name;
    if (!name.length)
        return;
    char text[DIAGNOSTIC_OP_SIZE];
    snprintf(text, sizeof(text), "%.*s", (int)name.length, name.data);
    for (unsigned i = 0; i < diagnostic->suggestion_count; i++) {
        if (strcmp(diagnostic->suggestions[i], text) == 0)
            return;
    }
    if (diagnostic->suggestion_count < DIAGNOSTIC_SUGGESTIONS)
        memcpy(diagnostic->suggestions[diagnostic->suggestion_count++], text, sizeof(text));
}

const char *suggest_text(struct diagnostic *diagnostic, struct suggestion best,
                         char text[SUGGESTION_TEXT])
{
    suggest_add(diagnostic, best);
    if (!best.name.length)
        return NULL;
    snprintf(text, SUGGESTION_TEXT, "did you mean %.*s?", (int)best.name.length, best.name.data);
    return text;
}

static bool is_swapped_pair(struct span a, struct span b)
{
    return a.length == 2 && b.length == 2 && a.data[0] == b.data[1] && a.data[1] == b.data[0];
}

static unsigned common_prefix(struct span a, struct span b)
{
    unsigned length = 0;
    while (length < a.length && length < b.length && a.data[length] == b.data[length])
        length++;
    return length;
}

// Of names equally far away: the one that begins alike longest, the shorter one, the one first in the
// alphabet, so that the order of the candidates does not matter.
static bool is_closer(struct suggestion a, struct suggestion b)
{
    if (b.name.length == 0 || a.distance != b.distance)
        return b.name.length == 0 || a.distance < b.distance;
    if (a.prefix != b.prefix)
        return a.prefix > b.prefix;
    if (a.name.length != b.name.length)
        return a.name.length < b.name.length;
    return memcmp(a.name.data, b.name.data, a.name.length) < 0;
}

void suggest_closer(struct suggestion *best, struct span name, struct span candidate)
{
    if (candidate.length == 0 || candidate.length > MAX_NAME || name.length > MAX_NAME)
        return;
    // Every short name is near some other one.
    if (name.length < 3 && !is_swapped_pair(name, candidate))
        return;
    unsigned allowed = name.length <= 3 ? 1 : name.length <= 8 ? 2 : 3;
    if (candidate.length > name.length + allowed || name.length > candidate.length + allowed)
        return;
    struct suggestion suggestion = {.name = candidate,
                                    .distance = edit_distance(name, candidate),
                                    .prefix = common_prefix(name, candidate)};
    if (suggestion.distance > 0 && suggestion.distance <= allowed && is_closer(suggestion, *best))
        *best = suggestion;
}

void suggest_builtin(struct suggestion *best, struct span name)
{
    for (size_t i = 0; i < builtin_count; i++)
        suggest_closer(best, name, span_from(builtin_table[i].name));
    for (int special = SPECIAL_NONE + 1; special < SPECIAL_COUNT; special++)
        suggest_closer(best, name, span_from(special_name((enum special)special)));
}

// --- lists of names ------------------------------------------------------------------------------

// Bytes of a name, of a hint, and of "and N more".
enum { NAME_SHOWN = 60, HINT_SHOWN = 80, MORE_SIZE = 32 };

void name_list_add(struct name_list *list, const char *separator, struct span name,
                   const char *hint)
{
    list->count++;
    if (list->shown + 1 < list->count)
        return;  // one was left out already
    char text[NAME_SHOWN + HINT_SHOWN + 10];
    int length = snprintf(text, sizeof(text), "%s%.*s", list->shown ? separator : "",
                          name.length > NAME_SHOWN ? NAME_SHOWN : (int)name.length, name.data);
    if (hint)
        length +=
            snprintf(text + length, sizeof(text) - (size_t)length, " (%.*s)", HINT_SHOWN, hint);
    if (list->used + (size_t)length + MORE_SIZE > sizeof(list->text))
        return;
    memcpy(list->text + list->used, text, (size_t)length + 1);
    list->used += (size_t)length;
    list->shown++;
}

const char *name_list_text(struct name_list *list)
{
    size_t left = list->count - list->shown;
    if (list->count == 0)
        return "none";
    if (left)
        snprintf(list->text + list->used, sizeof(list->text) - list->used, " and %zu more", left);
    return list->text;
}
