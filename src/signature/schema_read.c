// The signature nearest to JSON Schemas (2020-12).
#include <string.h>

#include "signature/fields.h"
#include "signature/keyword_pattern.h"
#include "signature/problems.h"
#include "signature/signature.h"

// Types made from one pair of schemas. References can multiply a small schema without end.
enum { SCHEMA_MAX_TYPES = 4096 };

struct reader {
    struct arena *arena;
    struct region *region;
    value root;  // where references start
    size_t types;
    unsigned depth;
    struct problems lost;
    struct error *error;
};

// References being followed, to notice one that leads to itself.
struct following {
    const struct following *outer;
    struct span reference;
};

// The context of one schema: its place, and the references that led to it.
struct at {
    const struct place *place;
    const struct following *following;
};

static bool read_schema(struct reader *reader, value schema, struct at at,
                        struct signature_type *ret_type);

static bool fail_memory(struct reader *reader)
{
    return error_set(reader->error, ERROR_MEMORY, "the signature needs too much memory");
}

static bool become_any(struct reader *reader, const struct place *place, struct span what,
                       struct signature_type *ret_type)
{
    problems_add(&reader->lost, place, "", what, " became :any");
    *ret_type = (struct signature_type){.kind = SIGNATURE_ANY};
    return true;
}

// --- keywords that say nothing, or nothing a signature can say -----------------------------------

static bool is_listed(struct span name, const char *const *list)
{
    for (; *list; list++) {
        if (span_equal_text(name, *list))
            return true;
    }
    return false;
}

static bool is_annotation(struct span name)
{
    static const char *const annotations[] = {
        "$schema",     "$id",         "$anchor",  "$comment",  "$defs",
        "definitions", "title",       "default",  "examples",  "format",
        "deprecated",  "description", "readOnly", "writeOnly", NULL,
    };
    return is_listed(name, annotations) || span_starts_with(name, SPAN("x-"));
}

// A line for each keyword of the schema that is neither an annotation nor in `handled`.
static void report_rest(struct reader *reader, value schema, const struct place *place,
                        const char *const *handled, const char *message)
{
    struct map_cursor cursor = map_iterate(schema);
    value key;
    value item;
    while (map_next(&cursor, &key, &item)) {
        struct span name = value_is_string(key) ? value_text(key) : SPAN("a key that is no string");
        bool allows_all = span_equal(name, SPAN("additionalProperties")) &&
                          item.tag == VALUE_BOOLEAN && item.boolean;
        if (!is_annotation(name) && !is_listed(name, handled) && !allows_all)
            problems_add(&reader->lost, place, "", name, message);
    }
}

// --- kinds ---------------------------------------------------------------------------------------

static bool is_keyword_pattern(value schema)
{
    value pattern = map_get(schema, "pattern");
    return value_is_string(pattern) &&
           (span_equal_text(value_text(pattern), SCHEMA_KEYWORD_INPUT) ||
            span_equal_text(value_text(pattern), SCHEMA_KEYWORD_OUTPUT));
}

static bool read_list(struct reader *reader, value schema, struct at at,
                      struct signature_type *ret_type)
{
    static const char *const handled[] = {"type", "items", NULL};
    report_rest(reader, schema, at.place, handled, " is not checked");
    struct signature_type *element = arena_alloc_zero(reader->arena, sizeof(*element));
    if (!element)
        return fail_memory(reader);
    ret_type->kind = SIGNATURE_LIST;
    ret_type->element = element;
    value items;
    if (!map_find_text(schema, "items", &items)) {
        element->kind = SIGNATURE_ANY;
        return true;
    }
    struct place place = {.parent = at.place, .index = PLACE_ANY_INDEX};
    return read_schema(reader, items, (struct at){&place, at.following}, element);
}

static bool is_required(value required, struct span name)
{
    for (size_t i = 0; value_is_vector(required) && i < vector_count(required); i++) {
        value item = vector_at(required, i);
        if (value_is_string(item) && span_equal(value_text(item), name))
            return true;
    }
    return false;
}

static bool read_property(struct reader *reader, struct field_list *list, struct span name,
                          value schema, bool required, struct at at)
{
    struct place place = {.parent = at.place, .name = name};
    if (!field_name_is_valid(name)) {
        problems_add(&reader->lost, &place, "the name cannot be a field and is not checked",
                     SPAN(""), "");
        return true;
    }
    struct field_node *node = field_list_add(list, reader->arena, name);
    if (!node)
        return fail_memory(reader);
    if (!read_schema(reader, schema, (struct at){&place, at.following}, &node->field.type))
        return false;
    // For a signature an absent field and a nil one are the same thing.
    if (!required)
        node->field.type.optional = true;
    return true;
}

static bool read_properties(struct reader *reader, value schema, struct at at,
                            struct field_list *list)
{
    value properties = map_get(schema, "properties");
    value required = map_get(schema, "required");
    if (value_is_map(properties)) {
        struct map_cursor cursor = map_iterate(properties);
        value key;
        value item;
        while (map_next(&cursor, &key, &item)) {
            struct span name = value_is_string(key) ? value_text(key) : SPAN("");
            if (!read_property(reader, list, name, item, is_required(required, name), at))
                return false;
        }
    }
    for (size_t i = 0; value_is_vector(required) && i < vector_count(required); i++) {
        value name = vector_at(required, i);
        value known;
        if (!value_is_string(name) ||
            (value_is_map(properties) && map_find(properties, name, &known)))
            continue;
        if (!read_property(reader, list, value_text(name), value_boolean(true), true, at))
            return false;
    }
    return true;
}

static bool read_fields(struct reader *reader, value schema, struct at at,
                        struct signature_fields *ret_fields)
{
    static const char *const handled[] = {"type", "properties", "required", NULL};
    report_rest(reader, schema, at.place, handled, " is not checked");
    struct field_list list = {0};
    if (!read_properties(reader, schema, at, &list))
        return false;
    struct field_node *duplicate = NULL;
    if (field_list_finish(&list, reader->arena, ret_fields, &duplicate))
        return true;
    if (!duplicate)
        return fail_memory(reader);
    problems_add(&reader->lost, at.place, "two fields are spelled ", duplicate->field.name,
                 "; no field is checked");
    *ret_fields = (struct signature_fields){0};
    return true;
}

static bool read_scalar(struct reader *reader, value schema, struct at at, enum signature_kind kind,
                        struct signature_type *ret_type)
{
    static const char *const handled[] = {"type", NULL};
    static const char *const handled_keyword[] = {"type", "pattern", NULL};
    bool keyword = kind == SIGNATURE_STRING && is_keyword_pattern(schema);
    report_rest(reader, schema, at.place, keyword ? handled_keyword : handled, " is not checked");
    ret_type->kind = keyword ? SIGNATURE_KEYWORD : kind;
    return true;
}

static bool read_kind(struct reader *reader, value schema, struct at at, struct span name,
                      struct signature_type *ret_type)
{
    if (span_equal(name, SPAN("object"))) {
        ret_type->kind = SIGNATURE_RECORD;
        return read_fields(reader, schema, at, &ret_type->fields);
    }
    if (span_equal(name, SPAN("array")))
        return read_list(reader, schema, at, ret_type);
    if (span_equal(name, SPAN("string")))
        return read_scalar(reader, schema, at, SIGNATURE_STRING, ret_type);
    if (span_equal(name, SPAN("integer")))
        return read_scalar(reader, schema, at, SIGNATURE_INT, ret_type);
    if (span_equal(name, SPAN("number")))
        return read_scalar(reader, schema, at, SIGNATURE_FLOAT, ret_type);
    if (span_equal(name, SPAN("boolean")))
        return read_scalar(reader, schema, at, SIGNATURE_BOOL, ret_type);
    return become_any(reader, at.place, SPAN("type"), ret_type);
}

// --- which kind ----------------------------------------------------------------------------------

// "type": a name, or names of which one may be "null".
static bool read_type(struct reader *reader, value schema, value type, struct at at,
                      struct signature_type *ret_type)
{
    value name = type;
    bool nullable = false;
    if (value_is_vector(type)) {
        name = value_nil();
        for (size_t i = 0; i < vector_count(type); i++) {
            value item = vector_at(type, i);
            if (value_is_string(item) && span_equal(value_text(item), SPAN("null")))
                nullable = true;
            else if (value_is_nil(name))
                name = item;
            else
                return become_any(reader, at.place, SPAN("type"), ret_type);
        }
    }
    if (!value_is_string(name))
        return become_any(reader, at.place, SPAN("type"), ret_type);
    if (!read_kind(reader, schema, at, value_text(name), ret_type))
        return false;
    ret_type->optional = nullable;
    return true;
}

static bool is_null_schema(value schema)
{
    value type = map_get(schema, "type");
    return value_is_string(type) && span_equal(value_text(type), SPAN("null"));
}

// anyOf and oneOf can be said only as "T or null".
static bool read_choice(struct reader *reader, value schema, const char *keyword, value choices,
                        struct at at, struct signature_type *ret_type)
{
    const char *const handled[] = {keyword, NULL};
    bool pair = value_is_vector(choices) && vector_count(choices) == 2;
    bool null_first = pair && is_null_schema(vector_at(choices, 0));
    if (!null_first && !(pair && is_null_schema(vector_at(choices, 1))))
        return become_any(reader, at.place, span_from(keyword), ret_type);
    report_rest(reader, schema, at.place, handled, " is not checked");
    if (!read_schema(reader, vector_at(choices, null_first ? 1 : 0), at, ret_type))
        return false;
    ret_type->optional = true;
    return true;
}

// One step of a JSON pointer: `~1` is '/', `~0` is '~'. False when the step is longer than a name
// in a schema ever is.
static bool pointer_step(struct span *pointer, char *name, size_t size, size_t *ret_length)
{
    size_t length = 0;
    size_t i = 1;
    for (; i < pointer->length && pointer->data[i] != '/'; i++) {
        char byte = pointer->data[i];
        if (byte == '~' && i + 1 < pointer->length) {
            i++;
            byte = pointer->data[i] == '1' ? '/' : '~';
        }
        if (length + 1 >= size)
            return false;
        name[length++] = byte;
    }
    name[length] = '\0';
    *ret_length = length;
    *pointer = (struct span){pointer->data + i, pointer->length - i};
    return true;
}

// "#/$defs/name": resolved from the root; nil when there is no such schema.
static value resolve(struct reader *reader, struct span reference)
{
    if (reference.length == 0 || reference.data[0] != '#')
        return value_nil();
    value schema = reader->root;
    struct span pointer = {reference.data + 1, reference.length - 1};
    while (pointer.length > 0) {
        char name[256];
        size_t length = 0;
        if (pointer.data[0] != '/' || !pointer_step(&pointer, name, sizeof(name), &length) ||
            strlen(name) != length || !value_is_map(schema))
            return value_nil();
        schema = map_get(schema, name);
    }
    return schema;
}

static bool read_reference(struct reader *reader, value schema, value reference, struct at at,
                           struct signature_type *ret_type)
{
    static const char *const handled[] = {"$ref", NULL};
    if (!value_is_string(reference))
        return become_any(reader, at.place, SPAN("$ref"), ret_type);
    struct following here = {at.following, value_text(reference)};
    for (const struct following *outer = at.following; outer; outer = outer->outer) {
        if (span_equal(outer->reference, here.reference))
            return become_any(reader, at.place, SPAN("a $ref to itself"), ret_type);
    }
    value target = resolve(reader, here.reference);
    if (!value_is_map(target) && target.tag != VALUE_BOOLEAN)
        return become_any(reader, at.place, SPAN("$ref"), ret_type);
    report_rest(reader, schema, at.place, handled, " is not checked");
    return read_schema(reader, target, (struct at){at.place, &here}, ret_type);
}

static bool read_object(struct reader *reader, value schema, struct at at,
                        struct signature_type *ret_type)
{
    static const char *const handled[] = {NULL};
    value found;
    if (map_find_text(schema, "$ref", &found))
        return read_reference(reader, schema, found, at, ret_type);
    if (map_find_text(schema, "type", &found))
        return read_type(reader, schema, found, at, ret_type);
    if (map_find_text(schema, "anyOf", &found))
        return read_choice(reader, schema, "anyOf", found, at, ret_type);
    if (map_find_text(schema, "oneOf", &found))
        return read_choice(reader, schema, "oneOf", found, at, ret_type);
    report_rest(reader, schema, at.place, handled, " became :any");
    ret_type->kind = SIGNATURE_ANY;
    return true;
}

static bool read_schema(struct reader *reader, value schema, struct at at,
                        struct signature_type *ret_type)
{
    *ret_type = (struct signature_type){.kind = SIGNATURE_ANY};
    if (schema.tag == VALUE_BOOLEAN)
        return schema.boolean || become_any(reader, at.place, SPAN("false"), ret_type);
    if (!value_is_map(schema))
        return become_any(reader, at.place, SPAN("a schema that is no object"), ret_type);
    if (reader->types == SCHEMA_MAX_TYPES)
        return become_any(reader, at.place, SPAN("a schema with too many parts"), ret_type);
    if (reader->depth > SIGNATURE_MAX_DEPTH)
        return become_any(reader, at.place, SPAN("too deep nesting"), ret_type);
    reader->types++;
    reader->depth++;
    bool read = read_object(reader, schema, at, ret_type);
    reader->depth--;
    return read;
}

static bool is_schema(value schema)
{
    return value_is_map(schema) || schema.tag == VALUE_BOOLEAN;
}

// Inputs are a map: a schema of another type says nothing about them.
static bool read_inputs(struct reader *reader, value input, struct signature *signature)
{
    struct place place = {.name = SPAN("input")};
    struct signature_type type;
    reader->root = input;
    if (!read_schema(reader, input, (struct at){.place = &place}, &type))
        return false;
    signature->has_inputs = type.kind == SIGNATURE_RECORD;
    signature->inputs = type.fields;
    return true;
}

static bool read_output(struct reader *reader, value output, struct signature *signature)
{
    struct place place = {.name = SPAN("output")};
    reader->root = output;
    reader->depth = 1;  // the inputs themselves are one level more than their types
    if (value_is_nil(output)) {
        signature->output.kind = SIGNATURE_ANY;
        return true;
    }
    return read_schema(reader, output, (struct at){.place = &place}, &signature->output);
}

bool signature_from_schema(struct arena *arena, struct region *region, value input, value output,
                           const struct signature **ret_signature, value *ret_lost,
                           struct error *error)
{
    if (!is_schema(input) || (!value_is_nil(output) && !is_schema(output)))
        return error_set(error, ERROR_INVALID, "a JSON Schema is an object or a boolean");
    struct reader reader = {.arena = arena, .region = region, .error = error};
    struct signature *signature = arena_alloc_zero(arena, sizeof(*signature));
    if (!signature)
        return fail_memory(&reader);
    reader.lost = problems_start(region);
    if (!read_inputs(&reader, input, signature) || !read_output(&reader, output, signature))
        return false;
    *ret_signature = signature;
    *ret_lost = problems_finish(&reader.lost, "losses");
    return true;
}
