// Nested data: walk, prewalk, postwalk, tree-seq (docs/reference/language.md 8.4).
//
// The stack is explicit, in the region, because the depth of data is bounded by memory only.
#include "program/builtin/walk.h"

#include "program/builtin/builtins.h"
#include "program/builtin/support.h"
#include "value/collection/entries.h"

// A collection of the kind `tag` from a vector of its items; consumes it.
static value rebuild(struct run *run, const struct builtin *self, uint8_t tag, value items)
{
    if (tag == VALUE_VECTOR)
        return items;
    value result = tag == VALUE_MAP ? map_new(run->region) : set_new(run->region);
    for (size_t i = 0; i < vector_count(items); i++) {
        value item = vector_at(items, i);
        run_spend(run, 1);
        if (tag == VALUE_SET) {
            result = set_add(run->region, result, value_retain(item));
            continue;
        }
        if (item.tag != VALUE_VECTOR || vector_count(item) != 2)
            builtin_fail(run, self, TYPE_ERROR, "a map entry must become [key value], got %s",
                         value_describe(item, (char[DESCRIBE_SIZE]){0}));
        result = map_put(run->region, result, value_retain(vector_at(item, 0)),
                         value_retain(vector_at(item, 1)));
    }
    value_release(run->region, items);
    return result;
}

value builtin_walk(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    value inner = arguments[0], outer = arguments[1], form = arguments[2];
    run_check_callable(run, self, 1, inner);
    run_check_callable(run, self, 2, outer);
    if (value_is_collection(form)) {
        uint8_t tag = form.tag;
        struct sequence items;
        value item, built = vector_new(run->region, 0);
        sequence_start(run, self, 3, &items, form);
        while (sequence_step(&items, &item))
            vector_add(run, &built, run_call1(run, inner, item));
        sequence_end(&items);
        form = rebuild(run, self, tag, built);
    }
    value result = run_call1(run, outer, form);
    value_release(run->region, inner);
    value_release(run->region, outer);
    return result;
}

// --- prewalk, postwalk ---------------------------------------------------------------------------

struct walk_level {
    uint8_t tag;  // kind of the collection being rebuilt
    size_t position;
    value items;  // of the collection; entries of maps as [key value]
    value built;
};

struct walk;
typedef value walk_visit_fn(struct walk *walk, value form);  // consumes the form

struct walk {
    struct run *run;
    const struct builtin *self;
    value f;
    walk_visit_fn *visit;  // instead of calling f
    bool before;           // the visit is before the children, otherwise after
    struct walk_level *levels;
    size_t depth;
    size_t capacity;
};

static value visit(struct walk *walk, value form)
{
    return walk->visit ? walk->visit(walk, form) : run_call1(walk->run, walk->f, form);
}

static void walk_push(struct walk *walk, value form)
{
    struct run *run = walk->run;
    if (walk->depth == walk->capacity) {
        size_t capacity = walk->capacity == 0 ? 8 : 2 * walk->capacity;
        walk->levels = walk->capacity == 0
                           ? region_alloc(run->region, capacity * sizeof(struct walk_level))
                           : region_resize(run->region, walk->levels,
                                           walk->capacity * sizeof(struct walk_level),
                                           capacity * sizeof(struct walk_level));
        walk->capacity = capacity;
    }
    uint8_t tag = form.tag;
    walk->levels[walk->depth++] = (struct walk_level){
        .tag = tag,
        .items = sequence_vector(run, walk->self, 2, form),
        .built = vector_new(run->region, 0),
    };
}

// Goes down into a form. True when it has no parts to visit: then *form is its result.
static bool walk_enter(struct walk *walk, value *form)
{
    if (walk->before)
        *form = visit(walk, *form);
    if (value_is_collection(*form)) {
        walk_push(walk, *form);
        return false;
    }
    if (!walk->before)
        *form = visit(walk, *form);
    return true;
}

static value walk_leave(struct walk *walk)
{
    struct walk_level level = walk->levels[--walk->depth];
    value_release(walk->run->region, level.items);
    value form = rebuild(walk->run, walk->self, level.tag, level.built);
    return walk->before ? form : visit(walk, form);
}

static value walk_all(struct walk *walk, value form)
{
    struct run *run = walk->run;
    bool done = walk_enter(walk, &form);
    while (walk->depth > 0) {
        run_spend(run, 1);
        struct walk_level *level = &walk->levels[walk->depth - 1];
        if (done)
            vector_add(run, &level->built, form);
        if (level->position < vector_count(level->items)) {
            form = value_retain(vector_at(level->items, level->position++));
            done = walk_enter(walk, &form);
        } else {
            form = walk_leave(walk);
            done = true;
        }
    }
    if (walk->capacity > 0)
        region_return(run->region, walk->levels, walk->capacity * sizeof(struct walk_level));
    return form;
}

static value walk_start(struct run *run, const struct builtin *self, value *arguments, bool before)
{
    run_check_callable(run, self, 1, arguments[0]);
    struct walk walk = {.run = run, .self = self, .f = arguments[0], .before = before};
    value result = walk_all(&walk, arguments[1]);
    value_release(run->region, arguments[0]);
    return result;
}

value builtin_prewalk(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    return walk_start(run, self, arguments, true);
}

value builtin_postwalk(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    return walk_start(run, self, arguments, false);
}

// --- keys and replacements -----------------------------------------------------------------------

// The map with its keys as `rename` makes them; other forms stay as they are.
static value rename_keys(struct walk *walk, value form,
                         value (*rename)(struct walk *walk, value key))
{
    struct run *run = walk->run;
    if (form.tag != VALUE_MAP)
        return form;
    struct sequence entries;
    value entry, result = map_new(run->region);
    sequence_start(run, walk->self, 1, &entries, form);
    while (sequence_step(&entries, &entry)) {
        value key = rename(walk, value_retain(vector_at(entry, 0)));
        result = map_put(run->region, result, key, value_retain(vector_at(entry, 1)));
        value_release(run->region, entry);
    }
    sequence_end(&entries);
    return result;
}

static value string_to_keyword(struct walk *walk, value key)
{
    if (key.tag != VALUE_STRING)
        return key;
    value keyword = value_keyword(walk->run->region, value_text(key));
    value_release(walk->run->region, key);
    return keyword;
}

static value keyword_to_string(struct walk *walk, value key)
{
    if (key.tag != VALUE_KEYWORD)
        return key;
    value string = value_string(walk->run->region, value_text(key));
    value_release(walk->run->region, key);
    return string;
}

static value call_with_key(struct walk *walk, value key)
{
    return run_call1(walk->run, walk->f, key);
}

static value visit_keywordize(struct walk *walk, value form)
{
    return rename_keys(walk, form, string_to_keyword);
}

static value visit_stringify(struct walk *walk, value form)
{
    return rename_keys(walk, form, keyword_to_string);
}

static value visit_keys(struct walk *walk, value form)
{
    return rename_keys(walk, form, call_with_key);
}

value walk_keywordize(struct run *run, const struct builtin *self, value form)
{
    struct walk walk = {.run = run, .self = self, .visit = visit_keywordize};
    return walk_all(&walk, form);
}

value walk_keys(struct run *run, const struct builtin *self, value f, value form)
{
    struct walk walk = {.run = run, .self = self, .f = f, .visit = visit_keys};
    return walk_all(&walk, form);
}

value builtin_keywordize_keys(struct run *run, const struct builtin *self, value *arguments,
                              size_t count)
{
    (void)count;
    return walk_keywordize(run, self, arguments[0]);
}

value builtin_stringify_keys(struct run *run, const struct builtin *self, value *arguments,
                             size_t count)
{
    (void)count;
    struct walk walk = {.run = run, .self = self, .visit = visit_stringify};
    return walk_all(&walk, arguments[0]);
}

// The form's replacement in the map f, or the form.
static value visit_replace(struct walk *walk, value form)
{
    value found;
    if (!map_find(walk->f, form, &found))
        return form;
    value_retain(found);
    value_release(walk->run->region, form);
    return found;
}

static value walk_replace(struct run *run, const struct builtin *self, value *arguments,
                          bool before)
{
    if (arguments[0].tag != VALUE_MAP)
        run_type_error(run, self, 1, "a map", arguments[0], NULL);
    struct walk walk = {
        .run = run, .self = self, .f = arguments[0], .visit = visit_replace, .before = before};
    value result = walk_all(&walk, arguments[1]);
    value_release(run->region, arguments[0]);
    return result;
}

value builtin_prewalk_replace(struct run *run, const struct builtin *self, value *arguments,
                              size_t count)
{
    (void)count;
    return walk_replace(run, self, arguments, true);
}

value builtin_postwalk_replace(struct run *run, const struct builtin *self, value *arguments,
                               size_t count)
{
    (void)count;
    return walk_replace(run, self, arguments, false);
}

// --- tree-seq ------------------------------------------------------------------------------------

value builtin_tree_seq(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    value is_branch = arguments[0], children = arguments[1];
    run_check_callable(run, self, 1, is_branch);
    run_check_callable(run, self, 2, children);
    value result = vector_new(run->region, 0);
    struct walk walk = {.run = run, .self = self};
    value node = arguments[2];
    for (bool more = true; more;) {
        run_spend(run, 1);
        vector_add(run, &result, value_retain(node));
        if (run_test(run, is_branch, node)) {
            value below = run_call_on(run, children, node);
            if (!value_is_seqable(below))
                builtin_fail(run, self, TYPE_ERROR, "children must be a collection, got %s",
                             value_describe(below, (char[DESCRIBE_SIZE]){0}));
            walk_push(&walk, below);
        }
        value_release(run->region, node);
        more = false;
        while (!more && walk.depth > 0) {
            struct walk_level *level = &walk.levels[walk.depth - 1];
            more = level->position < vector_count(level->items);
            if (more)
                node = value_retain(vector_at(level->items, level->position++));
            else
                value_release(run->region, walk.levels[--walk.depth].items);
        }
    }
    if (walk.capacity > 0)
        region_return(run->region, walk.levels, walk.capacity * sizeof(struct walk_level));
    value_release(run->region, is_branch);
    value_release(run->region, children);
    return vector_as_seq(result);
}
