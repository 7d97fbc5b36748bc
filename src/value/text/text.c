#include "value/text/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <utf8proc.h>

#include "base/assert.h"
#include "base/utf8.h"
#include "value/chunks.h"
#include "value/layout.h"

enum {
    SHARE_MIN = 256,   // shorter parts are copied
    SHARE_FACTOR = 4,  // parts below a quarter of the whole are copied: they must not keep it alive
};

static uint8_t text_flags(struct span text)
{
    for (size_t done = 0, chunk; done < text.length; done += chunk) {
        chunk = chunk_next(text.length - done);
        if (!utf8_is_ascii(text.data + done, chunk))
            return 0;
    }
    return VALUE_SIMPLE;
}

// Every string of at most one ASCII byte.
static value string_tiny(struct span text)
{
    static const char ascii[] = "\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f"
                                "\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a\x1b\x1c\x1d\x1e\x1f"
                                " !\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_"
                                "`abcdefghijklmnopqrstuvwxyz{|}~\x7f";
    const char *data = text.length ? ascii + text.data[0] : "";
    return (value){.tag = VALUE_STRING,
                   .flags = VALUE_BORROWED | VALUE_SIMPLE,
                   .aux = (uint32_t)text.length,
                   .text = data};
}

static bool text_is_tiny(struct span text)
{
    return text.length == 0 || (text.length == 1 && (unsigned char)text.data[0] < 0x80);
}

struct string *string_reserve(struct region *region, size_t capacity)
{
    if (capacity > STRING_MAX)
        capacity = SIZE_MAX / 2;  // the region refuses it
    size_t size = region_round(sizeof(struct string) + capacity);
    struct string *string = region_alloc(region, size);
    *string = (struct string){.header = object_header(OBJECT_STRING),
                              .capacity = (uint32_t)(size - sizeof(struct string))};
    return string;
}

value string_finish(struct region *region, struct string *string, size_t length)
{
    CHECK(length <= string->capacity);
    struct span text = {string->bytes, length};
    if (text_is_tiny(text)) {
        value tiny = string_tiny(text);
        object_release(region, &string->header);
        return tiny;
    }
    size_t size = region_round(sizeof(*string) + length);
    if (size < region_round(sizeof(*string) + string->capacity)) {
        string = region_resize(region, string, sizeof(*string) + string->capacity, size);
        string->capacity = (uint32_t)(size - sizeof(*string));
        text.data = string->bytes;
    }
    string->length = (uint32_t)length;
    return (value){.tag = VALUE_STRING,
                   .flags = text_flags(text),
                   .aux = (uint32_t)length,
                   .object = &string->header};
}

static value string_copy(struct region *region, struct span text, uint8_t tag, uint8_t flags)
{
    struct string *string = string_reserve(region, text.length);
    chunks_copy(string->bytes, text.data, text.length);
    string->length = (uint32_t)text.length;
    return (value){
        .tag = tag, .flags = flags, .aux = (uint32_t)text.length, .object = &string->header};
}

value string_new(struct region *region, struct span text, bool simple)
{
    if (text_is_tiny(text))
        return string_tiny(text);
    return string_copy(region, text, VALUE_STRING, simple ? VALUE_SIMPLE : 0);
}

value value_string(struct region *region, struct span text)
{
    if (text_is_tiny(text))
        return string_tiny(text);
    return string_copy(region, text, VALUE_STRING, text_flags(text));
}

value value_string_borrow(struct region *region, struct span text)
{
    if (text.length > STRING_MAX)
        return value_string(region, text);
    return (value){.tag = VALUE_STRING,
                   .flags = (uint8_t)(VALUE_BORROWED | text_flags(text)),
                   .aux = (uint32_t)text.length,
                   .text = text.data};
}

value value_string_text(struct region *region, const char *text)
{
    return value_string(region, span_from(text));
}

value value_string_repair(struct region *region, struct span text)
{
    struct string *string = string_reserve(region, text.length * 3);
    size_t length = 0;
    for (size_t i = 0; i < text.length;) {
        uint32_t code_point;
        i += utf8_decode(text.data + i, text.length - i, &code_point);
        length += utf8_encode(code_point, string->bytes + length);
    }
    return string_finish(region, string, length);
}

value value_string_format(struct region *region, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    CHECK(length >= 0);
    struct string *string = string_reserve(region, (size_t)length + 1);
    va_start(arguments, format);
    vsnprintf(string->bytes, (size_t)length + 1, format, arguments);
    va_end(arguments);
    if (utf8_is_valid(string->bytes, (size_t)length))
        return string_finish(region, string, (size_t)length);
    value repaired = value_string_repair(region, (struct span){string->bytes, (size_t)length});
    object_release(region, &string->header);
    return repaired;
}

value value_symbol(struct region *region, struct span name)
{
    return string_copy(region, name, VALUE_SYMBOL, 0);
}

value value_var(struct region *region, struct span name)
{
    return string_copy(region, name, VALUE_VAR, 0);
}

struct span value_text(value v)
{
    if (v.tag == VALUE_REGEX) {
        const struct foreign *foreign = foreign_of(v);
        return foreign->type->text(&foreign->header);
    }
    if (v.flags & VALUE_BORROWED)
        return (struct span){v.text, v.aux};
    switch (v.object->kind) {
    case OBJECT_KEYWORD: return (struct span){keyword_of(v)->name, v.aux};
    case OBJECT_STRING_SLICE:
        return (struct span){((const struct string_slice *)v.object)->bytes, v.aux};
    case OBJECT_STRING: return (struct span){string_of(v)->bytes, v.aux};
    default: UNREACHABLE();
    }
}

// --- cutting -------------------------------------------------------------------------------------

static value string_share(struct region *region, value string, struct span part)
{
    struct string_slice *slice = region_alloc(region, sizeof(*slice));
    *slice =
        (struct string_slice){.header = object_header(OBJECT_STRING_SLICE), .bytes = part.data};
    if (string.object->kind == OBJECT_STRING_SLICE)
        slice->parent = ((struct string_slice *)string.object)->parent;
    else
        slice->parent = (struct string *)string.object;
    object_retain(&slice->parent->header);
    return (value){.tag = VALUE_STRING, .aux = (uint32_t)part.length, .object = &slice->header};
}

value string_cut(struct region *region, value string, size_t start, size_t end)
{
    CHECK(start <= end && end <= string.aux);
    struct span text = value_text(string);
    struct span part = {text.data + start, end - start};
    if (part.length == text.length)
        return string;
    uint8_t simple = string_is_simple(string) ? VALUE_SIMPLE : text_flags(part);
    value cut;
    if (text_is_tiny(part)) {
        cut = string_tiny(part);
    } else if (string.flags & VALUE_BORROWED) {
        return (value){.tag = VALUE_STRING,
                       .flags = VALUE_BORROWED | simple,
                       .aux = (uint32_t)part.length,
                       .text = part.data};
    } else if (part.length >= SHARE_MIN && part.length >= text.length / SHARE_FACTOR) {
        cut = string_share(region, string, part);
        cut.flags = simple;
    } else {
        cut = string_copy(region, part, VALUE_STRING, simple);
    }
    value_release(region, string);
    return cut;
}

value string_slice(struct region *region, value string, size_t start, size_t end)
{
    size_t start_offset = string_offset(string, start);
    if (end <= start)
        return string_cut(region, string, start_offset, start_offset);
    size_t end_offset;
    if (string_is_simple(string)) {
        end_offset = end < string.aux ? end : string.aux;
    } else {
        struct span text = value_text(string);
        end_offset = start_offset;
        for (size_t left = end - start; left > 0 && end_offset < text.length; left--)
            end_offset = character_end(text, end_offset);
    }
    return string_cut(region, string, start_offset, end_offset);
}

value string_from_code_point(struct region *region, uint32_t code_point)
{
    char bytes[UTF8_MAX_BYTES] = {0};
    size_t length = utf8_encode(code_point, bytes);
    return value_string(region, (struct span){bytes, length});
}

// --- joining -------------------------------------------------------------------------------------

// The string object of `a` with room for `extra` bytes behind the a.aux bytes that `a` sees.
static struct string *room_behind(struct region *region, value a, size_t extra)
{
    size_t need = (size_t)a.aux + extra;
    bool own = !(a.flags & VALUE_BORROWED) && a.object->kind == OBJECT_STRING;
    struct string *string = own ? (struct string *)a.object : NULL;
    if (own && object_is_unique(&string->header)) {
        if (need <= string->capacity)
            return string;
        size_t capacity = need + need / 2;
        if (need > STRING_MAX)
            capacity = SIZE_MAX / 4;  // the region refuses it
        else if (capacity > STRING_MAX)
            capacity = STRING_MAX;
        size_t size = region_round(sizeof(*string) + capacity);
        string = region_resize(region, string, sizeof(*string) + string->capacity, size);
        string->capacity = (uint32_t)(size - sizeof(*string));
        return string;
    }
    if (own && string->length == a.aux && need <= string->capacity &&
        string->header.references != OBJECT_IMMORTAL)
        return string;
    struct span text = value_text(a);
    struct string *copy = string_reserve(region, need);
    chunks_copy(copy->bytes, text.data, text.length);
    value_release(region, a);
    return copy;
}

static value append_bytes(struct region *region, value a, struct span text, bool simple)
{
    uint8_t flags = simple && string_is_simple(a) ? VALUE_SIMPLE : 0;
    struct string *string = room_behind(region, a, text.length);
    chunks_copy(string->bytes + a.aux, text.data, text.length);
    string->length = a.aux + (uint32_t)text.length;
    return (value){
        .tag = VALUE_STRING, .flags = flags, .aux = string->length, .object = &string->header};
}

value string_append(struct region *region, value a, value b)
{
    if (b.aux == 0) {
        value_release(region, b);
        return a;
    }
    if (a.aux == 0) {
        value_release(region, a);
        return b;
    }
    // When both are one object its count is at least 2, so room_behind() does not move it.
    a = append_bytes(region, a, value_text(b), string_is_simple(b));
    value_release(region, b);
    return a;
}

value string_append_text(struct region *region, value a, struct span text)
{
    if (text.length == 0)
        return a;
    return append_bytes(region, a, text, text_flags(text) & VALUE_SIMPLE);
}

// --- characters ----------------------------------------------------------------------------------

size_t character_end(struct span text, size_t offset)
{
    uint32_t previous, next;
    utf8proc_int32_t state = 0;
    offset += utf8_decode(text.data + offset, text.length - offset, &previous);
    while (offset < text.length) {
        size_t step = utf8_decode(text.data + offset, text.length - offset, &next);
        // Unlike in UAX #29, CR LF is two characters, as programmers count it.
        if (previous == '\r' || utf8proc_grapheme_break_stateful((utf8proc_int32_t)previous,
                                                                 (utf8proc_int32_t)next, &state))
            break;
        previous = next;
        offset += step;
        fuel_spend(1);
    }
    fuel_spend(1);
    return offset;
}

size_t string_count(value string)
{
    if (string_is_simple(string))
        return string.aux;
    struct span text = value_text(string);
    size_t count = 0;
    for (size_t offset = 0; offset < text.length; count++)
        offset = character_end(text, offset);
    return count;
}

size_t string_offset(value string, size_t index)
{
    if (string_is_simple(string))
        return index < string.aux ? index : string.aux;
    struct span text = value_text(string);
    size_t offset = 0;
    for (; index > 0 && offset < text.length; index--)
        offset = character_end(text, offset);
    return offset;
}

bool string_index(value string, size_t offset, size_t *ret_index)
{
    size_t index = offset;
    if (!string_is_simple(string)) {
        struct span text = value_text(string);
        size_t position = 0;
        for (index = 0; position < offset; index++)
            position = character_end(text, position);
        if (position != offset)
            return false;
    }
    *ret_index = index;
    return true;
}
