#include "program/eval/exception.h"

#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "program/eval/eval.h"
#include "program/run/output_limit.h"
#include "value/collection/key_lookup.h"
#include "value/text/print.h"
#include "value/text/sink.h"

struct exception {
    struct foreign foreign;
    const char *class;
    enum failure_kind kind;  // EXCEPTION, or of the failure that it was
    bool has_offset;         // where it was thrown first
    uint32_t offset;
    value parts[EXCEPTION_PARTS];
};

// --- the object ----------------------------------------------------------------------------------

static size_t exception_size(const struct object *object)
{
    (void)object;
    return sizeof(struct exception);
}

static value *exception_children(struct object *object, size_t *ret_count)
{
    *ret_count = EXCEPTION_PARTS;
    return ((struct exception *)object)->parts;
}

static void exception_print(struct sink *sink, const struct object *object)
{
    const struct exception *exception = (const struct exception *)object;
    sink_text(sink, "#<");
    sink_text(sink, exception->class);
    if (exception->parts[EXCEPTION_MESSAGE].tag == VALUE_STRING) {
        sink_text(sink, ": ");
        sink_span(sink, value_text(exception->parts[EXCEPTION_MESSAGE]));
    }
    sink_byte(sink, '>');
}

static const struct object_type exception_type = {
    .kind = "exception",
    .size = exception_size,
    .children = exception_children,
    .print = exception_print,
};

bool value_is_exception(value v)
{
    return value_is_foreign(v, &exception_type);
}

value exception_new(struct run *run, const char *class, value message, value data, value cause)
{
    struct exception *exception = region_alloc(run->region, sizeof(*exception));
    *exception = (struct exception){
        .foreign = {.header = object_header(OBJECT_FOREIGN), .type = &exception_type},
        .class = class,
        .kind = EXCEPTION,
        .parts = {message, data, cause},
    };
    return (value){.tag = VALUE_FUNCTION, .object = &exception->foreign.header};
}

value exception_part(value exception, enum exception_part part)
{
    return ((const struct exception *)exception.object)->parts[part];
}

// --- classes -------------------------------------------------------------------------------------

static bool is_any(struct span class)
{
    static const char *const names[] = {"Exception", "Throwable", "RuntimeException", "Object",
                                        "Error",     "default",   "js/Error"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (span_equal_text(class, names[i]))
            return true;
    }
    return false;
}

// Which classes Java would throw is not always known: a kind of failure has several.
static const struct {
    const char *class;
    const char *super;
} classes[] = {
    {"ArityException", "IllegalArgumentException"},
    {"NumberFormatException", "IllegalArgumentException"},
    {"StringIndexOutOfBoundsException", "IndexOutOfBoundsException"},
    {"ArrayIndexOutOfBoundsException", "IndexOutOfBoundsException"},
    {"type_error", "ClassCastException"},
    {"type_error", "IllegalArgumentException"},
    {"type_error", "NullPointerException"},
    {"type_error", "UnsupportedOperationException"},
    {"not_callable", "ClassCastException"},
    {"destructure_error", "UnsupportedOperationException"},
    {"arity_error", "ArityException"},
    {"arity_error", "IllegalArgumentException"},
    {"arity_mismatch", "ArityException"},
    {"arity_mismatch", "IllegalArgumentException"},
    {"arithmetic_error", "ArithmeticException"},
    {"runtime_error", "IndexOutOfBoundsException"},
    {"runtime_error", "StringIndexOutOfBoundsException"},
    {"runtime_error", "IllegalArgumentException"},
    {"runtime_error", "NumberFormatException"},
    {"runtime_error", "IllegalStateException"},
    {"runtime_error", "DateTimeParseException"},
    {"tool_error", "ExceptionInfo"},
    {"tool_error", "IOException"},
    {"validation_error", "ExceptionInfo"},
};

bool exception_is(value exception, struct span class)
{
    const char *dot = class.length ? memrchr(class.data, '.', class.length) : NULL;
    if (dot)
        class = (struct span){dot + 1, class.length - (size_t)(dot + 1 - class.data)};
    const char *own = ((const struct exception *)exception.object)->class;
    if (is_any(class) || span_equal_text(class, own))
        return true;
    for (size_t i = 0; i < COUNT_OF(classes); i++) {
        if (strcmp(classes[i].class, own) == 0 && span_equal_text(class, classes[i].super))
            return true;
    }
    return false;
}

// --- throwing and catching -----------------------------------------------------------------------

static value key_of(const char *name)
{
    return value_string_borrow(NULL, span_from(name));
}

static void set_details(struct run *run, struct failure *failure, value data)
{
    output_limit_check(run, data, "the exception");
    failure->details = map_put_text(run->region, map_new(run->region), "data", value_retain(data));
}

void exception_throw(struct run *run, value v)
{
    struct exception *exception = (struct exception *)v.object;
    struct failure *failure = &run->state->failure;
    value message = exception->parts[EXCEPTION_MESSAGE], data = exception->parts[EXCEPTION_DATA],
          op;
    const struct expression *site = run->site;
    if (!exception->has_offset && site) {
        exception->has_offset = true;
        exception->offset = site->offset;
    }
    *failure = (struct failure){.kind = exception->kind,
                                .thrown = v,
                                .has_offset = exception->has_offset,
                                .offset = exception->offset};
    failure->long_message = message.tag == VALUE_STRING
                                ? value_retain(message)
                                : value_string_text(run->region, exception->class);
    snprintf(failure->op, sizeof(failure->op), "throw");
    if (exception->kind == EXCEPTION && data.tag == VALUE_MAP)
        set_details(run, failure, data);
    if (exception->kind != EXCEPTION && map_find_flexible(data, key_of("op"), &op))
        snprintf(failure->op, sizeof(failure->op), "%.*s", (int)op.aux, value_text(op).data);
    if (exception->kind == TOOL_ERROR && map_find_flexible(data, key_of("tool"), &op))
        snprintf(failure->op, sizeof(failure->op), "%.*s", (int)op.aux, value_text(op).data);
    run_leave(run);
}

bool failure_is_final(const struct run *run)
{
    const struct run_state *state = run->state;
    const struct failure *failure = &state->failure;
    return state->returned || failure->limit_option || failure->kind == FAIL ||
           failure->kind == TIMEOUT || failure->kind == MEMORY_EXCEEDED || failure->kind == PAUSED;
}

static value put(struct run *run, value map, const char *name, value item)
{
    return map_put(run->region, map, value_keyword(run->region, span_from(name)), item);
}

// The record of the tool call that failed says that the program went on.
static void mark_caught(struct run *run)
{
    struct ledger *ledger = &run->state->branch.ledger;
    size_t last = ledger->count;
    while (last > 0 && !ledger->entries[last - 1].failed)
        last--;
    if (last > 0)
        ledger->entries[last - 1].caught = true;
}

value exception_from_failure(struct run *run)
{
    struct failure failure = run->state->failure;
    run->state->failure = (struct failure){0};
    if (failure.kind == TOOL_ERROR || failure.kind == VALIDATION_ERROR)
        mark_caught(run);
    if (failure.thrown.tag == VALUE_FUNCTION) {
        value_release(run->region, failure.long_message);
        value_release(run->region, failure.details);
        return failure.thrown;
    }
    const char *kind = failure_kind_name(failure.kind);
    value message = failure.long_message.tag == VALUE_STRING
                        ? failure.long_message
                        : value_string_repair(run->region, span_from(failure.message));
    value data =
        put(run, map_new(run->region), "kind", value_keyword(run->region, span_from(kind)));
    data = put(run, data, "message", value_retain(message));
    if (failure.op[0])
        data = put(run, data, failure.kind == TOOL_ERROR ? "tool" : "op",
                   value_string_repair(run->region, span_from(failure.op)));
    value v = exception_new(run, kind, message, data, value_nil());
    struct exception *exception = (struct exception *)v.object;
    exception->kind = failure.kind;
    exception->has_offset = failure.has_offset;
    exception->offset = failure.offset;
    return v;
}

value exception_summary(struct run *run, value exception)
{
    value data = exception_part(exception, EXCEPTION_DATA);
    value message = exception_part(exception, EXCEPTION_MESSAGE);
    if (((const struct exception *)exception.object)->kind != EXCEPTION)
        return value_retain(data);
    value summary =
        put(run, map_new(run->region), "kind", value_keyword(run->region, SPAN("exception")));
    summary = put(run, summary, "message", value_retain(message));
    return put(run, summary, "data", value_retain(data));
}
