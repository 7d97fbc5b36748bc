#include "signature/describe.h"

#include <string.h>

#include "base/assert.h"
#include "base/buffer.h"
#include "base/utf8.h"
#include "value/text/print.h"

static void append(struct description *description, const char *data, size_t length)
{
    CHECK(length <= sizeof(description->data) - description->length);
    memcpy(description->data + description->length, data, length);
    description->length += length;
}

void description_append(struct description *description, struct span text)
{
    append(description, text.data, text.length);
}

static void append_text(struct description *description, const char *text)
{
    append(description, text, strlen(text));
}

void description_append_cut(struct description *description, struct span text, size_t characters)
{
    size_t shown = utf8_offset(text.data, text.length, characters);
    append(description, text.data, shown);
    if (shown < text.length)
        append_text(description, "...");
}

void description_append_quoted(struct description *description, struct span text, size_t characters)
{
    static const char escaped[] = "\\\"\n\t\r";
    static const char letters[] = "\\\"ntr";
    size_t shown = utf8_offset(text.data, text.length, characters);
    append(description, "\"", 1);
    for (size_t i = 0; i < shown; i++) {
        const char *found = memchr(escaped, text.data[i], sizeof(escaped) - 1);
        if (found)
            append(description, (const char[]){'\\', letters[found - escaped]}, 2);
        else
            append(description, &text.data[i], 1);
    }
    append_text(description, shown < text.length ? "...\"" : "\"");
}

static void append_printed(struct description *description, value v, size_t characters)
{
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, BUFFER_DEFAULT_LIMIT);
    value_print(&text, v);
    description_append_cut(description, buffer_span(&text), characters);
}

void description_append_value(struct description *description, value v)
{
    append_printed(description, v, DESCRIPTION_CHARACTERS);
}

void describe_value(struct description *description, value v)
{
    static const char *const words[VALUE_TAG_COUNT] = {
        [VALUE_NIL] = "nil",          [VALUE_BOOLEAN] = "bool ",     [VALUE_INTEGER] = "int ",
        [VALUE_FLOAT] = "float ",     [VALUE_BIGNUM] = "int ",       [VALUE_STRING] = "string ",
        [VALUE_KEYWORD] = "keyword ", [VALUE_VECTOR] = "list",       [VALUE_MAP] = "map",
        [VALUE_SET] = "set",          [VALUE_FUNCTION] = "function", [VALUE_REGEX] = "regex",
        [VALUE_SYMBOL] = "symbol",    [VALUE_VAR] = "var",
    };
    description->length = 0;
    append_text(description, words[v.tag]);
    switch (v.tag) {
    case VALUE_STRING:
        description_append_quoted(description, value_text(v), DESCRIPTION_CHARACTERS);
        break;
    case VALUE_KEYWORD:
        append(description, ":", 1);
        description_append_cut(description, value_text(v), DESCRIPTION_CHARACTERS);
        break;
    case VALUE_BOOLEAN:
    case VALUE_INTEGER:
    case VALUE_FLOAT:
    case VALUE_BIGNUM: append_printed(description, v, DESCRIPTION_CHARACTERS); break;
    default: break;
    }
}

void describe_key(struct description *description, value key)
{
    description->length = 0;
    if (key.tag == VALUE_STRING || key.tag == VALUE_KEYWORD)
        description_append_cut(description, value_text(key), DESCRIPTION_KEY_CHARACTERS);
    else
        append_printed(description, key, DESCRIPTION_KEY_CHARACTERS);
}
