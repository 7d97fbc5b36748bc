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

struct problems problems_start(struct region *region)
{
    return (struct problems){.region = region, .texts = vector_new(region, 0)};
}

// The message is written in the region: a full region leaves by a jump, which would leak memory of
// malloc's.
void problems_add(struct problems *problems, const struct place *place, const char *before,
                  struct span about, const char *after)
{
    if (vector_count(problems->texts) >= SIGNATURE_MAX_PROBLEMS) {
        problems->left_out++;
        return;
    }
    size_t size = place_size(place) + strlen(": ") + strlen(before) + about.length + strlen(after);
    char *line = region_alloc(problems->region, size);
    size_t length = place_write(place, line, size);
    length += (size_t)snprintf(line + length, size - length, "%s: %s", length > 0 ? "" : "return",
                               before);
    memcpy(line + length, about.data, about.length);
    length += about.length;
    length += (size_t)snprintf(line + length, size - length, "%s", after);
    value text = value_string(problems->region, (struct span){line, length});
    region_return(problems->region, line, size);
    problems->texts = vector_push(problems->region, problems->texts, text);
}

value problems_finish(struct problems *problems, const char *what)
{
    if (problems->left_out > 0) {
        value rest =
            value_string_format(problems->region, "%zu more %s left out", problems->left_out, what);
        problems->texts = vector_push(problems->region, problems->texts, rest);
    }
    return problems->texts;
}

void problems_add_all(struct problems *problems, const struct problems *from)
{
    problems->left_out += from->left_out;
    for (size_t i = 0; i < vector_count(from->texts); i++) {
        if (vector_count(problems->texts) >= SIGNATURE_MAX_PROBLEMS)
            problems->left_out++;
        else
            problems->texts = vector_push(problems->region, problems->texts,
                                          value_retain(vector_at(from->texts, i)));
    }
}
