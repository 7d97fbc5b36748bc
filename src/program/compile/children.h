// The children of an expression: one place that knows where each kind keeps them.
#pragma once

#include "program/eval/expression.h"

typedef void expression_visitor_fn(struct expression *child, void *data);
typedef void pattern_visitor_fn(struct pattern *pattern, void *data);

struct child_visitor {
    expression_visitor_fn *expression;
    pattern_visitor_fn *pattern;  // what the expression binds
    void *data;
};

// Visits the children within the same function in the reverse order of evaluation: what is evaluated
// last comes first. Results of case that several constants share are visited once. The body of a fn
// is not visited: it is another function.
void expression_children(struct expression *expression, const struct child_visitor *visitor);
// The same for what a pattern consists of: patterns, and the defaults of :or.
void pattern_children(struct pattern *pattern, const struct child_visitor *visitor);
