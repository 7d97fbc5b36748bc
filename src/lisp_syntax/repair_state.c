#include "lisp_syntax/repair_state.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

static bool same_list(const struct list *a, const struct list *b)
{
    while (a != b) {
        if (!a || !b || a->token != b->token || a->column != b->column ||
            a->argument != b->argument || a->sibling != b->sibling || a->elements != b->elements ||
            a->shape != b->shape || a->conditional != b->conditional || a->data != b->data ||
            a->added != b->added)
            return false;
        a = a->parent;
        b = b->parent;
    }
    return true;
}

static uint32_t hash(const struct state *state)
{
    uint32_t h = 2166136261u ^ (uint32_t)state->shift ^ state->leftmost << 7;
    for (const struct list *list = state->top; list; list = list->parent)
        h = (h ^ (uint32_t)list->token ^ list->elements << 20 ^ list->sibling << 11) * 16777619u;
    return h % REPAIR_BUCKETS;
}

void states_clear(struct states *states)
{
    states->count = 0;
    states->cheapest = UINT32_MAX;
    memset(states->buckets, 0, sizeof(states->buckets));
}

static void offer_second(struct state *state, unsigned cost, const struct edit *edits)
{
    if (state->has_second && state->second_cost <= cost)
        return;
    state->has_second = true;
    state->second_cost = cost;
    state->second_edits = edits;
}

void state_merge(struct state *state, const struct state *other)
{
    if (other->cost < state->cost) {
        struct state loser = *state;
        *state = *other;
        offer_second(state, loser.cost, loser.edits);
        if (loser.has_second)
            offer_second(state, loser.second_cost, loser.second_edits);
        return;
    }
    offer_second(state, other->cost, other->edits);
    if (other->has_second)
        offer_second(state, other->second_cost, other->second_edits);
}

void states_add(struct states *states, const struct state *state)
{
    uint32_t bucket = hash(state);
    if (state->cost < states->cheapest)
        states->cheapest = state->cost;
    for (uint32_t i = states->buckets[bucket]; i; i = states->next[i - 1]) {
        struct state *other = &states->items[i - 1];
        if (other->shift == state->shift && other->leftmost == state->leftmost &&
            other->quoted == state->quoted && other->dropped == state->dropped &&
            same_list(other->top, state->top)) {
            state_merge(other, state);
            return;
        }
    }
    if (states->count == states->capacity) {
        states->capacity = states->capacity ? states->capacity * 2 : 256;
        states->items = memory_resize(states->items, states->capacity * sizeof(*states->items));
        states->next = memory_resize(states->next, states->capacity * sizeof(*states->next));
    }
    states->next[states->count] = states->buckets[bucket];
    states->items[states->count++] = *state;
    states->buckets[bucket] = (uint32_t)states->count;
}

void states_release(struct states *states)
{
    memory_free(states->items);
    memory_free(states->next);
}

static int by_cost(const void *a, const void *b)
{
    unsigned x = ((const struct state *)a)->cost, y = ((const struct state *)b)->cost;
    return (x > y) - (x < y);
}

void states_prune(struct states *states)
{
    if (states->count < 2)
        return;
    qsort(states->items, states->count, sizeof(*states->items), by_cost);
    size_t kept = states->count < REPAIR_WIDTH ? states->count : REPAIR_WIDTH;
    while (states->items[kept - 1].cost > states->items[0].cost + REPAIR_MARGIN)
        kept--;
    states->count = kept;
}
