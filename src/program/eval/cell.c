#include "program/eval/cell.h"

#include "program/builtin/support.h"
#include "program/eval/eval.h"
#include "value/text/sink.h"

static size_t cell_size(const struct object *object)
{
    (void)object;
    return sizeof(struct cell);
}

static value *cell_children(struct object *object, size_t *ret_count)
{
    *ret_count = 2;
    return &((struct cell *)object)->content;
}

static void cell_print(struct sink *sink, const struct object *object)
{
    static const char *const texts[] = {
        [CELL_ATOM] = "#<atom>",       [CELL_VOLATILE] = "#<volatile>",
        [CELL_MATCHER] = "#<matcher>", [CELL_TRANSIENT] = "#<transient>",
        [CELL_DELAY] = "#<delay>",     [CELL_REDUCED] = "#<reduced>",
    };
    sink_text(sink, texts[((const struct cell *)object)->kind]);
}

static const struct object_type cell_type = {
    .kind = "atom",
    .size = cell_size,
    .children = cell_children,
    .print = cell_print,
};

value cell_new(struct run *run, enum cell_kind kind, value content)
{
    struct cell *cell = region_alloc(run->region, sizeof(*cell));
    *cell = (struct cell){
        .foreign = {.header = object_header(OBJECT_FOREIGN), .type = &cell_type},
        .kind = kind,
        .is_pending = kind == CELL_DELAY,
        .branch = run->state->branch.id,
        .content = content,
        .validator = value_nil(),
    };
    return (value){.tag = VALUE_FUNCTION, .object = &cell->foreign.header};
}

struct cell *value_cell(value v)
{
    return value_is_foreign(v, &cell_type) ? (struct cell *)v.object : NULL;
}

bool cell_is_foreign(const struct run *run, const struct cell *cell)
{
    return cell->branch != run->state->branch.id;
}

static void check_branch(struct run *run, const struct builtin *self, const struct cell *cell)
{
    if (cell_is_foreign(run, cell) && (cell->kind < CELL_DELAY || cell->is_pending))
        builtin_fail(run, self, RUNTIME_ERROR,
                     "an atom belongs to the branch of pmap or pcalls that made it; return values "
                     "from the branches and combine them afterwards");
}

struct cell *argument_cell(struct run *run, const struct builtin *self, const value *arguments,
                           unsigned place)
{
    struct cell *cell = value_cell(arguments[place]);
    if (!cell || cell->kind == CELL_MATCHER || cell->kind == CELL_TRANSIENT)
        run_type_error(run, self, place + 1, "an atom, volatile or delay", arguments[place], NULL);
    check_branch(run, self, cell);
    return cell;
}

struct cell *argument_cell_of(struct run *run, const struct builtin *self, const value *arguments,
                              enum cell_kind kind)
{
    bool is_matcher = kind == CELL_MATCHER;
    struct cell *cell = value_cell(arguments[0]);
    if (!cell || cell->kind != kind)
        run_type_error(run, self, 1, is_matcher ? "a matcher" : "a transient", arguments[0],
                       is_matcher ? "(re-matcher re s) makes one" : "(transient coll) makes one");
    check_branch(run, self, cell);
    return cell;
}

void content_validate(struct run *run, value validator, value content)
{
    if (value_is_nil(validator))
        return;
    value_retain(validator);  // it may set another one
    bool is_valid = run_test(run, validator, content);
    value_release(run->region, validator);
    if (!is_valid)
        run_raise(run, RUNTIME_ERROR, NULL, "Invalid reference state");
}

value cell_exchange(struct cell *cell, value content)
{
    value old = cell->content;
    cell->content = content;
    return old;
}
