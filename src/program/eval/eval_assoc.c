// assoc, which builds most maps: alone, and as the body of a function that reduce calls.
#include "program/builtin/support.h"
#include "program/eval/term.h"
#include "value/collection/hash_table.h"

// The container with the item; consumes all three.
static inline value put(const struct expression_builtin *call, struct run *run, value container,
                        value key, value item)
{
    run->site = call;
    if (__builtin_expect(container.tag != VALUE_MAP, 0)) {
        value arguments[3] = {container, key, item};
        return call->builtin->function(run, call->builtin, arguments, 3);
    }
    if (dense_append(&container, key, item))
        return container;
    return map_put(run->region, container, key, item);
}

value eval_assoc(const struct expression *expression, struct frame *frame, struct run *run)
{
    PART(builtin, call);
    // The call and, as the builtin counts it, the work of one entry.
    run_spend(run, 1);
    spend_call(run);
    value container = evaluate_quick(call->items[0], frame, run);
    value key = evaluate_quick(call->items[1], frame, run);
    value item = evaluate_quick(call->items[2], frame, run);
    return put(call, run, container, key, item);
}

// --- reduce --------------------------------------------------------------------------------------

// Does the body only put something into the first parameter, which it does not read otherwise?
bool assoc_is_reducer(const struct code *code)
{
    const struct expression_builtin *call = (const void *)code->body;
    if (code->parameter_count != 2 || code->has_rest || code->body->eval != eval_assoc)
        return false;
    const struct expression_index *container = (const void *)call->items[0];
    return container->base.quick == QUICK_LOCAL_MOVE && container->index == 0;
}

struct reduction {
    struct run *run;
    struct frame *frame;
    const struct code *code;
    const struct expression_builtin *call;  // the body
    struct sequence *items;
    bool is_plain;  // the sequence and the parameters are
};

// The container is in its slot only while the parameters are bound: defaults may read it.
static value bind_parameters(const struct reduction *reduction, value container)
{
    struct frame *frame = reduction->frame;
    frame->slots[0] = container;
    closure_bind_parameters(reduction->run, frame, reduction->code);
    container = frame->slots[0];
    frame->slots[0] = value_nil();
    return container;
}

// `spent` units of fuel are taken before other code runs.
static inline value evaluate_operand(const struct reduction *reduction, uint32_t number,
                                     int64_t *spent)
{
    const struct expression *operand = reduction->call->items[number];
    value v;
    if (quick_value(operand, reduction->frame, &v, spent))
        return v;
    reduction->run->fuel -= *spent;
    *spent = 0;
    return evaluate(operand, reduction->frame, reduction->run);
}

// Evaluates KEY and ITEM, as a call of assoc does, and drops the locals. `spent` units of fuel are
// taken with those of assoc.
static inline __attribute__((always_inline)) void
evaluate_entry(const struct reduction *reduction, value *ret_key, value *ret_item, int64_t spent)
{
    struct run *run = reduction->run;
    struct frame *frame = reduction->frame;
    spent += 2;  // the call and the work of one entry
    run->work++;
    *ret_key = evaluate_operand(reduction, 1, &spent);
    *ret_item = evaluate_operand(reduction, 2, &spent);
    if (__builtin_expect((run->fuel -= spent) < 0, 0))
        run_refill(run);
    for (uint32_t i = 1; i < reduction->code->slot_count; i++) {
        if (value_is_counted(frame->slots[i]))
            slot_store(run, frame, i, value_nil());
    }
}

// Appends to a packed table as long as the items of the sequence, KEY and ITEM are integers.
static void append_integers(const struct reduction *reduction, struct indexed *table)
{
    struct run *run = reduction->run;
    struct sequence *items = reduction->items;
    struct expression *const *operands = reduction->call->items;
    value *x = &reduction->frame->slots[1];
    struct term key_term, item_term;
    int64_t key, item, units = 4;  // the step, the call, assoc and its work
    *x = value_integer(0);
    if (!term_is_possible(operands[1]) || !term_is_possible(operands[2]) ||
        !term_resolve(&key_term, operands[1], reduction->frame, &units) ||
        !term_resolve(&item_term, operands[2], reduction->frame, &units))
        return;
    while (table->used < table->capacity && sequence_peek_integer(items, &x->integer) &&
           term_evaluate(&key_term, &key) && term_evaluate(&item_term, &item) &&
           (uint64_t)key - (uint64_t)table->first == table->used) {
        sequence_skip(items);
        packed_items(table)[table->used++] = item;
        run->work += 2;
        if (__builtin_expect((run->fuel -= units) < 0, 0))
            run_refill(run);
    }
}

// Appends to a dense table that nobody else sees. False: all items are used up. True: the entry in
// *ret_key and *ret_item is to be put in another way.
static bool append_entries(const struct reduction *reduction, struct indexed *table, value *ret_key,
                           value *ret_item)
{
    value x, key, item;
    if (table->is_packed)
        append_integers(reduction, table);
    while (sequence_take(reduction->items, &x)) {
        reduction->frame->slots[1] = x;
        reduction->run->work++;
        evaluate_entry(reduction, &key, &item, 2);  // the step and the call
        if (__builtin_expect(!dense_add(table, key, item), 0)) {
            *ret_key = key;
            *ret_item = item;
            return true;
        }
    }
    return false;
}

// Goes on to the next entry that is to be put by itself; those before it are appended to the
// container, which is not moved through its slot. False: all items are used up.
static inline bool next_entry(const struct reduction *reduction, value *container, value *ret_key,
                              value *ret_item)
{
    struct indexed *table = NULL;
    if (reduction->is_plain && container->tag == VALUE_MAP)
        table = dense_own(*container);
    if (table) {
        bool is_left = append_entries(reduction, table, ret_key, ret_item);
        container->aux = table->used;
        return is_left;
    }
    value x;
    if (!sequence_step(reduction->items, &x))
        return false;
    reduction->frame->slots[1] = x;
    spend_call(reduction->run);
    if (reduction->code->parameters)
        *container = bind_parameters(reduction, *container);
    evaluate_entry(reduction, ret_key, ret_item, 0);
    return true;
}

value assoc_reduce(struct run *run, struct frame *frame, const struct code *code, value container,
                   struct sequence *items)
{
    const struct reduction reduction = {
        .run = run,
        .frame = frame,
        .code = code,
        .call = (const void *)code->body,
        .items = items,
        .is_plain = sequence_is_plain(items) && !code->parameters,
    };
    const void *site = run->site;
    value key, item;
    for (uint32_t i = 0; i < code->slot_count; i++)
        frame->slots[i] = value_nil();
    while (next_entry(&reduction, &container, &key, &item)) {
        container = put(reduction.call, run, container, key, item);
        run->site = site;
    }
    return container;
}
