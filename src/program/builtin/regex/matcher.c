// Matchers: re-matcher, and re-find and re-groups of one (docs/reference/language.md 8.10). A matcher is
// a cell with [matches count]: all matches, which are found when it is made, and how many of them re-find
// has given.
#include "program/builtin/builtins.h"
#include "program/builtin/regex/regex_builtins.h"
#include "program/builtin/support.h"
#include "program/eval/cell.h"

value builtin_re_matcher(struct run *run, const struct builtin *self, value *arguments,
                         size_t count)
{
    value matches = builtin_re_seq(run, self, arguments, count);
    if (value_is_nil(matches))
        matches = vector_new(run->region, 0);
    return cell_new(run, CELL_MATCHER, vector_pair(run, matches, value_integer(0)));
}

value matcher_find(struct run *run, const struct builtin *self, value *arguments)
{
    struct cell *cell = argument_cell_of(run, self, arguments, CELL_MATCHER);
    value matches = vector_at(cell->content, 0);
    size_t given = (size_t)vector_at(cell->content, 1).integer, count = vector_count(matches);
    value next = vector_pair(run, value_retain(matches),
                             value_integer((int64_t)(given < count ? given + 1 : count + 1)));
    value match = given < count ? value_retain(vector_at(matches, given)) : value_nil();
    value_release(run->region, cell_exchange(cell, next));
    return match;
}

value builtin_re_groups(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    const struct cell *cell = argument_cell_of(run, self, arguments, CELL_MATCHER);
    value matches = vector_at(cell->content, 0);
    size_t given = (size_t)vector_at(cell->content, 1).integer;
    if (given == 0 || given > vector_count(matches))
        builtin_fail(run, self, RUNTIME_ERROR,
                     "No match found: re-find of the matcher comes first");
    return value_retain(vector_at(matches, given - 1));
}
