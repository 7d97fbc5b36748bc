// The canonical text of signatures.
#include "base/ascii.h"
#include "base/utf8.h"
#include "signature/fields.h"
#include "signature/pattern.h"
#include "signature/signature.h"
#include "value/text/print.h"

static void render_fields(struct buffer *buffer, const struct signature_fields *fields, char open,
                          char close)
{
    buffer_append_byte(buffer, open);
    for (size_t i = 0; i < fields->count; i++) {
        if (i > 0)
            buffer_append_text(buffer, ", ");
        buffer_append_span(buffer, fields->items[i].name);
        buffer_append_byte(buffer, ' ');
        signature_render_type(buffer, &fields->items[i].type);
    }
    buffer_append_byte(buffer, close);
}

// --- literals ------------------------------------------------------------------------------------

// Characters that end lines, turn the direction of text or cannot be seen: schemas of foreign servers
// become signatures, which stand in lists that models read.
static bool is_unsafe(uint32_t code_point)
{
    return code_point < 0x20 || (code_point >= 0x7F && code_point < 0xA0) || code_point == 0xAD ||
           (code_point >= 0x200B && code_point <= 0x200F) ||
           (code_point >= 0x2028 && code_point <= 0x202E) ||
           (code_point >= 0x2060 && code_point <= 0x206F) || code_point == 0xFEFF;
}

static void render_character(struct buffer *buffer, struct span character, uint32_t code_point)
{
    if (is_unsafe(code_point))
        buffer_append_format(buffer, "\\u%04X", (unsigned)code_point);
    else
        buffer_append_span(buffer, character);
}

static void render_string(struct buffer *buffer, struct span text)
{
    buffer_append_byte(buffer, '"');
    for (size_t i = 0; i < text.length;) {
        uint32_t code_point;
        size_t length = utf8_decode(text.data + i, text.length - i, &code_point);
        if (text.data[i] == '"' || text.data[i] == '\\')
            buffer_append_byte(buffer, '\\');
        render_character(buffer, (struct span){text.data + i, length}, code_point);
        i += length;
    }
    buffer_append_byte(buffer, '"');
}

// A quote is preceded by a backslash; one that the pattern has before what is unsafe goes.
static void render_pattern(struct buffer *buffer, struct span text)
{
    buffer_append_text(buffer, "#\"");
    for (size_t i = 0; i < text.length;) {
        bool escaped = text.data[i] == '\\' && i + 1 < text.length;
        i += escaped;
        uint32_t code_point;
        size_t length = utf8_decode(text.data + i, text.length - i, &code_point);
        if ((escaped && !is_unsafe(code_point)) || text.data[i] == '"')
            buffer_append_byte(buffer, '\\');
        render_character(buffer, (struct span){text.data + i, length}, code_point);
        i += length;
    }
    buffer_append_byte(buffer, '"');
}

static void render_bound(struct buffer *buffer, struct signature_bound bound, char excluded)
{
    buffer_append_byte(buffer, ' ');
    if (value_is_nil(bound.limit)) {
        buffer_append_byte(buffer, '_');
        return;
    }
    if (bound.excluded)
        buffer_append_byte(buffer, excluded);
    value_print(buffer, bound.limit);
}

// --- types ---------------------------------------------------------------------------------------

static void render_limits(struct buffer *buffer, const struct signature_type *type)
{
    const struct signature_limits *limits = type->limits;
    buffer_append_format(buffer, "[:%s", signature_kind_word(type->kind));
    if (!value_is_nil(limits->low.limit) || !value_is_nil(limits->high.limit)) {
        render_bound(buffer, limits->low, '>');
        render_bound(buffer, limits->high, '<');
    }
    if (limits->pattern) {
        buffer_append_byte(buffer, ' ');
        render_pattern(buffer, signature_pattern_text(limits->pattern));
    }
    buffer_append_byte(buffer, ']');
}

static void render_choices(struct buffer *buffer, const struct signature_type *type)
{
    buffer_append_text(buffer, "[:enum");
    for (size_t i = 0; i < type->count; i++) {
        buffer_append_byte(buffer, ' ');
        if (type->choices[i].text.data)
            render_string(buffer, type->choices[i].text);
        else
            value_print(buffer, type->choices[i].other);
    }
    buffer_append_byte(buffer, ']');
}

static void render_alternatives(struct buffer *buffer, const struct signature_type *type)
{
    buffer_append_text(buffer, "[:or");
    for (size_t i = 0; i < type->count; i++) {
        buffer_append_byte(buffer, ' ');
        signature_render_type(buffer, &type->element[i]);
    }
    buffer_append_byte(buffer, ']');
}

static void render_scalar(struct buffer *buffer, const struct signature_type *type)
{
    if (type->limits) {
        render_limits(buffer, type);
        return;
    }
    buffer_append_byte(buffer, ':');
    buffer_append_text(buffer, signature_kind_word(type->kind));
}

void signature_render_type(struct buffer *buffer, const struct signature_type *type)
{
    switch (type->kind) {
    case SIGNATURE_LIST:
        buffer_append_byte(buffer, '[');
        signature_render_type(buffer, type->element);
        buffer_append_byte(buffer, ']');
        break;
    case SIGNATURE_RECORD: render_fields(buffer, &type->fields, '{', '}'); break;
    case SIGNATURE_ENUM: render_choices(buffer, type); break;
    case SIGNATURE_UNION: render_alternatives(buffer, type); break;
    default: render_scalar(buffer, type); break;
    }
    if (type->optional)
        buffer_append_byte(buffer, '?');
}

void signature_render(struct buffer *buffer, const struct signature *signature)
{
    if (signature->has_inputs) {
        render_fields(buffer, &signature->inputs, '(', ')');
        buffer_append_text(buffer, " -> ");
    }
    signature_render_type(buffer, &signature->output);
}

// The first closing parenthesis that stands in no literal.
struct span signature_inputs_text(struct span text)
{
    bool quoted = false;
    while (text.length && ascii_is_space(text.data[0]))
        text = (struct span){text.data + 1, text.length - 1};
    for (size_t i = 0; text.length && text.data[0] == '(' && i < text.length; i++) {
        char byte = text.data[i];
        if (byte == '"')
            quoted = !quoted;
        else if (byte == '\\')
            i++;
        else if (byte == ')' && !quoted)
            return (struct span){text.data, i + 1};
    }
    return (struct span){0};
}
