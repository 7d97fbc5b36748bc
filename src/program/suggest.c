// Did you mean …? Names at a small edit distance.
#include <stdio.h>
#include <string.h>

#include "program/analysis.h"
#include "program/suggest.h"

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

void suggest_closer(struct suggestion *best, struct span name, struct span candidate)
{
    if (candidate.length == 0 || candidate.length > MAX_NAME || name.length > MAX_NAME ||
        name.length == 0)
        return;
    unsigned allowed = name.length <= 3 ? 1 : name.length <= 8 ? 2 : 3;
    unsigned distance = edit_distance(name, candidate);
    if (distance > 0 && distance <= allowed && (!best->name.length || distance < best->distance))
        *best = (struct suggestion){.name = candidate, .distance = distance};
}

void suggest_builtin(struct suggestion *best, struct span name)
{
    for (size_t i = 0; i < builtin_count; i++)
        suggest_closer(best, name, span_from(builtin_table[i].name));
    for (int special = SPECIAL_NONE + 1; special < SPECIAL_COUNT; special++)
        suggest_closer(best, name, span_from(special_name((enum special)special)));
}
