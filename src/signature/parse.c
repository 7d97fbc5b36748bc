// Parses the text of a signature (docs/signatures.md) by recursive descent, of bounded depth.
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/utf8.h"
#include "signature/fields.h"
#include "signature/parser.h"
#include "signature/signature.h"

static const struct {
    const char *name;
    enum signature_kind kind;
} primitives[] = {
    {"string", SIGNATURE_STRING}, {"int", SIGNATURE_INT},      {"float", SIGNATURE_FLOAT},
    {"bool", SIGNATURE_BOOL},     {"boolean", SIGNATURE_BOOL}, {"keyword", SIGNATURE_KEYWORD},
    {"any", SIGNATURE_ANY},       {"map", SIGNATURE_MAP},      {"datetime", SIGNATURE_DATETIME},
};

// --- positions and characters --------------------------------------------------------------------

static void position_of(const struct parser *parser, size_t offset, unsigned *ret_line,
                        unsigned *ret_column)
{
    unsigned line = 1;
    unsigned column = 1;
    for (size_t i = 0; i < offset;) {
        uint32_t code_point = 0;
        size_t taken = utf8_decode(parser->text.data + i, parser->text.length - i, &code_point);
        i += taken;
        if (code_point == '\n') {
            line++;
            column = 1;
        } else {
            column++;
        }
    }
    *ret_line = line;
    *ret_column = column;
}

bool parser_fail(struct parser *parser, size_t offset, enum error_code code, const char *message)
{
    unsigned line = 0;
    unsigned column = 0;
    position_of(parser, offset, &line, &column);
    return error_set_at(parser->error, code, line, column, "%s", message);
}

bool parser_fail_memory(struct parser *parser)
{
    return error_set(parser->error, ERROR_MEMORY, "the signature needs too much memory");
}

// "expected a type, found ')'"; bytes that cannot be shown in a line are named by number.
bool parser_fail_expected(struct parser *parser, const char *expected)
{
    char message[128];
    size_t rest = parser->text.length - parser->position;
    if (rest == 0) {
        snprintf(message, sizeof(message), "expected %s, found the end", expected);
        return parser_fail(parser, parser->position, ERROR_SYNTAX, message);
    }
    const char *found = parser->text.data + parser->position;
    uint32_t code_point = 0;
    size_t length = utf8_decode(found, rest, &code_point);
    if (code_point < 0x20 || code_point == 0x7F || !utf8_is_valid(found, length))
        snprintf(message, sizeof(message), "expected %s, found U+%04X", expected,
                 (unsigned)code_point);
    else
        snprintf(message, sizeof(message), "expected %s, found '%.*s'", expected, (int)length,
                 found);
    return parser_fail(parser, parser->position, ERROR_SYNTAX, message);
}

char parser_peek(const struct parser *parser)
{
    return parser->position < parser->text.length ? parser->text.data[parser->position] : '\0';
}

bool parser_at_end(const struct parser *parser)
{
    return parser->position >= parser->text.length;
}

bool parser_accept(struct parser *parser, char byte)
{
    if (parser_at_end(parser) || parser_peek(parser) != byte)
        return false;
    parser->position++;
    return true;
}

void parser_skip_space(struct parser *parser)
{
    while (!parser_at_end(parser) && strchr(" \t\r\n", parser_peek(parser)) &&
           parser_peek(parser) != '\0')
        parser->position++;
}

struct span parser_name(struct parser *parser)
{
    size_t start = parser->position;
    if (!parser_at_end(parser) && field_name_starts_with(parser_peek(parser))) {
        while (!parser_at_end(parser) && field_name_has(parser_peek(parser)))
            parser->position++;
    }
    return (struct span){parser->text.data + start, parser->position - start};
}

// --- grammar -------------------------------------------------------------------------------------

static bool parse_field(struct parser *parser, struct field_list *list)
{
    parser_accept(parser, ':');
    size_t start = parser->position;
    struct span name = parser_name(parser);
    if (name.length == 0)
        return parser_fail_expected(parser, "a field name");
    struct field_node *node = field_list_add(list, parser->arena, name);
    if (!node)
        return parser_fail_memory(parser);
    node->offset = start;
    parser_skip_space(parser);
    return parser_type(parser, &node->field.type);
}

static bool finish_fields(struct parser *parser, const struct field_list *list,
                          struct signature_fields *ret_fields)
{
    struct field_node *duplicate = NULL;
    if (field_list_finish(list, parser->arena, ret_fields, &duplicate))
        return true;
    if (!duplicate)
        return parser_fail_memory(parser);
    char message[160];
    snprintf(message, sizeof(message),
             "field %.80s is declared twice (- and _ are the same in names)",
             duplicate->field.name.data);
    return parser_fail(parser, duplicate->offset, ERROR_SYNTAX, message);
}

// The fields up to `closer`, which is consumed too.
static bool parse_fields(struct parser *parser, char closer, struct signature_fields *ret_fields)
{
    struct field_list list = {0};
    bool after_comma = false;
    const char *expected = closer == ')' ? "a field name or ')'" : "a field name or '}'";
    for (;;) {
        parser_skip_space(parser);
        if (!after_comma && parser_accept(parser, closer))
            return finish_fields(parser, &list, ret_fields);
        if (parser_at_end(parser) ||
            (parser_peek(parser) != ':' && !field_name_starts_with(parser_peek(parser))))
            return parser_fail_expected(parser, after_comma ? "a field name" : expected);
        if (!parse_field(parser, &list))
            return false;
        parser_skip_space(parser);
        after_comma = parser_accept(parser, ',');
    }
}

static bool parse_primitive(struct parser *parser, struct signature_type *ret_type)
{
    size_t start = parser->position;
    parser->position++;
    struct span name = parser_name(parser);
    for (size_t i = 0; i < COUNT_OF(primitives); i++) {
        if (span_equal_text(name, primitives[i].name)) {
            ret_type->kind = primitives[i].kind;
            return true;
        }
    }
    char message[200];
    snprintf(
        message, sizeof(message),
        "unknown type :%.*s (types: :string :int :float :bool :keyword :datetime :any :map [T] "
        "{f T} [:enum \"a\"] [:or T T] [:int 1 9])",
        (int)(name.length < 40 ? name.length : 40), name.data);
    return parser_fail(parser, start, ERROR_SYNTAX, message);
}

// After '[': a list, or one of the types that say more than a kind.
static bool parse_bracket(struct parser *parser, struct signature_type *ret_type)
{
    parser_skip_space(parser);
    if (parser_word(parser, "enum"))
        return parser_enum(parser, ret_type);
    if (parser_word(parser, "or"))
        return parser_union(parser, ret_type);
    struct signature_type *element = arena_alloc_zero(parser->arena, sizeof(*element));
    if (!element)
        return parser_fail_memory(parser);
    bool is_word = parser_peek(parser) == ':';
    if (!parser_type(parser, element))
        return false;
    parser_skip_space(parser);
    if (is_word && parser_at_limits(parser, element)) {
        *ret_type = *element;
        return parser_limits(parser, ret_type);
    }
    if (!parser_accept(parser, ']'))
        return parser_fail_expected(parser, "']'");
    ret_type->kind = SIGNATURE_LIST;
    ret_type->element = element;
    return true;
}

bool parser_type(struct parser *parser, struct signature_type *ret_type)
{
    if (parser->depth == SIGNATURE_MAX_DEPTH) {
        char message[80];
        snprintf(message, sizeof(message), "nested deeper than %d levels", SIGNATURE_MAX_DEPTH);
        return parser_fail(parser, parser->position, ERROR_LIMIT, message);
    }
    parser->depth++;
    *ret_type = (struct signature_type){0};
    bool parsed;
    if (parser_peek(parser) == ':') {
        parsed = parse_primitive(parser, ret_type);
    } else if (parser_accept(parser, '[')) {
        parsed = parse_bracket(parser, ret_type);
    } else if (parser_accept(parser, '{')) {
        ret_type->kind = SIGNATURE_RECORD;
        parsed = parse_fields(parser, '}', &ret_type->fields);
    } else {
        parsed = parser_fail_expected(parser, "a type");
    }
    parser->depth--;
    if (parsed)
        ret_type->optional = parser_accept(parser, '?');
    return parsed;
}

static bool parse_signature(struct parser *parser, struct signature *signature)
{
    parser_skip_space(parser);
    if (parser_accept(parser, '(')) {
        signature->has_inputs = true;
        if (!parse_fields(parser, ')', &signature->inputs))
            return false;
        parser_skip_space(parser);
        if (parser->text.length - parser->position < 2 ||
            memcmp(parser->text.data + parser->position, "->", 2) != 0)
            return parser_fail_expected(parser, "'->'");
        parser->position += 2;
        parser_skip_space(parser);
    }
    if (!parser_type(parser, &signature->output))
        return false;
    parser_skip_space(parser);
    return parser_at_end(parser) || parser_fail_expected(parser, "the end");
}

bool signature_parse(struct arena *arena, struct span text, const struct signature **ret_signature,
                     struct error *error)
{
    if (text.length > SIGNATURE_MAX_BYTES)
        return error_set(error, ERROR_LIMIT, "%zu bytes long, the limit is %d", text.length,
                         SIGNATURE_MAX_BYTES);
    struct parser parser = {.arena = arena, .text = text, .error = error};
    struct signature *signature = arena_alloc_zero(arena, sizeof(*signature));
    if (!signature)
        return parser_fail_memory(&parser);
    if (!parse_signature(&parser, signature))
        return false;
    *ret_signature = signature;
    return true;
}
