#include "tools/result/result_shown.h"

#include <sodium.h>

#include "base/memory.h"
#include "base/utf8.h"
#include "tools/result/result_text.h"

static bool refuse(struct shown *shown)
{
    shown->kind = SHOWN_REFUSED;
    return true;
}

static bool refuse_size(struct shown *shown, const char *what, int limit)
{
    error_set(&shown->error, ERROR_LIMIT, "%s at most %d bytes", what, limit);
    return refuse(shown);
}

static bool read_image(struct shown_cursor *cursor, struct shown *shown)
{
    size_t size = shown->text.length / 4 * 3 + 3;
    if (size > SHOWN_BYTES_MAX + 6)
        return refuse_size(shown, "One image has", SHOWN_BYTES_MAX);
    CLEANUP_FREE unsigned char *bytes = memory_alloc(size);
    if (sodium_base642bin(bytes, size, shown->text.data, shown->text.length, NULL, &shown->bytes,
                          NULL, sodium_base64_VARIANT_ORIGINAL) != 0) {
        error_set(&shown->error, ERROR_SYNTAX, "The image is no base64");
        return refuse(shown);
    }
    if (shown->bytes > SHOWN_BYTES_MAX)
        return refuse_size(shown, "One image has", SHOWN_BYTES_MAX);
    if (!image_check((struct span){(char *)bytes, shown->bytes}, IMAGE_STRUCTURE, &shown->image,
                     &shown->error))
        return refuse(shown);
    if (shown->bytes > SHOWN_BYTES_TOGETHER_MAX - cursor->bytes)
        return refuse_size(shown, "The images of one answer have", SHOWN_BYTES_TOGETHER_MAX);
    cursor->bytes += shown->bytes;
    return true;
}

// The agent has cut it where the limit is; a corrupted one may not have.
static bool read_markdown(struct shown_cursor *cursor, struct shown *shown)
{
    enum { NOTE_CHARACTERS = 1000 };  // about what was cut
    size_t room = (size_t)cursor->reply->limits.max_output + NOTE_CHARACTERS;
    size_t characters = utf8_count(shown->text.data, shown->text.length);
    room = room > cursor->characters ? room - cursor->characters : 0;
    if (characters > room)
        shown->text.length = utf8_offset(shown->text.data, shown->text.length, room);
    cursor->characters += characters;
    return true;
}

bool shown_next(struct shown_cursor *cursor, struct shown *ret_shown)
{
    value result = cursor->reply->result;
    size_t count = value_is_map(result) ? map_get_count(result, "shown") : 0;
    if (cursor->next >= count || cursor->next >= SHOWN_ITEMS_MAX)
        return false;
    value item = map_get_item(result, "shown", cursor->next++);
    struct span kind = map_get_string(item, "kind");
    *ret_shown = (struct shown){.text = map_get_string(item, "text")};
    if (span_equal_text(kind, "image")) {
        ret_shown->text = map_get_string(item, "data");
        return read_image(cursor, ret_shown);
    }
    if (!span_equal_text(kind, "svg")) {
        ret_shown->kind = SHOWN_MARKDOWN;
        return read_markdown(cursor, ret_shown);
    }
    ret_shown->kind = SHOWN_SVG;
    if (ret_shown->text.length > SHOWN_BYTES_MAX)
        return refuse_size(ret_shown, "One SVG image has", SHOWN_BYTES_MAX);
    return true;
}

void render_shown_image(struct buffer *text, const struct shown *shown)
{
    buffer_append_format(text, "[%s, %u × %u pixels, ", shown->image.mime_type, shown->image.width,
                         shown->image.height);
    render_grouped(text, (int64_t)shown->bytes);
    buffer_append_text(text, " bytes]");
}

void render_shown(struct buffer *text, const struct session_reply *reply)
{
    struct shown_cursor cursor = {.reply = reply};
    struct shown shown;
    while (shown_next(&cursor, &shown)) {
        render_gap(text);
        switch (shown.kind) {
        case SHOWN_IMAGE: render_shown_image(text, &shown); break;
        case SHOWN_SVG:
            buffer_append_format(text, "[image/svg+xml, %zu bytes]", shown.text.length);
            break;
        case SHOWN_MARKDOWN: buffer_append_span(text, shown.text); break;
        case SHOWN_REFUSED: buffer_append_format(text, "[not shown] %s.", shown.error.message);
        }
    }
}
