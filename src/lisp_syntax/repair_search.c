#include "lisp_syntax/repair_search.h"

#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/memory.h"
#include "lisp_syntax/operator_shape.h"
#include "lisp_syntax/repair_state.h"

enum {
    // Edits. A parenthesis is most often forgotten, or once too many, at the end of a line.
    COST_ADD_CLOSE_AT_END = 8,
    COST_ADD_CLOSE_WITHIN = 12,
    COST_DROP_CLOSE_AT_END = 8,
    COST_DROP_CLOSE_WITHIN = 12,
    COST_OPEN = 13,
    COST_EMPTY = 4,         // and makes an empty list
    COST_HINTED = 2,        // an earlier version says so
    COST_AGAINST_HINT = 8,  // it says otherwise; on top
    // Disagreements.
    COST_OUTSIDE = 7,           // a line begins left of the list that it would be in
    COST_MARGIN = 30,           // a list begins at the margin within another one
    COST_CLOSED_TOO_EARLY = 4,  // it is indented as if in a list that ended before
    COST_ALIGNMENT = 1,
    COST_SHAPE = 4,
    COST_TOP_LEVEL_ATOM = 4,
    // Bounds of the search.
    ELEMENTS_MAXIMUM = 9,                // elements of a list are counted up to here
    VISITED_MAXIMUM = REPAIR_WIDTH * 4,  // states before a token that may get one more parenthesis
    ARENA_LIMIT = 256 << 20,
};

struct search {
    const struct lisp_tokens *tokens;
    struct span text;
    const struct repair_hints *hints;
    struct arena arena;
    struct states now, then;
    bool edits;  // may be made
    bool exhausted;
};

// --- lists ---------------------------------------------------------------------------------------

static const struct list *list_new(struct search *s, struct list content)
{
    struct list *list = arena_alloc(&s->arena, sizeof(*list));
    if (!list) {
        s->exhausted = true;
        return NULL;
    }
    *list = content;
    return list;
}

static unsigned column_of(const struct state *state, const struct lisp_token *token)
{
    int column = (int)token->column + (token->first ? 0 : state->shift);
    return column > 0 ? (unsigned)column : 0;
}

// One more element in the innermost list.
static void count_element(struct search *s, struct state *state, const struct lisp_token *token)
{
    if (!state->top)
        return;
    struct list list = *state->top;
    if (list.elements == 0 && token->kind == LISP_TOKEN_ATOM && !list.data)
        list.shape = operator_shape_find(lisp_token_text(s->text, token));
    if (list.elements == 1 && token->line == list.line)
        list.argument = column_of(state, token);
    if (token->first)
        list.sibling = token->column;
    if (list.elements < ELEMENTS_MAXIMUM)
        list.elements++;
    else if (list.shape && list.shape->pairs)
        list.elements -= 1;  // keeps odd and even apart
    state->top = list_new(s, list);
}

static void open_list(struct search *s, struct state *state, size_t index, bool added)
{
    static const struct lisp_token nothing = {0};
    const struct lisp_token *token = index < s->tokens->count ? &s->tokens->items[index] : &nothing;
    bool is_bindings =
        state->top && state->top->shape && state->top->shape->bindings && state->top->elements == 1;
    bool is_data = state->quoted || is_bindings || (state->top && state->top->data);
    unsigned column = column_of(state, token);
    struct lisp_token element = *token;
    element.kind = LISP_TOKEN_OPEN;
    count_element(s, state, &element);
    state->top = list_new(s, (struct list){.parent = state->top,
                                           .token = index,
                                           .column = column,
                                           .line = token->line,
                                           .argument = NO_COLUMN,
                                           .sibling = NO_COLUMN,
                                           .data = is_data,
                                           .added = added});
    if (added)
        state->shift++;
}

static unsigned shape_cost(const struct list *list)
{
    const struct operator_shape *shape = list->shape;
    if (!shape || list->conditional || list->elements == 0)
        return 0;
    unsigned arguments = list->elements - 1;
    bool fits = arguments >= shape->minimum && (arguments <= shape->maximum) &&
                (!shape->pairs || arguments % 2 == 0);
    return fits ? 0 : COST_SHAPE;
}

static void close_list(struct state *state)
{
    const struct list *list = state->top;
    state->cost += shape_cost(list);
    if (state->has_second)
        state->second_cost += shape_cost(list);
    if (list->column < state->leftmost)
        state->leftmost = list->column;
    state->top = list->parent;
}

// --- costs ---------------------------------------------------------------------------------------

static void spend(struct state *state, unsigned cost)
{
    state->cost += cost;
    if (state->has_second)
        state->second_cost += cost;
}

static bool is_aligned(const struct list *list, unsigned column)
{
    if (list->sibling != NO_COLUMN)
        return column == list->sibling;
    return column == list->column + 1 || column == list->column + 2 || column == list->column + 4 ||
           column == list->argument;
}

// A line begins with this token: does its column agree with the lists that are open?
static void begin_line(struct state *state, const struct lisp_token *token)
{
    unsigned column = token->column, cost = 0;
    bool dangling = token->kind == LISP_TOKEN_CLOSE;
    if (!dangling && !state->top && column > 0)
        cost += COST_OUTSIDE;
    if (!dangling && state->top && column <= state->top->column)
        cost += column == 0 && token->kind == LISP_TOKEN_OPEN ? COST_MARGIN : COST_OUTSIDE;
    if (!dangling && state->leftmost != NO_COLUMN && state->leftmost < column && state->top)
        cost += COST_CLOSED_TOO_EARLY;
    if (!dangling && state->top && column > state->top->column && !is_aligned(state->top, column))
        cost += COST_ALIGNMENT;
    spend(state, cost);
    state->shift = 0;
    state->leftmost = NO_COLUMN;
}

static unsigned hinted(unsigned cost, enum repair_hint hint, enum repair_hint wanted)
{
    if (hint == wanted)
        return COST_HINTED;
    return hint == REPAIR_HINT_NONE ? cost : cost + COST_AGAINST_HINT;
}

static struct repair_hints hints_at(const struct search *s, size_t index)
{
    return s->hints ? s->hints[index] : (struct repair_hints){0};
}

static bool at_line_end(const struct search *s, size_t index)
{
    return index >= s->tokens->count || s->tokens->items[index].first;
}

static bool edit(struct search *s, struct state *state, enum repair_edit_kind kind, size_t token,
                 unsigned cost)
{
    unsigned count = state->edits ? state->edits->count + 1 : 1;
    if (count > REPAIR_EDITS_MAXIMUM)
        return false;
    struct edit *edit = arena_alloc(&s->arena, sizeof(*edit));
    if (!edit) {
        s->exhausted = true;
        return false;
    }
    *edit = (struct edit){state->edits, {kind, token}, count};
    state->edits = edit;
    state->cost += cost;
    // The second-best way here makes the same edit; it is followed only as far as it stays a rival.
    if (state->has_second) {
        struct edit *second = arena_alloc(&s->arena, sizeof(*second));
        unsigned second_count = state->second_edits ? state->second_edits->count + 1 : 1;
        state->has_second = second && second_count <= REPAIR_EDITS_MAXIMUM;
        if (state->has_second) {
            *second = (struct edit){state->second_edits, {kind, token}, second_count};
            state->second_edits = second;
            state->second_cost += cost;
        }
    }
    return true;
}

// --- transitions ---------------------------------------------------------------------------------

// Directly before the end, or a token other than a close parenthesis: so that each text has one way.
static bool may_add_close(const struct search *s, size_t index)
{
    const struct lisp_token *items = s->tokens->items;
    if (index == 0 || items[index - 1].kind == LISP_TOKEN_PREFIX ||
        items[index - 1].kind == LISP_TOKEN_FEATURE)
        return false;
    return index == s->tokens->count || items[index].kind != LISP_TOKEN_CLOSE || items[index].first;
}

static void add_closes(struct search *s, size_t index)
{
    if (!may_add_close(s, index))
        return;
    bool ends_line = at_line_end(s, index);
    unsigned cost = hinted(ends_line ? COST_ADD_CLOSE_AT_END : COST_ADD_CLOSE_WITHIN,
                           hints_at(s, index).close, REPAIR_HINT_MORE);
    // States that this adds are visited, too: more than one may be missing.
    for (size_t i = 0; i < s->now.count && i < VISITED_MAXIMUM; i++) {
        struct state state = s->now.items[i];
        if (!state.top || (state.top->added && state.top->token == index) ||
            state.cost + cost > s->now.cheapest + REPAIR_MARGIN)
            continue;
        unsigned empty = state.top->elements == 0 ? COST_EMPTY : 0;
        if (!edit(s, &state, REPAIR_ADD_CLOSE, index, cost + empty))
            continue;
        close_list(&state);
        if (!ends_line)
            state.shift++;
        states_add(&s->now, &state);
    }
}

static bool may_add_open(const struct search *s, size_t index)
{
    const struct lisp_token *items = s->tokens->items;
    if (items[index].kind == LISP_TOKEN_CLOSE)
        return false;
    return index == 0 || items[index - 1].kind != LISP_TOKEN_OPEN ||
           !lisp_token_touches(&items[index - 1], &items[index]);
}

static void add_open(struct search *s, size_t index)
{
    if (!may_add_open(s, index))
        return;
    unsigned cost = hinted(COST_OPEN, hints_at(s, index).open, REPAIR_HINT_MORE);
    size_t count = s->now.count;
    for (size_t i = 0; i < count && i < VISITED_MAXIMUM; i++) {
        struct state state = s->now.items[i];
        if (state.cost + cost > s->now.cheapest + REPAIR_MARGIN ||
            !edit(s, &state, REPAIR_ADD_OPEN, index, cost))
            continue;
        open_list(s, &state, index, true);
        if (state.top)
            states_add(&s->now, &state);
    }
}

// The token as it stands.
static bool take(struct search *s, struct state *state, size_t index)
{
    const struct lisp_token *token = &s->tokens->items[index];
    switch (token->kind) {
    case LISP_TOKEN_OPEN:
        open_list(s, state, index, false);
        state->quoted = false;
        return state->top != NULL;
    case LISP_TOKEN_CLOSE:
        state->quoted = false;
        if (!state->top)
            return false;
        close_list(state);
        return true;
    case LISP_TOKEN_ATOM:
        if (!state->top)
            spend(state, COST_TOP_LEVEL_ATOM);
        if (!state->quoted || !state->top || state->top->elements > 0)
            count_element(s, state, token);
        else
            count_element(s, state,
                          &(struct lisp_token){.kind = LISP_TOKEN_PREFIX,
                                               .line = token->line,
                                               .column = token->column});
        state->quoted = false;
        return true;
    case LISP_TOKEN_PREFIX: {
        char c = s->text.data[token->offset];
        state->quoted = c == '\'' || c == '`' || c == '#';
        return true;
    }
    case LISP_TOKEN_FEATURE:
        if (state->top && !state->top->conditional) {
            struct list list = *state->top;
            list.conditional = true;
            state->top = list_new(s, list);
        }
        return true;
    }
    return false;
}

// Of a run of equal parentheses the first ones go: so that each text has one way.
static bool may_drop(const struct search *s, const struct state *state, size_t index)
{
    const struct lisp_token *token = &s->tokens->items[index];
    if (token->kind != LISP_TOKEN_OPEN && token->kind != LISP_TOKEN_CLOSE)
        return false;
    return state->dropped || index == 0 || token[-1].kind != token->kind ||
           !lisp_token_touches(token - 1, token);
}

static bool run_ends_line(const struct search *s, size_t index)
{
    while (index < s->tokens->count && s->tokens->items[index].kind == LISP_TOKEN_CLOSE)
        if (at_line_end(s, ++index))
            return true;
    return false;
}

static void drop(struct search *s, struct state state, size_t index)
{
    struct repair_hints hints = hints_at(s, index);
    unsigned cost;
    if (s->tokens->items[index].kind == LISP_TOKEN_OPEN)
        cost = hinted(COST_OPEN, hints.open, REPAIR_HINT_LESS);
    else
        cost = hinted(run_ends_line(s, index) ? COST_DROP_CLOSE_AT_END : COST_DROP_CLOSE_WITHIN,
                      hints.close, REPAIR_HINT_LESS);
    if (state.cost + cost > s->now.cheapest + REPAIR_MARGIN ||
        !edit(s, &state, REPAIR_DROP, index, cost))
        return;
    state.shift--;
    state.dropped = true;
    states_add(&s->then, &state);
}

static void swap(struct search *s)
{
    struct states swapped = s->now;
    s->now = s->then;
    s->then = swapped;
    states_clear(&s->then);
}

// States that differed only in what happened on the line before become one.
static void begin_lines(struct search *s, const struct lisp_token *token)
{
    for (size_t i = 0; i < s->now.count; i++) {
        struct state state = s->now.items[i];
        begin_line(&state, token);
        states_add(&s->then, &state);
    }
    swap(s);
}

static void advance(struct search *s, size_t index)
{
    if (s->edits)
        add_closes(s, index);
    if (s->tokens->items[index].first)
        begin_lines(s, &s->tokens->items[index]);
    if (s->edits)
        add_open(s, index);
    states_prune(&s->now);
    for (size_t i = 0; i < s->now.count; i++) {
        struct state state = s->now.items[i];
        if (s->edits && may_drop(s, &state, index))
            drop(s, state, index);
        state.dropped = false;
        if (take(s, &state, index))
            states_add(&s->then, &state);
    }
    swap(s);
}

// --- the outcome ---------------------------------------------------------------------------------

static void write_path(struct repair_path *path, unsigned cost, const struct edit *edits)
{
    path->cost = cost;
    path->count = edits ? edits->count : 0;
    for (size_t i = path->count; edits; edits = edits->before)
        path->edits[--i] = edits->edit;
}

static void write_outcome(const struct search *s, struct repair_paths *paths)
{
    struct state outcome = {0};
    bool found = false;
    for (size_t i = 0; i < s->now.count; i++) {
        const struct state *state = &s->now.items[i];
        if (state->top)
            continue;
        if (found)
            state_merge(&outcome, state);
        else
            outcome = *state;
        found = true;
    }
    paths->has_best = found && !s->exhausted;
    if (!paths->has_best)
        return;
    write_path(&paths->best, outcome.cost, outcome.edits);
    paths->has_second = outcome.has_second;
    if (outcome.has_second)
        write_path(&paths->second, outcome.second_cost, outcome.second_edits);
}

static struct search *search_run(const struct lisp_tokens *tokens, struct span text,
                                 const struct repair_hints *hints, bool edits)
{
    struct search *s = memory_alloc_zero(sizeof(*s));
    s->tokens = tokens;
    s->text = text;
    s->hints = hints;
    s->edits = edits;
    arena_init(&s->arena, ARENA_LIMIT);
    states_clear(&s->now);
    states_clear(&s->then);
    states_add(&s->now, &(struct state){.leftmost = NO_COLUMN});
    for (size_t i = 0; i < tokens->count && s->now.count > 0 && !s->exhausted; i++)
        advance(s, i);
    if (edits)
        add_closes(s, tokens->count);
    return s;
}

static void search_free(struct search *s)
{
    states_release(&s->now);
    states_release(&s->then);
    arena_release(&s->arena);
    memory_free(s);
}

void repair_search(const struct lisp_tokens *tokens, struct span text,
                   const struct repair_hints *hints, struct repair_paths *ret_paths)
{
    *ret_paths = (struct repair_paths){0};
    struct search *s = search_run(tokens, text, hints, true);
    write_outcome(s, ret_paths);
    search_free(s);
}

unsigned repair_disagreement(const struct lisp_tokens *tokens, struct span text)
{
    struct repair_paths paths = {0};
    struct search *s = search_run(tokens, text, NULL, false);
    write_outcome(s, &paths);
    search_free(s);
    return paths.has_best ? paths.best.cost : UINT_MAX;
}
