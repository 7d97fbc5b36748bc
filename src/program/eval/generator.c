#include "program/eval/generator.h"

#include "program/builtin/numeric.h"
#include "program/builtin/support.h"
#include "program/builtin/transducer.h"
#include "program/eval/cell.h"
#include "program/eval/eval.h"
#include "value/collection/entries.h"
#include "value/text/sink.h"

struct generator {
    struct foreign foreign;
    enum generator_kind kind;
    bool is_endless;
    bool is_realized;  // LAZY: parts[0] is what it gave
    value parts[2];
};

enum { ITERATOR_PARTS = 4 };

// parts: generator or vector; current value; inner iterator, or vector of them; buffer or function
struct iterator {
    struct foreign foreign;
    enum generator_kind kind;
    bool is_vector;
    bool is_endless;
    bool is_started;
    bool is_done;
    size_t index;
    value parts[ITERATOR_PARTS];
};

static const struct object_type iterator_type;

// --- the object ----------------------------------------------------------------------------------

static size_t generator_size(const struct object *object)
{
    (void)object;
    return sizeof(struct generator);
}

static value *generator_children(struct object *object, size_t *ret_count)
{
    *ret_count = 2;
    return ((struct generator *)object)->parts;
}

static void generator_print(struct sink *sink, const struct object *object)
{
    (void)object;
    sink_text(sink, "#<sequence>");
}

const struct object_type generator_type = {
    .kind = "sequence",
    .size = generator_size,
    .children = generator_children,
    .print = generator_print,
};

static const struct builtin self_of_sequences = {.name = "sequence"};

static struct generator *generator_of(value v)
{
    return (struct generator *)v.object;
}

static bool is_endless(enum generator_kind kind, value a, value b)
{
    switch (kind) {
    case GENERATOR_ITERATE:
    case GENERATOR_CYCLE:
    case GENERATOR_REPEAT:
    case GENERATOR_REPEATEDLY:
    case GENERATOR_COUNT: return true;
    case GENERATOR_CONS:
    case GENERATOR_FOR: return value_is_generator(b) && generator_is_endless(b);
    case GENERATOR_LAZY:
        return value_is_foreign(a, &iterator_type) &&
               ((const struct iterator *)a.object)->is_endless;
    case GENERATOR_TRANSFORM:
        return value_is_generator(b) && generator_is_endless(b) && !transducer_ends(a);
    case GENERATOR_CONCAT:
        for (size_t i = 0; i < vector_count(a); i++) {
            value part = vector_at(a, i);
            if (value_is_generator(part) && generator_is_endless(part))
                return true;
        }
        return false;
    case GENERATOR_REDUCTIONS: return generator_is_endless(vector_at(b, 0));
    case GENERATOR_MAP:
        for (size_t i = 0; i < vector_count(b); i++) {
            value part = vector_at(b, i);
            if (!value_is_generator(part) || !generator_is_endless(part))
                return false;
        }
        return true;
    default: return false;
    }
}

value generator_new(struct run *run, enum generator_kind kind, value a, value b)
{
    struct generator *generator = region_alloc(run->region, sizeof(*generator));
    *generator = (struct generator){
        .foreign = {.header = object_header(OBJECT_FOREIGN), .type = &generator_type},
        .kind = kind,
        .is_endless = is_endless(kind, a, b),
        .parts = {a, b},
    };
    run->state->has_generators = true;
    return (value){.tag = VALUE_FUNCTION, .object = &generator->foreign.header};
}

value generator_lazy(struct run *run, value source)
{
    return generator_new(run, GENERATOR_LAZY, source, value_nil());
}

value generator_memoized(struct run *run, enum generator_kind kind, value a, value b)
{
    value generator = generator_new(run, kind, a, b);
    return generator_lazy(run, iterator_new(run, &self_of_sequences, 1, generator));
}

static bool is_remembered(enum generator_kind kind)
{
    return kind == GENERATOR_CONS || kind == GENERATOR_LAZY || kind == GENERATOR_COUNT ||
           kind == GENERATOR_CYCLE || kind == GENERATOR_REPEAT;
}

// What a sequence that is defined by itself, (def xs (cons 1 (lazy-seq … xs))), would compute again for each
// item is remembered; numbers and what is in memory anyway need not be.
value generator_cons(struct run *run, const struct builtin *self, value item, value rest)
{
    if (!is_remembered(generator_of(rest)->kind))
        rest = generator_lazy(run, iterator_new(run, self, 2, rest));
    return generator_new(run, GENERATOR_CONS, item, rest);
}

bool generator_is_endless(value generator)
{
    return generator_of(generator)->is_endless;
}

void fail_endless(struct run *run, const struct builtin *self)
{
    builtin_fail(run, self, RUNTIME_ERROR, "the sequence has no end; use (take n xs)");
}

// --- iterators -----------------------------------------------------------------------------------

static size_t iterator_size(const struct object *object)
{
    (void)object;
    return sizeof(struct iterator);
}

static value *iterator_children(struct object *object, size_t *ret_count)
{
    *ret_count = ITERATOR_PARTS;
    return ((struct iterator *)object)->parts;
}

static const struct object_type iterator_type = {
    .kind = "iterator",
    .size = iterator_size,
    .children = iterator_children,
    .print = generator_print,
};

static void set_part(struct run *run, struct iterator *iterator, size_t part, value v)
{
    value old = iterator->parts[part];
    iterator->parts[part] = v;
    value_release(run->region, old);
}

static void start_inner(struct run *run, const struct builtin *self, struct iterator *iterator)
{
    const struct generator *generator = generator_of(iterator->parts[0]);
    value source;
    switch (generator->kind) {
    case GENERATOR_TRANSFORM:
        source = value_retain(generator->parts[1]);
        set_part(run, iterator, 2, iterator_new(run, self, 2, source));
        set_part(run, iterator, 1, cell_new(run, CELL_VOLATILE, vector_new(run->region, 0)));
        set_part(run, iterator, 3,
                 transducer_into(run, generator->parts[0], value_retain(iterator->parts[1])));
        break;
    case GENERATOR_MAP: {
        value inner = vector_new(run->region, vector_count(generator->parts[1]));
        for (size_t i = 0; i < vector_count(generator->parts[1]); i++) {
            source = value_retain(vector_at(generator->parts[1], i));
            inner =
                vector_push(run->region, inner, iterator_new(run, self, (unsigned)i + 2, source));
        }
        set_part(run, iterator, 2, inner);
        break;
    }
    case GENERATOR_REDUCTIONS:
        source = value_retain(vector_at(generator->parts[1], 0));
        set_part(run, iterator, 2, iterator_new(run, self, 2, source));
        break;
    case GENERATOR_FOR:
        source = value_retain(generator->parts[1]);
        set_part(run, iterator, 2, iterator_new(run, self, 1, source));
        set_part(run, iterator, 1, vector_new(run->region, 0));
        break;
    case GENERATOR_CONS:
    case GENERATOR_LAZY:  // what has been passed is not kept
        iterator->parts[1] = iterator->parts[0];
        iterator->parts[0] = value_nil();
        break;
    case GENERATOR_ITERATION:
        set_part(run, iterator, 1, value_retain(vector_at(generator->parts[1], 3)));
        break;
    case GENERATOR_ITERATE: set_part(run, iterator, 1, value_retain(generator->parts[1])); break;
    case GENERATOR_COUNT: set_part(run, iterator, 1, value_retain(generator->parts[0])); break;
    default: break;
    }
}

value iterator_new(struct run *run, const struct builtin *self, unsigned argument, value source)
{
    bool is_generator = value_is_generator(source);
    if (!is_generator)
        source = sequence_vector(run, self, argument, source);
    struct iterator *iterator = region_alloc(run->region, sizeof(*iterator));
    *iterator = (struct iterator){
        .foreign = {.header = object_header(OBJECT_FOREIGN), .type = &iterator_type},
        .kind = is_generator ? generator_of(source)->kind : GENERATOR_CYCLE,
        .is_vector = !is_generator,
        .is_endless = is_generator && generator_is_endless(source),
        .parts = {source, value_nil(), value_nil(), value_nil()},
    };
    if (is_generator)
        start_inner(run, self, iterator);
    return (value){.tag = VALUE_FUNCTION, .object = &iterator->foreign.header};
}

static bool next_iterate(struct run *run, struct iterator *iterator, value *ret_item)
{
    const struct generator *generator = generator_of(iterator->parts[0]);
    if (iterator->is_started)
        set_part(run, iterator, 1,
                 run_call1(run, generator->parts[0], value_retain(iterator->parts[1])));
    iterator->is_started = true;
    *ret_item = value_retain(iterator->parts[1]);
    return true;
}

static bool next_count(struct run *run, struct iterator *iterator, value *ret_item)
{
    const struct generator *generator = generator_of(iterator->parts[0]);
    *ret_item = value_retain(iterator->parts[1]);
    value next = numeric_add(run, &self_of_sequences, value_retain(iterator->parts[1]),
                             value_retain(generator->parts[1]));
    set_part(run, iterator, 1, next);
    return true;
}

static bool next_concat(struct run *run, struct iterator *iterator, value *ret_item)
{
    value parts = generator_of(iterator->parts[0])->parts[0];
    for (;;) {
        if (iterator->parts[2].tag != VALUE_NIL && iterator_next(run, iterator->parts[2], ret_item))
            return true;
        if (iterator->index >= vector_count(parts))
            return false;
        value part = value_retain(vector_at(parts, iterator->index));
        iterator->index++;
        set_part(run, iterator, 2,
                 iterator_new(run, &self_of_sequences, (unsigned)iterator->index, part));
    }
}

static bool next_map(struct run *run, struct iterator *iterator, value *ret_item)
{
    value inner = iterator->parts[2];
    size_t width = vector_count(inner), filled = 0;
    value *row = region_alloc(run->region, (width + 1) * sizeof(value));
    while (filled < width && iterator_next(run, vector_at(inner, filled), &row[filled]))
        filled++;
    bool is_full = filled == width && width > 0;
    if (is_full)
        *ret_item = run_call(run, generator_of(iterator->parts[0])->parts[0], row, width);
    while (!is_full && filled > 0)
        value_release(run->region, row[--filled]);
    region_return(run->region, row, (width + 1) * sizeof(value));
    return is_full;
}

static bool next_reduction(struct run *run, struct iterator *iterator, value *ret_item)
{
    const struct generator *generator = generator_of(iterator->parts[0]);
    value f = generator->parts[0], given = generator->parts[1], item;
    if (iterator->is_done)
        return false;
    if (!iterator->is_started && vector_count(given) == 2)
        *ret_item = value_retain(vector_at(given, 1));
    else if (iterator_next(run, iterator->parts[2], &item))
        *ret_item =
            iterator->is_started ? run_call2(run, f, value_retain(iterator->parts[1]), item) : item;
    else if (iterator->is_started)
        return false;
    else
        *ret_item = run_call(run, f, NULL, 0);
    iterator->is_started = true;
    if (value_is_reduced(*ret_item)) {
        iterator->is_done = true;
        *ret_item = unreduced(run, *ret_item);
    }
    set_part(run, iterator, 1, value_retain(*ret_item));
    return true;
}

// Gives the next item of the source, or its end, to the transducer, which fills the buffer.
static void feed(struct run *run, struct iterator *iterator)
{
    struct cell *buffer = value_cell(iterator->parts[1]);
    value_release(run->region, cell_exchange(buffer, vector_new(run->region, 0)));
    iterator->index = 0;
    value item;
    if (iterator_next(run, iterator->parts[2], &item)) {
        value result = run_call2(run, iterator->parts[3], value_nil(), item);
        iterator->is_done = value_is_reduced(result);
        value_release(run->region, result);
    } else {
        iterator->is_done = true;
    }
    if (iterator->is_done)
        value_release(run->region, run_call1(run, iterator->parts[3], value_nil()));
}

static bool next_transform(struct run *run, struct iterator *iterator, value *ret_item)
{
    struct cell *buffer = value_cell(iterator->parts[1]);
    while (iterator->index >= vector_count(buffer->content)) {
        run_spend(run, 1);
        if (iterator->is_done)
            return false;
        feed(run, iterator);
    }
    *ret_item = value_retain(vector_at(buffer->content, iterator->index++));
    return true;
}

// (iteration step :somef f :vf f :kf f :initk k)
static bool next_iteration(struct run *run, struct iterator *iterator, value *ret_item)
{
    const struct generator *generator = generator_of(iterator->parts[0]);
    value options = generator->parts[1];
    if (iterator->is_done)
        return false;
    value page = run_call1(run, generator->parts[0], value_retain(iterator->parts[1]));
    if (!run_test(run, vector_at(options, 0), page)) {
        iterator->is_done = true;
        value_release(run->region, page);
        return false;
    }
    *ret_item = run_call1(run, vector_at(options, 1), value_retain(page));
    set_part(run, iterator, 1, run_call1(run, vector_at(options, 2), page));
    iterator->is_done = value_is_nil(iterator->parts[1]);
    return true;
}

static bool next_for(struct run *run, struct iterator *iterator, value *ret_item)
{
    value item;
    while (iterator->index >= vector_count(iterator->parts[1])) {
        if (!iterator_next(run, iterator->parts[2], &item))
            return false;
        iterator->index = 0;
        set_part(run, iterator, 1,
                 for_results(run, generator_of(iterator->parts[0])->parts[0], item));
    }
    *ret_item = value_retain(vector_at(iterator->parts[1], iterator->index++));
    return true;
}

// --- lazy sequences ------------------------------------------------------------------------------

// The next item before a lazy sequence of the others; nil at the end.
static value next_cell(struct run *run, value iterator)
{
    value item;
    if (!iterator_next(run, iterator, &item))
        return value_nil();
    return generator_new(run, GENERATOR_CONS, item, generator_lazy(run, value_retain(iterator)));
}

// What a lazy sequence is, borrowed: nil, a collection, or the first of its cells. Each item is computed
// once, however often the sequence is iterated.
static value realize_lazy(struct run *run, value v)
{
    struct generator *generator = generator_of(v);
    if (generator->is_realized)
        return generator->parts[0];
    value source = generator->parts[0], given;
    object_retain(&generator->foreign.header);
    if (value_is_foreign(source, &iterator_type))
        given = next_cell(run, source);
    else
        given = run_call(run, source, NULL, 0);
    while (value_is_generator(given) && generator_of(given)->kind == GENERATOR_LAZY) {
        run_spend(run, 1);
        value inside = value_retain(realize_lazy(run, given));
        value_release(run->region, given);
        given = inside;
    }
    if (value_is_generator(given) && generator_of(given)->kind != GENERATOR_CONS) {
        value iterator = iterator_new(run, &self_of_sequences, 1, given);
        given = next_cell(run, iterator);
        value_release(run->region, iterator);
    }
    generator->is_realized = true;
    generator->parts[0] = given;
    value_release(run->region, source);
    object_release(run->region, &generator->foreign.header);
    return given;
}

static bool next_lazy(struct run *run, struct iterator *iterator, value *ret_item)
{
    if (iterator->parts[2].tag != VALUE_NIL)
        return iterator_next(run, iterator->parts[2], ret_item);
    value current = iterator->parts[1];
    if (value_is_generator(current) && generator_of(current)->kind == GENERATOR_LAZY)
        current = realize_lazy(run, current);
    if (value_is_generator(current) && generator_of(current)->kind == GENERATOR_CONS) {
        *ret_item = value_retain(generator_of(current)->parts[0]);
        set_part(run, iterator, 1, value_retain(generator_of(current)->parts[1]));
        return true;
    }
    set_part(run, iterator, 2, iterator_new(run, &self_of_sequences, 1, value_retain(current)));
    return iterator_next(run, iterator->parts[2], ret_item);
}

bool iterator_next(struct run *run, value v, value *ret_item)
{
    struct iterator *iterator = (struct iterator *)v.object;
    run_spend(run, 1);
    if (iterator->is_vector) {
        if (iterator->index >= vector_count(iterator->parts[0]))
            return false;
        *ret_item = value_retain(vector_at(iterator->parts[0], iterator->index++));
        return true;
    }
    const struct generator *generator = generator_of(iterator->parts[0]);
    switch (iterator->kind) {
    case GENERATOR_ITERATE: return next_iterate(run, iterator, ret_item);
    case GENERATOR_COUNT: return next_count(run, iterator, ret_item);
    case GENERATOR_CYCLE:
        *ret_item = value_retain(
            vector_at(generator->parts[0], iterator->index++ % vector_count(generator->parts[0])));
        return true;
    case GENERATOR_REPEAT: *ret_item = value_retain(generator->parts[0]); return true;
    case GENERATOR_REPEATEDLY: *ret_item = run_call(run, generator->parts[0], NULL, 0); return true;
    case GENERATOR_CONCAT: return next_concat(run, iterator, ret_item);
    case GENERATOR_MAP: return next_map(run, iterator, ret_item);
    case GENERATOR_REDUCTIONS: return next_reduction(run, iterator, ret_item);
    case GENERATOR_TRANSFORM: return next_transform(run, iterator, ret_item);
    case GENERATOR_ITERATION: return next_iteration(run, iterator, ret_item);
    case GENERATOR_FOR: return next_for(run, iterator, ret_item);
    case GENERATOR_CONS:
    case GENERATOR_LAZY: return next_lazy(run, iterator, ret_item);
    }
    __builtin_unreachable();
}

// --- as sequences --------------------------------------------------------------------------------

value generator_seq(struct run *run, const struct builtin *self, value v)
{
    const struct generator *generator = generator_of(v);
    if (generator->kind == GENERATOR_CONS)
        return v;
    if (generator->kind != GENERATOR_LAZY)
        v = generator_lazy(run, iterator_new(run, self, 1, v));
    value given = value_retain(realize_lazy(run, v));
    value_release(run->region, v);
    if (value_is_generator(given))
        return generator_of(given)->kind == GENERATOR_CONS ? given
                                                           : generator_seq(run, self, given);
    value items = sequence_vector(run, self, 1, given);
    return vector_count(items) == 0 ? value_nil() : vector_as_seq(items);
}

value generator_rest(struct run *run, const struct builtin *self, value v)
{
    value seq = generator_seq(run, self, v);
    value rest;
    if (value_is_nil(seq)) {
        rest = vector_as_seq(vector_new(run->region, 0));
    } else if (!value_is_generator(seq)) {
        rest = vector_as_seq(vector_slice(run->region, seq, 1, vector_count(seq)));
    } else {
        rest = value_retain(generator_of(seq)->parts[1]);
        value_release(run->region, seq);
        if (!value_is_generator(rest))
            rest = vector_as_seq(sequence_vector(run, self, 1, rest));
    }
    return rest;
}

value generator_take(struct run *run, const struct builtin *self, value v, size_t count,
                     value *ret_rest)
{
    value items = vector_new(run->region, 0), item;
    if (!ret_rest) {
        value iterator = iterator_new(run, self, 1, v);
        while (vector_count(items) < count && iterator_next(run, iterator, &item))
            vector_add(run, &items, item);
        value_release(run->region, iterator);
        return vector_as_seq(items);
    }
    while (vector_count(items) < count && value_is_generator(v)) {
        v = generator_seq(run, self, v);
        if (!value_is_generator(v))
            break;
        vector_add(run, &items, value_retain(generator_of(v)->parts[0]));
        v = generator_rest(run, self, v);
    }
    if (v.tag == VALUE_VECTOR) {
        size_t more = count - vector_count(items), total = vector_count(v);
        more = more < total ? more : total;
        for (size_t i = 0; i < more; i++)
            vector_add(run, &items, value_retain(vector_at(v, i)));
        v = vector_as_seq(vector_slice(run->region, v, more, total));
    }
    *ret_rest = v;
    return vector_as_seq(items);
}

// --- realizing -----------------------------------------------------------------------------------

enum { REALIZED_DEPTH = 100 };

static value realize(struct run *run, value v, unsigned depth);

static value realize_items(struct run *run, value vector, unsigned depth)
{
    value items = vector_new(run->region, vector_count(vector));
    for (size_t i = 0; i < vector_count(vector); i++) {
        run_spend(run, 1);
        vector_add(run, &items, realize(run, value_retain(vector_at(vector, i)), depth));
    }
    return items;
}

static value realize(struct run *run, value v, unsigned depth)
{
    if (!value_is_collection(v) && !value_is_generator(v))
        return v;
    if (depth > REALIZED_DEPTH || (value_is_collection(v) && v.aux == 0))
        return v;
    value result;
    if (v.tag == VALUE_MAP) {
        struct map_cursor cursor = map_iterate(v);
        value key, item;
        result = map_new(run->region);
        while (map_next(&cursor, &key, &item)) {
            run_spend(run, 1);
            key = realize(run, value_retain(key), depth + 1);
            result = map_put(run->region, result, key, realize(run, value_retain(item), depth + 1));
        }
        value_release(run->region, v);
        return result;
    }
    if (v.tag == VALUE_SET) {
        struct map_cursor cursor = set_iterate(v);
        value item;
        result = set_new(run->region);
        while (set_next(&cursor, &item))
            result = set_add(run->region, result, realize(run, value_retain(item), depth + 1));
        value_release(run->region, v);
        return result;
    }
    bool is_seq = v.tag != VALUE_VECTOR || value_is_seq(v);
    value items = sequence_vector(run, &self_of_sequences, 1, v);
    result = realize_items(run, items, depth + 1);
    value_release(run->region, items);
    return is_seq ? vector_as_seq(result) : result;
}

value run_realize(struct run *run, value v)
{
    return run->state->has_generators ? realize(run, v, 0) : v;
}
