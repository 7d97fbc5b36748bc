// JSON Schemas (2020-12) of signatures.
#include "signature/keyword_pattern.h"
#include "signature/pattern.h"
#include "signature/signature.h"

// A keyword has one form in inputs and another in results.
enum direction { DIRECTION_INPUT, DIRECTION_OUTPUT };

static value type_schema(const struct signature_type *type, enum direction direction,
                         struct region *region);

static const char *json_type(enum signature_kind kind)
{
    switch (kind) {
    case SIGNATURE_STRING:
    case SIGNATURE_DATETIME:
    case SIGNATURE_KEYWORD: return "string";
    case SIGNATURE_INT: return "integer";
    case SIGNATURE_FLOAT: return "number";
    case SIGNATURE_BOOL: return "boolean";
    case SIGNATURE_LIST: return "array";
    case SIGNATURE_MAP:
    case SIGNATURE_RECORD: return "object";
    default: return NULL;
    }
}

static value put_fields(struct region *region, value schema, const struct signature_fields *fields,
                        enum direction direction)
{
    value properties = map_new(region);
    value required = vector_new(region, fields->count);
    for (size_t i = 0; i < fields->count; i++) {
        const struct signature_field *field = &fields->items[i];
        value name = value_string(region, field->name);
        if (!field->type.optional)
            required = vector_push(region, required, value_retain(name));
        properties =
            map_put(region, properties, name, type_schema(&field->type, direction, region));
    }
    schema = map_put_text(region, schema, "properties", properties);
    if (vector_count(required) > 0)
        return map_put_text(region, schema, "required", required);
    value_release(region, required);
    return schema;
}

static value put_type(struct region *region, value schema, const struct signature_type *type)
{
    value name = value_string_text(region, json_type(type->kind));
    if (!type->optional)
        return map_put_text(region, schema, "type", name);
    value names = vector_push(region, vector_new(region, 2), name);
    names = vector_push(region, names, value_string_text(region, "null"));
    return map_put_text(region, schema, "type", names);
}

static value put_text(struct region *region, value schema, const char *name, struct span text)
{
    return map_put_text(region, schema, name, value_string(region, text));
}

static value put_limits(struct region *region, value schema, const struct signature_type *type)
{
    const struct signature_limits *limits = type->limits;
    bool is_text = type->kind == SIGNATURE_STRING;
    const char *low = limits->low.excluded ? "exclusiveMinimum" : "minimum";
    const char *high = limits->high.excluded ? "exclusiveMaximum" : "maximum";
    if (!value_is_nil(limits->low.limit))
        schema = map_put_text(region, schema, is_text ? "minLength" : low, limits->low.limit);
    if (!value_is_nil(limits->high.limit))
        schema = map_put_text(region, schema, is_text ? "maxLength" : high, limits->high.limit);
    return limits->pattern
               ? put_text(region, schema, "pattern", signature_pattern_text(limits->pattern))
               : schema;
}

static value enum_schema(struct region *region, const struct signature_type *type)
{
    value choices = vector_new(region, type->count + 1);
    for (size_t i = 0; i < type->count; i++) {
        const struct signature_choice *choice = &type->choices[i];
        choices =
            vector_push(region, choices,
                        choice->text.data ? value_string(region, choice->text) : choice->other);
    }
    if (type->optional)
        choices = vector_push(region, choices, value_nil());
    return map_put_text(region, map_new(region), "enum", choices);
}

static value union_schema(struct region *region, const struct signature_type *type,
                          enum direction direction)
{
    value choices = vector_new(region, type->count + 1);
    for (size_t i = 0; i < type->count; i++)
        choices = vector_push(region, choices, type_schema(&type->element[i], direction, region));
    if (type->optional)
        choices =
            vector_push(region, choices, put_text(region, map_new(region), "type", SPAN("null")));
    return map_put_text(region, map_new(region), "anyOf", choices);
}

static value keyword_pattern(struct region *region, value schema, enum direction direction)
{
    bool is_input = direction == DIRECTION_INPUT;
    return put_text(region, schema, "pattern",
                    is_input ? SPAN(SCHEMA_KEYWORD_INPUT) : SPAN(SCHEMA_KEYWORD_OUTPUT));
}

static value type_schema(const struct signature_type *type, enum direction direction,
                         struct region *region)
{
    if (type->kind == SIGNATURE_ANY)
        return map_new(region);
    if (type->kind == SIGNATURE_ENUM)
        return enum_schema(region, type);
    if (type->kind == SIGNATURE_UNION)
        return union_schema(region, type, direction);
    value schema = put_type(region, map_new(region), type);
    if (type->limits)
        return put_limits(region, schema, type);
    if (type->kind == SIGNATURE_KEYWORD)
        return keyword_pattern(region, schema, direction);
    if (type->kind == SIGNATURE_DATETIME)
        return put_text(region, schema, "format", SPAN("date-time"));
    if (type->kind == SIGNATURE_LIST)
        return map_put_text(region, schema, "items", type_schema(type->element, direction, region));
    if (type->kind == SIGNATURE_RECORD && type->fields.count > 0)
        return put_fields(region, schema, &type->fields, direction);
    return schema;
}

value signature_input_schema(const struct signature *signature, struct region *region)
{
    value schema =
        map_put_text(region, map_new(region), "type", value_string_text(region, "object"));
    return signature->has_inputs ? put_fields(region, schema, &signature->inputs, DIRECTION_INPUT)
                                 : schema;
}

value signature_output_schema(const struct signature *signature, struct region *region)
{
    return type_schema(&signature->output, DIRECTION_OUTPUT, region);
}
