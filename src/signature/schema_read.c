// The signature nearest to JSON Schemas (2020-12).
#include <string.h>

#include "signature/fields.h"
#include "signature/keyword_pattern.h"
#include "signature/problems.h"
#include "signature/schema_reader.h"

// Types made from one pair of schemas. References can multiply a small schema without end.
enum { SCHEMA_MAX_TYPES = 4096, TYPE_NAMES_MAX = 7 };

bool reader_fail_memory(struct reader *reader)
{
    return error_set(reader->error, ERROR_MEMORY, "the signature needs too much memory");
}

bool reader_become_any(struct reader *reader, const struct place *place, struct span what,
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

// Keywords that only say something about values of other kinds.
static bool is_foreign(struct span name, enum signature_kind kind)
{
    static const char *const of_text[] = {"minLength", "maxLength", "pattern", NULL};
    static const char *const of_numbers[] = {"minimum",          "maximum",    "exclusiveMinimum",
                                             "exclusiveMaximum", "multipleOf", NULL};
    static const char *const of_lists[] = {"items",       "prefixItems", "minItems",
                                           "maxItems",    "uniqueItems", "contains",
                                           "minContains", "maxContains", NULL};
    static const char *const of_maps[] = {
        "properties",    "required",          "additionalProperties", "minProperties",
        "maxProperties", "patternProperties", "propertyNames",        NULL};
    bool is_text = kind == SIGNATURE_STRING || kind == SIGNATURE_KEYWORD;
    bool is_number = kind == SIGNATURE_INT || kind == SIGNATURE_FLOAT;
    if (kind == SIGNATURE_ANY || kind == SIGNATURE_UNION)
        return false;
    return (!is_text && is_listed(name, of_text)) || (!is_number && is_listed(name, of_numbers)) ||
           (kind != SIGNATURE_LIST && is_listed(name, of_lists)) ||
           (kind != SIGNATURE_RECORD && is_listed(name, of_maps));
}

// A line for each keyword of the schema that is neither an annotation nor in `handled`.
void reader_report_rest(struct reader *reader, value schema, const struct place *place,
                        enum signature_kind kind, const char *const *handled, const char *message)
{
    struct map_cursor cursor = map_iterate(schema);
    value key;
    value item;
    while (map_next(&cursor, &key, &item)) {
        struct span name = value_is_string(key) ? value_text(key) : SPAN("a key that is no string");
        bool allows_all = span_equal(name, SPAN("additionalProperties")) &&
                          item.tag == VALUE_BOOLEAN && item.boolean;
        if (!is_annotation(name) && !is_listed(name, handled) && !allows_all &&
            !is_foreign(name, kind))
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
    reader_report_rest(reader, schema, at.place, SIGNATURE_LIST, handled, " is not checked");
    struct signature_type *element = arena_alloc_zero(reader->arena, sizeof(*element));
    if (!element)
        return reader_fail_memory(reader);
    ret_type->kind = SIGNATURE_LIST;
    ret_type->element = element;
    value items;
    if (!map_find_text(schema, "items", &items)) {
        element->kind = SIGNATURE_ANY;
        return true;
    }
    struct place place = {.parent = at.place, .index = PLACE_ANY_INDEX};
    return reader_schema(reader, items, (struct at){&place, at.following}, element);
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
        return reader_fail_memory(reader);
    if (!reader_schema(reader, schema, (struct at){&place, at.following}, &node->field.type))
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
    reader_report_rest(reader, schema, at.place, SIGNATURE_RECORD, handled, " is not checked");
    struct field_list list = {0};
    if (!read_properties(reader, schema, at, &list))
        return false;
    struct field_node *duplicate = NULL;
    if (field_list_finish(&list, reader->arena, ret_fields, &duplicate))
        return true;
    if (!duplicate)
        return reader_fail_memory(reader);
    problems_add(&reader->lost, at.place, "two fields are spelled ", duplicate->field.name,
                 "; no field is checked");
    *ret_fields = (struct signature_fields){0};
    return true;
}

static bool is_datetime(value schema)
{
    return span_equal(map_get_string(schema, "format"), SPAN("date-time"));
}

static bool read_scalar(struct reader *reader, value schema, struct at at, enum signature_kind kind,
                        struct signature_type *ret_type)
{
    static const char *const handled[] = {"type",      "pattern",          "minimum",
                                          "maximum",   "exclusiveMinimum", "exclusiveMaximum",
                                          "minLength", "maxLength",        NULL};
    bool is_text = kind == SIGNATURE_STRING;
    reader_report_rest(reader, schema, at.place, kind, handled, " is not checked");
    ret_type->kind = kind;
    if (is_text && is_keyword_pattern(schema))
        ret_type->kind = SIGNATURE_KEYWORD;
    else if (is_text && is_datetime(schema))
        ret_type->kind = SIGNATURE_DATETIME;
    else if (kind != SIGNATURE_BOOL)
        return reader_limits(reader, schema, at.place, ret_type);
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
    return reader_become_any(reader, at.place, SPAN("type"), ret_type);
}

// --- which kind ----------------------------------------------------------------------------------

// "null" as one of several types is what `?` says.
static bool read_names(struct reader *reader, value schema, value names, struct at at,
                       struct alternatives *list, bool *ret_nullable)
{
    for (size_t i = 0; i < vector_count(names); i++) {
        struct span name = value_text(vector_at(names, i));
        if (span_equal(name, SPAN("null"))) {
            *ret_nullable = true;
            continue;
        }
        struct signature_type *next = alternatives_add(reader, list);
        if (!next)
            return reader_fail_memory(reader);
        if (!read_kind(reader, schema, at, name, next))
            return false;
    }
    return true;
}

static bool are_names(value names)
{
    for (size_t i = 0; i < vector_count(names); i++)
        if (!value_is_string(vector_at(names, i)))
            return false;
    return vector_count(names) <= TYPE_NAMES_MAX;
}

// "type": a name, or names. Alternatives are one level more than the type they stand for.
static bool read_type(struct reader *reader, value schema, value type, struct at at,
                      struct signature_type *ret_type)
{
    struct alternatives list = {0};
    bool nullable = false;
    if (value_is_string(type))
        return read_kind(reader, schema, at, value_text(type), ret_type);
    if (!value_is_vector(type) || !are_names(type) || reader->depth >= SIGNATURE_MAX_DEPTH)
        return reader_become_any(reader, at.place, SPAN("type"), ret_type);
    reader->depth++;
    bool read = read_names(reader, schema, type, at, &list, &nullable) &&
                alternatives_finish(reader, at.place, &list, "type", ret_type);
    reader->depth--;
    ret_type->optional = ret_type->optional || nullable;
    return read;
}

static bool is_null_schema(value schema)
{
    value type = map_get(schema, "type");
    return value_is_string(type) && span_equal(value_text(type), SPAN("null"));
}

// anyOf and oneOf; that only one of several fits is not checked.
static bool read_choice(struct reader *reader, value schema, const char *keyword, value choices,
                        struct at at, struct signature_type *ret_type)
{
    const char *const handled[] = {keyword, NULL};
    struct alternatives list = {0};
    bool nullable = false;
    size_t count = value_is_vector(choices) ? vector_count(choices) : 0;
    if (count > SIGNATURE_MAX_CHOICES || reader->depth >= SIGNATURE_MAX_DEPTH)
        return reader_become_any(reader, at.place, span_from(keyword), ret_type);
    reader_report_rest(reader, schema, at.place, SIGNATURE_ANY, handled, " is not checked");
    for (size_t i = 0; i < count; i++) {
        if (is_null_schema(vector_at(choices, i))) {
            nullable = true;
            continue;
        }
        struct signature_type *next = alternatives_add(reader, &list);
        if (!next)
            return reader_fail_memory(reader);
        if (!reader_schema(reader, vector_at(choices, i), at, next))
            return false;
    }
    if (!alternatives_finish(reader, at.place, &list, keyword, ret_type))
        return false;
    ret_type->optional = ret_type->optional || nullable;
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
        return reader_become_any(reader, at.place, SPAN("$ref"), ret_type);
    struct following here = {at.following, value_text(reference)};
    for (const struct following *outer = at.following; outer; outer = outer->outer) {
        if (span_equal(outer->reference, here.reference))
            return reader_become_any(reader, at.place, SPAN("a $ref to itself"), ret_type);
    }
    value target = resolve(reader, here.reference);
    if (!value_is_map(target) && target.tag != VALUE_BOOLEAN)
        return reader_become_any(reader, at.place, SPAN("$ref"), ret_type);
    reader_report_rest(reader, schema, at.place, SIGNATURE_ANY, handled, " is not checked");
    return reader_schema(reader, target, (struct at){at.place, &here}, ret_type);
}

static bool read_object(struct reader *reader, value schema, struct at at,
                        struct signature_type *ret_type)
{
    static const char *const handled[] = {NULL};
    value found;
    if (map_find_text(schema, "$ref", &found))
        return read_reference(reader, schema, found, at, ret_type);
    if (map_find_text(schema, "enum", &found) || map_find_text(schema, "const", &found))
        return reader_enum(reader, schema, at.place, ret_type);
    if (map_find_text(schema, "type", &found))
        return read_type(reader, schema, found, at, ret_type);
    if (map_find_text(schema, "anyOf", &found))
        return read_choice(reader, schema, "anyOf", found, at, ret_type);
    if (map_find_text(schema, "oneOf", &found))
        return read_choice(reader, schema, "oneOf", found, at, ret_type);
    reader_report_rest(reader, schema, at.place, SIGNATURE_ANY, handled, " became :any");
    ret_type->kind = SIGNATURE_ANY;
    return true;
}

bool reader_schema(struct reader *reader, value schema, struct at at,
                   struct signature_type *ret_type)
{
    *ret_type = (struct signature_type){.kind = SIGNATURE_ANY};
    if (schema.tag == VALUE_BOOLEAN)
        return schema.boolean || reader_become_any(reader, at.place, SPAN("false"), ret_type);
    if (!value_is_map(schema))
        return reader_become_any(reader, at.place, SPAN("a schema that is no object"), ret_type);
    if (reader->types == SCHEMA_MAX_TYPES)
        return reader_become_any(reader, at.place, SPAN("a schema with too many parts"), ret_type);
    if (reader->depth >= SIGNATURE_MAX_DEPTH)
        return reader_become_any(reader, at.place, SPAN("too deep nesting"), ret_type);
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
    if (!reader_schema(reader, input, (struct at){.place = &place}, &type))
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
    return reader_schema(reader, output, (struct at){.place = &place}, &signature->output);
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
        return reader_fail_memory(&reader);
    reader.lost = problems_start(region);
    if (!read_inputs(&reader, input, signature) || !read_output(&reader, output, signature))
        return false;
    *ret_signature = signature;
    *ret_lost = problems_finish(&reader.lost, "losses");
    return true;
}
