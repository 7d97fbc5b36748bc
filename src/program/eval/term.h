// Terms: a local, a constant, or a sum, difference or product of two of them, where all are 64-bit
// integers. Once it is known where the integers lie, a term is evaluated again and again without a
// look at tags, a count of references or a call. In line, so that a loop over terms keeps them in
// registers.
#pragma once

#include "program/eval/eval.h"

struct term {  // a op b
    const int64_t *a;
    const int64_t *b;
    uint8_t operation;  // enum operation
};

// Can the expression be a term?
static inline bool term_is_possible(const struct expression *expression)
{
    const struct expression_builtin *call = (const void *)expression;
    return expression->kind == EXPRESSION_LOCAL || expression->kind == EXPRESSION_IMMEDIATE ||
           (expression->kind == EXPRESSION_CALL_BUILTIN && call->operation != OPERATION_OTHER);
}

static inline const int64_t *integer_slot(const struct frame *frame, uint32_t slot)
{
    const value *v = &frame->slots[slot];
    return v->tag == VALUE_INTEGER ? &v->integer : NULL;
}

// The operands of arithmetic or a comparison; false when they are not 64-bit integers now.
static inline bool term_resolve_operands(struct term *ret_term,
                                         const struct expression_builtin *call,
                                         const struct frame *frame)
{
    ret_term->a = integer_slot(frame, call->slot_a);
    ret_term->b =
        call->operands == OPERANDS_LOCALS ? integer_slot(frame, call->slot_b) : &call->constant;
    return ret_term->a && ret_term->b;
}

// The same for an expression that can be a term. Adds the units of fuel that it costs to *units.
static inline bool term_resolve(struct term *ret_term, const struct expression *expression,
                                const struct frame *frame, int64_t *units)
{
    static const int64_t zero;
    *ret_term = (struct term){.b = &zero, .operation = OPERATION_ADD};
    if (expression->kind == EXPRESSION_LOCAL) {
        ret_term->a = integer_slot(frame, ((const struct expression_index *)expression)->index);
    } else if (expression->kind == EXPRESSION_IMMEDIATE) {
        const value *v = &((const struct expression_immediate *)expression)->value;
        ret_term->a = v->tag == VALUE_INTEGER ? &v->integer : NULL;
    } else {
        const struct expression_builtin *call = (const void *)expression;
        ret_term->operation = call->operation;
        *units += 1;
        return term_resolve_operands(ret_term, call, frame);
    }
    return ret_term->a;
}

// The value; false when it does not fit 64 bits.
static inline bool term_evaluate(const struct term *term, int64_t *ret_result)
{
    if (term->operation == OPERATION_ADD)
        return !__builtin_add_overflow(*term->a, *term->b, ret_result);
    if (term->operation == OPERATION_SUBTRACT)
        return !__builtin_sub_overflow(*term->a, *term->b, ret_result);
    return !__builtin_mul_overflow(*term->a, *term->b, ret_result);
}
