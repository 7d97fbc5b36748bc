// Making forms: what the special forms that stand for others are rewritten to.
#pragma once

#include "program/compile/analysis.h"

struct form *form_make(struct analysis *analysis, enum form_kind kind, const struct form *around);
// A special form, or a name as source text would have it; core/x is the builtin x whatever the program
// binds.
struct form *form_name(struct analysis *analysis, const char *name, const struct form *around);
struct form *form_of_symbol(struct analysis *analysis, struct symbol *symbol,
                            const struct form *around);
struct form *form_text(struct analysis *analysis, enum form_kind kind, struct span text,
                       const struct form *around);
// A list or vector of `count` forms, given as arguments.
struct form *form_items(struct analysis *analysis, enum form_kind kind, const struct form *around,
                        size_t count, ...);
// The given forms and, behind them, `tail_count` others.
struct form *form_with_tail(struct analysis *analysis, struct form *start, struct form **tail,
                            size_t tail_count);
// The text of a form in the source.
struct span form_source(const struct analysis *analysis, const struct form *form);
bool form_mentions(const struct form *form, const struct symbol *symbol);
// The form with one symbol replaced by another.
struct form *form_replace(struct analysis *analysis, struct form *form, const struct symbol *symbol,
                          struct symbol *by);
