// Cells: values that change while a run lasts: atoms, volatiles, delays (docs/reference/language.md
// 8.13). A cell belongs to the branch of pmap that made it.
#pragma once

#include "program/run/run.h"

enum cell_kind { CELL_ATOM, CELL_VOLATILE, CELL_MATCHER, CELL_TRANSIENT, CELL_DELAY, CELL_REDUCED };

struct cell {
    struct foreign foreign;
    enum cell_kind kind;
    bool is_pending;  // a delay that has not been forced: the content is its function
    uint64_t branch;
    value content;
    value validator;  // of an atom: what its content must satisfy, or nil
};

// Consumes the content.
value cell_new(struct run *run, enum cell_kind kind, value content);
// The cell, or NULL for any other value.
struct cell *value_cell(value v);
// The same as an argument of a builtin; raises unless it is a cell of this branch.
struct cell *argument_cell(struct run *run, const struct builtin *self, const value *arguments,
                           unsigned place);
// A matcher or a transient of this branch; raises for any other value.
struct cell *argument_cell_of(struct run *run, const struct builtin *self, const value *arguments,
                              enum cell_kind kind);
// Raises unless the validator, which may be nil, takes the new content.
void content_validate(struct run *run, value validator, value content);
bool cell_is_foreign(const struct run *run, const struct cell *cell);  // made by another branch
value cell_exchange(struct cell *cell, value content);                 // the old content
