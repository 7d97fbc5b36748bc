#include "tools/offered_text.h"

#include <string.h>

#include "base/assert.h"
#include "tools/tools.h"

void offered_text_append(struct buffer *out, const char *source, const char *selection)
{
    for (const char *part; (part = strstr(source, "<<"));) {
        buffer_append(out, source, (size_t)(part - source));
        const char *text = strstr(part, ": "), *end = strstr(part, ">>");
        CHECK(text && end && text < end);
        struct span name = {part + 2, (size_t)(text - part - 2)};
        if (tools_offer(selection, name))
            buffer_append(out, text + 2, (size_t)(end - text - 2));
        source = end + 2;
    }
    buffer_append_text(out, source);
}
