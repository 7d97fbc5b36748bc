#include "signature/problems.h"

#include <stdio.h>
#include <string.h>

#include "signature/signature.h"

// Bytes a place takes at most, the final NUL included.
static size_t place_size(const struct place *place)
{
    size_t size = sizeof("return");
    for (; place; place = place->parent)
        size += place->name.data ? place->name.length + 1 : sizeof("[18446744073709551615]");
    return size;
}

static size_t place_write(const struct place *place, char *text, size_t size)
{
    if (!place)
        return 0;
    size_t length = place_write(place->parent, text, size);
    if (place->name.data) {
        if (length > 0)
            text[length++] = '.';
        memcpy(text + length, place->name.data, place->name.length);
        return length + place->name.length;
    }
    const char *root = length > 0 ? "" : "return";
    if (place->index == PLACE_ANY_INDEX)
        return length + (size_t)snprintf(text + length, size - length, "%s[]", root);
    return length + (size_t)snprintf(text + length, size - length, "%s[%zu]", root, place->index);
}

struct lines lines_start(struct region *region)
{
    return (struct lines){.region = region, .texts = vector_new(region, 0)};
}

// The line is written in the region: a full region leaves by a jump, and nothing may be lost then.
void lines_add(struct lines *lines, const struct place *place, const char *before,
               struct span about, const char *after)
{
    if (vector_count(lines->texts) >= SIGNATURE_MAX_LINES) {
        lines->left_out++;
        return;
    }
    size_t size = place_size(place) + strlen(": ") + strlen(before) + about.length + strlen(after);
    char *line = region_alloc(lines->region, size);
    size_t length = place_write(place, line, size);
    length += (size_t)snprintf(line + length, size - length, "%s: %s", length > 0 ? "" : "return",
                               before);
    memcpy(line + length, about.data, about.length);
    length += about.length;
    length += (size_t)snprintf(line + length, size - length, "%s", after);
    value text = value_string(lines->region, (struct span){line, length});
    region_return(lines->region, line, size);
    lines->texts = vector_push(lines->region, lines->texts, text);
}

value lines_finish(struct lines *lines, const char *what)
{
    if (lines->left_out > 0) {
        value rest =
            value_string_format(lines->region, "%zu more %s left out", lines->left_out, what);
        lines->texts = vector_push(lines->region, lines->texts, rest);
    }
    return lines->texts;
}
