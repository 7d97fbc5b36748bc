// The reader: strings, regexes and characters (docs/reference/language.md 2).
#include <string.h>
#include <utf8proc.h>

#include "base/array.h"
#include "base/utf8.h"
#include "program/compile/reader.h"
#include "value/text/literal.h"

const char *reader_find_quote(struct reader *reader, const char *start, const char *what)
{
    for (const char *p = reader->next; p < reader->end; p++) {
        if (*p == '"')
            return p;
        if (*p == '\\' && ++p == reader->end)
            break;
    }
    reader_fail(reader, start, "unclosed %s", what);
}

static struct span decode_string(struct reader *reader, struct span raw)
{
    if (!memchr(raw.data, '\\', raw.length))
        return raw;
    char *text = compilation_alloc(reader->compilation, raw.length + 1);
    size_t length = 0;
    for (size_t i = 0; i < raw.length;) {
        if (raw.data[i] != '\\') {
            text[length++] = raw.data[i++];
            continue;
        }
        size_t bytes;
        struct span rest = {raw.data + i, raw.length - i};
        size_t taken = literal_escape(rest, text + length, &bytes);
        if (taken == 0)
            reader_fail(reader, raw.data + i,
                        "unknown escape %.*s in a string; \\\\ is a backslash, \\uXXXX a character",
                        (int)utf8_offset(rest.data, rest.length, 2), rest.data);
        i += taken;
        length += bytes;
    }
    return (struct span){text, length};
}

struct form *read_string(struct reader *reader)
{
    const char *start = reader->next++;
    const char *quote = reader_find_quote(reader, start, "string");
    struct form *form = reader_form(reader, FORM_STRING, start);
    form->text = decode_string(reader, (struct span){reader->next, (size_t)(quote - reader->next)});
    reader->next = quote + 1;
    return form;
}

struct form *read_regex(struct reader *reader)
{
    const char *start = reader->next;
    reader->next += 2;
    const char *quote = reader_find_quote(reader, start, "regex");
    struct form *form = reader_form(reader, FORM_REGEX, start);
    form->text = (struct span){reader->next, (size_t)(quote - reader->next)};
    reader->next = quote + 1;
    return form;
}

// Bytes of the first extended grapheme cluster.
static size_t cluster_length(const char *text, size_t length)
{
    uint32_t previous;
    size_t taken = utf8_decode(text, length, &previous);
    utf8proc_int32_t state = 0;
    while (taken < length) {
        uint32_t code_point;
        size_t bytes = utf8_decode(text + taken, length - taken, &code_point);
        if (utf8proc_grapheme_break_stateful((utf8proc_int32_t)previous,
                                             (utf8proc_int32_t)code_point, &state))
            break;
        previous = code_point;
        taken += bytes;
    }
    return taken;
}

// \uXXXX and \oNNN as characters: the bytes after the backslash, or 0.
static size_t read_code_point(struct reader *reader, char *ret_text, size_t *ret_length)
{
    char escape[8] = "\\";
    size_t length = 1;
    while (length < 6 && literal_is_symbol_character(reader_peek(reader, length - 1))) {
        escape[length] = reader_peek(reader, length - 1);
        length++;
    }
    bool octal = escape[1] == 'o' && length > 2;
    if (!octal && !(escape[1] == 'u' && length == 6))
        return 0;
    if (octal)
        memmove(escape + 1, escape + 2, length - 1);
    struct span text = {escape, octal ? length - 1 : length};
    size_t taken = literal_escape(text, ret_text, ret_length);
    return taken == text.length ? length - 1 : 0;
}

struct form *read_character(struct reader *reader)
{
    static const struct {
        const char *name;
        const char *text;
    } named[] = {
        {"newline", "\n"}, {"space", " "},      {"tab", "\t"},
        {"return", "\r"},  {"backspace", "\b"}, {"formfeed", "\f"},
    };
    const char *start = reader->next++;
    size_t left = (size_t)(reader->end - reader->next);
    if (left == 0)
        reader_fail(reader, start, "unfinished character literal");
    struct form *form = reader_form(reader, FORM_STRING, start);
    for (size_t i = 0; i < COUNT_OF(named); i++) {
        size_t length = strlen(named[i].name);
        if (left >= length && memcmp(reader->next, named[i].name, length) == 0 &&
            (left == length || !literal_is_symbol_character(reader->next[length]))) {
            form->text = span_from(named[i].text);
            reader->next += length;
            return form;
        }
    }
    char *escaped = compilation_alloc(reader->compilation, UTF8_MAX_BYTES);
    size_t bytes, taken = read_code_point(reader, escaped, &bytes);
    if (taken > 0) {
        form->text = (struct span){escaped, bytes};
        reader->next += taken;
        return form;
    }
    size_t length = cluster_length(reader->next, left);
    form->text = (struct span){reader->next, length};
    reader->next += length;
    reader_check_separated(reader, start, "character literal", "use a string");
    return form;
}
