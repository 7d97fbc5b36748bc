// Callables: closures, builtins, composed functions, tools, keywords, maps, sets, vectors
// (docs/reference/language.md 6).
#include <alloca.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "program/builtin/support.h"
#include "program/eval/eval.h"
#include "program/eval/stack.h"
#include "program/run/tool.h"
#include "value/collection/key_lookup.h"
#include "value/number/number.h"
#include "value/text/print.h"
#include "value/text/sink.h"

struct composed {
    struct foreign foreign;
    const struct composed_type *type;
    size_t count;
    value parts[];
};

struct tool_object {
    struct foreign foreign;
    uint32_t tool;
    const char *name;
};

// --- objects -------------------------------------------------------------------------------------

static size_t closure_size(const struct object *object)
{
    const struct closure *closure = (const struct closure *)object;
    return sizeof(*closure) + closure->code->capture_count * sizeof(value);
}

static value *closure_children(struct object *object, size_t *ret_count)
{
    struct closure *closure = (struct closure *)object;
    *ret_count = closure->code->capture_count;
    return closure->captures;
}

static void closure_print(struct sink *sink, const struct object *object)
{
    sink_text(sink, "#fn[");
    sink_span(sink, ((const struct closure *)object)->code->source);
    sink_byte(sink, ']');
}

const struct object_type closure_type = {
    .size = closure_size,
    .children = closure_children,
    .print = closure_print,
};

static size_t composed_size(const struct object *object)
{
    const struct composed *composed = (const struct composed *)object;
    return sizeof(*composed) + composed->count * sizeof(value);
}

static value *composed_children(struct object *object, size_t *ret_count)
{
    struct composed *composed = (struct composed *)object;
    *ret_count = composed->count;
    return composed->parts;
}

static void composed_print(struct sink *sink, const struct object *object)
{
    (void)object;
    sink_text(sink, "#fn[...]");
}

const struct object_type composed_type = {
    .size = composed_size,
    .children = composed_children,
    .print = composed_print,
};

static size_t tool_object_size(const struct object *object)
{
    (void)object;
    return sizeof(struct tool_object);
}

static void tool_print(struct sink *sink, const struct object *object)
{
    sink_text(sink, "#<tool ");
    sink_text(sink, ((const struct tool_object *)object)->name);
    sink_byte(sink, '>');
}

const struct object_type tool_type = {
    .size = tool_object_size,
    .print = tool_print,
};

static value function_value(struct foreign *foreign, const struct object_type *type)
{
    foreign->header = object_header(OBJECT_FOREIGN);
    foreign->type = type;
    return (value){.tag = VALUE_FUNCTION, .object = &foreign->header};
}

value function_compose(struct run *run, const struct composed_type *type, const value *parts,
                       size_t part_count)
{
    struct composed *composed =
        region_alloc(run->region, sizeof(*composed) + part_count * sizeof(value));
    composed->type = type;
    composed->count = part_count;
    if (part_count)
        memcpy(composed->parts, parts, part_count * sizeof(value));
    return function_value(&composed->foreign, &composed_type);
}

const value *function_parts(value f, const struct composed_type *type)
{
    if (!value_is_foreign(f, &composed_type))
        return NULL;
    const struct composed *composed = (const struct composed *)f.object;
    return composed->type == type ? composed->parts : NULL;
}

value tool_function(struct run *run, uint32_t tool)
{
    struct tool_object *object = region_alloc(run->region, sizeof(*object));
    object->tool = tool;
    object->name = tool_name(run, tool);
    return function_value(&object->foreign, &tool_type);
}

uint32_t function_tool(value f)
{
    return ((const struct tool_object *)f.object)->tool;
}

value function_from_builtin(const struct builtin *builtin)
{
    return (value){.tag = VALUE_FUNCTION, .flags = VALUE_BORROWED, .pointer = builtin};
}

const struct builtin *function_builtin(value f)
{
    return f.tag == VALUE_FUNCTION && (f.flags & VALUE_BORROWED) ? f.pointer : NULL;
}

bool value_is_function(value v)
{
    return v.tag == VALUE_FUNCTION &&
           ((v.flags & VALUE_BORROWED) || !((const struct foreign *)v.object)->type->kind);
}

bool run_is_callable(value f)
{
    return value_is_function(f) || f.tag == VALUE_KEYWORD || f.tag == VALUE_MAP ||
           f.tag == VALUE_SET || f.tag == VALUE_SYMBOL ||
           (f.tag == VALUE_VECTOR && !value_is_seq(f)) || value_is_transient(f);
}

void run_check_callable(struct run *run, const struct builtin *self, unsigned argument, value f)
{
    if (!run_is_callable(f))
        run_type_error(run, self, argument, "a function", f, NULL);
}

// --- closures ------------------------------------------------------------------------------------

static inline bool code_accepts(const struct code *code, size_t count)
{
    return count == code->parameter_count || (code->has_rest && count > code->parameter_count);
}

// "1, 2 or at least 3"
static const char *wanted_arguments(const struct code *code, char text[80])
{
    size_t length = 0;
    for (const struct code *arity = code; arity && length < 60; arity = arity->next_arity)
        length +=
            (size_t)snprintf(text + length, 80 - length, "%s%s%u",
                             arity == code       ? ""
                             : arity->next_arity ? ", "
                                                 : " or ",
                             arity->has_rest ? "at least " : "", (unsigned)arity->parameter_count);
    return text;
}

static _Noreturn void fail_closure_arity(struct run *run, const struct code *code, size_t count)
{
    char wanted[80];
    char name[64] = "";
    if (code->name.length)
        snprintf(name, sizeof(name), "%.*s", (int)(code->name.length > 60 ? 60 : code->name.length),
                 code->name.data);
    bool is_one = code->parameter_count == 1 && !code->next_arity;
    run_raise(run, ARITY_MISMATCH, name[0] ? name : "fn", "%s: expected %s argument%s, got %zu",
              name[0] ? name : "fn", wanted_arguments(code, wanted), is_one ? "" : "s", count);
}

const struct code *closure_code(const struct closure *closure, size_t count)
{
    const struct code *code = closure->code;
    while (code && !code_accepts(code, count))
        code = code->next_arity;
    return code;
}

struct closure_call {
    struct run *run;
    struct closure *closure;
    const struct code *code;
    value *arguments;
    size_t count;
    value result;
};

// Arguments and stack are known to fit.
static void closure_enter(void *data)
{
    struct closure_call *call = data;
    const struct code *code = call->code;
    struct frame *frame = alloca(sizeof(*frame) + code->slot_count * sizeof(value));
    frame->closure = call->closure;
    frame->instance = call->closure->instance;
    uint32_t filled = code->parameter_count;
    if (filled)
        memcpy(frame->slots, call->arguments, filled * sizeof(value));
    if (code->has_rest) {
        size_t rest = call->count - filled;
        if (rest == 0)
            frame->slots[filled] = value_nil();
        else
            frame->slots[filled] =
                vector_as_seq(vector_from(call->run->region, call->arguments + filled, rest));
        filled++;
    }
    for (uint32_t i = filled; i < code->slot_count; i++)
        frame->slots[i] = value_nil();
    call->result = closure_run(call->run, frame, code);
}

static value closure_call(struct run *run, struct closure *closure, value *arguments, size_t count)
{
    const struct code *code = closure_code(closure, count);
    if (!code)
        fail_closure_arity(run, closure->code, count);
    if (__builtin_expect(--run->fuel < 0, 0))
        run_refill(run);
    struct closure_call call = {run, closure, code, arguments, count, value_nil()};
    object_retain(&closure->foreign.header);
    if (__builtin_expect(stack_is_low(run->stack_end, code->stack_need), 0))
        stack_call(run, code->stack_need, closure_enter, &call);
    else
        closure_enter(&call);
    object_release(run->region, &closure->foreign.header);
    return call.result;
}

// --- the others ----------------------------------------------------------------------------------

value builtin_apply(struct run *run, const struct builtin *builtin, value *arguments, size_t count)
{
    if (!(builtin->flags & BUILTIN_BORROWS))
        return builtin->function(run, builtin, arguments, count);
    value few[4];
    value *kept = few;
    bool many = count > COUNT_OF(few);
    if (many)
        kept = region_alloc(run->region, count * sizeof(value));
    if (count)
        memcpy(kept, arguments, count * sizeof(value));
    value result = builtin->function(run, builtin, arguments, count);
    for (size_t i = 0; i < count; i++)
        value_release(run->region, kept[i]);
    if (many)
        region_return(run->region, kept, count * sizeof(value));
    return result;
}

value keyword_apply(struct run *run, value key, value subject, value otherwise)
{
    value item;
    bool found = false;
    if (value_is_transient(subject)) {
        value content = transient_content(run, subject);
        value_release(run->region, subject);
        return keyword_apply(run, key, content, otherwise);
    }
    if (subject.tag == VALUE_MAP) {
        found = map_find_flexible(subject, key, &item);
    } else if (subject.tag == VALUE_SET && set_has(subject, key)) {
        found = true;
        item = key;
    }
    if (!found) {
        value_release(run->region, subject);
        return otherwise;
    }
    value_retain(item);
    value_release(run->region, subject);
    value_release(run->region, otherwise);
    return item;
}

static _Noreturn void fail_lookup_arity(struct run *run, const char *what, const char *wanted,
                                        size_t count)
{
    run_raise(run, ARITY_ERROR, NULL, "a %s called as a function takes %s, got %zu argument%s",
              what, wanted, count, count == 1 ? "" : "s");
}

// ([10 20] 1): the element at an index, which must be there.
static value call_vector(struct run *run, value vector, value *arguments, size_t count)
{
    if (count != 1)
        fail_lookup_arity(run, "vector", "one argument", count);
    char text[DESCRIBE_SIZE];
    value index = arguments[0];
    if (index.tag != VALUE_INTEGER)
        run_raise(run, TYPE_ERROR, NULL, "a vector called as a function takes an index, got %s",
                  value_describe(index, text));
    if (index.integer < 0 || (uint64_t)index.integer >= vector_count(vector))
        run_raise(run, RUNTIME_ERROR, NULL, "index %lld is outside a vector of %zu",
                  (long long)index.integer, vector_count(vector));
    return value_retain(vector_at(vector, (size_t)index.integer));
}

static value call_lookup(struct run *run, value f, value *arguments, size_t count)
{
    if (f.tag == VALUE_SET) {
        if (count != 1)
            fail_lookup_arity(run, "set", "one argument", count);
        // The member and the argument are identical, but may be spelt differently (0.0 and -0.0).
        if (set_has(f, arguments[0]))
            return arguments[0];
        run_warn_member(run, f, arguments[0]);
        value_release(run->region, arguments[0]);
        return value_nil();
    }
    if (count != 1 && count != 2)
        fail_lookup_arity(run,
                          f.tag == VALUE_MAP       ? "map"
                          : f.tag == VALUE_KEYWORD ? "keyword"
                                                   : "symbol",
                          "one or two arguments", count);
    value otherwise = count == 2 ? arguments[1] : value_nil();
    if (f.tag == VALUE_KEYWORD)
        return keyword_apply(run, f, arguments[0], otherwise);
    value item, map = f, key = arguments[0];
    if (f.tag == VALUE_SYMBOL) {  // ('a m) is (m 'a)
        map = arguments[0];
        key = f;
    }
    if (map.tag == VALUE_MAP && map_find_flexible(map, key, &item)) {
        value_retain(item);
        value_release(run->region, otherwise);
    } else {
        item = otherwise;
    }
    value_release(run->region, arguments[0]);
    return item;
}

// ((transient v) 1): as its content.
static value call_transient(struct run *run, value f, value *arguments, size_t count)
{
    value content = transient_content(run, f);
    value result = run_call(run, content, arguments, count);
    value_release(run->region, content);
    return result;
}

static _Noreturn void fail_not_callable(struct run *run, value f)
{
    char text[DESCRIBE_SIZE];
    run_raise(run, NOT_CALLABLE, NULL, "not callable: %s%s", value_describe(f, text),
              f.tag == VALUE_VECTOR ? " that is a list (use nth)" : "");
}

static value call_composed(struct run *run, const struct composed *composed, value *arguments,
                           size_t count)
{
    const struct composed_type *type = composed->type;
    if (count < type->least || (type->highest != BUILTIN_ANY && count > type->highest))
        run_raise(run, ARITY_ERROR, type->name, "%s: the function takes %u argument%s, got %zu",
                  type->name, (unsigned)type->least, type->least == 1 ? "" : "s", count);
    return type->call(run, composed->parts, composed->count, arguments, count);
}

struct deferred_call {
    struct run *run;
    value f;
    value *arguments;
    size_t count;
    value result;
};

static void call_deferred(void *data)
{
    struct deferred_call *call = data;
    call->result = run_call(call->run, call->f, call->arguments, call->count);
}

// Composed functions and builtins may call each other without a closure between, so they check the
// stack as well.
static value call_on_new_stack(struct run *run, value f, value *arguments, size_t count)
{
    struct deferred_call call = {run, f, arguments, count, value_nil()};
    stack_call(run, 0, call_deferred, &call);
    return call.result;
}

value run_call(struct run *run, value f, value *arguments, size_t count)
{
    const void *site = run->site;
    value result;
    if (f.tag == VALUE_FUNCTION) {
        const struct builtin *builtin = function_builtin(f);
        if (!builtin && value_is_foreign(f, &closure_type)) {
            result = closure_call(run, (struct closure *)f.object, arguments, count);
            run->site = site;
            return result;
        }
        if (stack_is_low(run->stack_end, 0))
            return call_on_new_stack(run, f, arguments, count);
        if (--run->fuel < 0)
            run_refill(run);
        if (builtin) {
            if (!builtin_accepts(builtin, count))
                run_arity_error(run, builtin, count);
            result = builtin_apply(run, builtin, arguments, count);
        } else if (value_is_foreign(f, &composed_type)) {
            value_retain(f);
            result = call_composed(run, (const struct composed *)f.object, arguments, count);
            value_release(run->region, f);
        } else if (value_is_transient(f)) {
            result = call_transient(run, f, arguments, count);
        } else if (!value_is_foreign(f, &tool_type)) {
            fail_not_callable(run, f);
        } else {
            result = tool_apply(run, ((const struct tool_object *)f.object)->tool,
                                count == 1 ? arguments[0] : value_nil(), count);
        }
        run->site = site;
        return result;
    }
    if (f.tag == VALUE_KEYWORD || f.tag == VALUE_MAP || f.tag == VALUE_SET || f.tag == VALUE_SYMBOL)
        return call_lookup(run, f, arguments, count);
    if (f.tag == VALUE_VECTOR && !value_is_seq(f))
        return call_vector(run, f, arguments, count);
    fail_not_callable(run, f);
}

// The item under a keyword that is called on one map after another.
static inline bool keyword_find(struct run *run, value keyword, value map, value *ret_item)
{
    if (__builtin_expect(keyword.flags & VALUE_BORROWED, 0))
        return map_find_flexible(map, keyword, ret_item);
    uintptr_t address = (uintptr_t)keyword.object;
    struct lookup *lookup = &run->state->lookups[address / 64 % KEYWORD_LOOKUPS];
    if (__builtin_expect(lookup->key.object != keyword.object, 0)) {
        value_release(run->region, lookup->key);
        *lookup = (struct lookup){.key = value_retain(keyword)};
    }
    return lookup_find(lookup, map, ret_item);
}

value keyword_call(struct run *run, value keyword, value subject)
{
    if (subject.tag != VALUE_MAP)
        return keyword_apply(run, keyword, subject, value_nil());
    value found = value_nil();
    if (keyword_find(run, keyword, subject, &found))
        value_retain(found);
    value_release(run->region, subject);
    return found;
}

value run_call_on(struct run *run, value f, value item)
{
    value found;
    const struct builtin *builtin = function_builtin(f);
    if (builtin && (builtin->flags & BUILTIN_BORROWS) && builtin_accepts(builtin, 1)) {
        run_spend(run, 1);
        value arguments[1] = {item};
        return builtin->function(run, builtin, arguments, 1);
    }
    if (f.tag == VALUE_KEYWORD && item.tag == VALUE_MAP) {
        run_spend(run, 1);
        return keyword_find(run, f, item, &found) ? value_retain(found) : value_nil();
    }
    return run_call1(run, f, value_retain(item));
}

// --- key functions -------------------------------------------------------------------------------

void run_check_key(struct run *run, const struct builtin *self, unsigned argument, value key)
{
    if (!run_is_callable(key) && key.tag != VALUE_STRING && key.tag != VALUE_VECTOR)
        run_type_error(run, self, argument, "a key: function, keyword, string or path", key, NULL);
}

// One step of a path: the item under the key, borrowed; false when it cannot be taken.
static bool path_step(value from, value key, value *ret_item)
{
    if (from.tag == VALUE_MAP)
        return map_find_flexible(from, key, ret_item);
    if (from.tag == VALUE_VECTOR && key.tag == VALUE_INTEGER && key.integer >= 0 &&
        (uint64_t)key.integer < vector_count(from)) {
        *ret_item = vector_at(from, (size_t)key.integer);
        return true;
    }
    if (from.tag == VALUE_SET && set_has(from, key)) {
        *ret_item = key;
        return true;
    }
    return false;
}

value run_key(struct run *run, value key, value item)
{
    if (key.tag == VALUE_STRING) {
        value found;
        return path_step(item, key, &found) && item.tag == VALUE_MAP ? value_retain(found)
                                                                     : value_nil();
    }
    if (key.tag == VALUE_VECTOR) {
        for (size_t i = 0; i < vector_count(key); i++) {
            if (!path_step(item, vector_at(key, i), &item))
                return value_nil();
        }
        return value_retain(item);
    }
    return run_call_on(run, key, item);
}
