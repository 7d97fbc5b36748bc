// The canonical text of signatures.
#include "signature/fields.h"
#include "signature/signature.h"

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

void signature_render_type(struct buffer *buffer, const struct signature_type *type)
{
    switch (type->kind) {
    case SIGNATURE_LIST:
        buffer_append_byte(buffer, '[');
        signature_render_type(buffer, type->element);
        buffer_append_byte(buffer, ']');
        break;
    case SIGNATURE_RECORD: render_fields(buffer, &type->fields, '{', '}'); break;
    default:
        buffer_append_byte(buffer, ':');
        buffer_append_text(buffer, signature_kind_word(type->kind));
        break;
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
