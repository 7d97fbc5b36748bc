#include "inspector/evaluation_detail.h"

#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "tools/result/result_shown.h"
#include "tools/result/result_structured.h"
#include "value/text/json.h"

enum { REQUEST_MAX = 256 << 10, DETAIL_MAX = 3 << 20 };

static value put_text(struct region *region, value map, const char *name, struct span text)
{
    return map_put_text(region, map, name, value_string_repair(region, text));
}

value evaluation_request(struct region *region, const struct session_news *news)
{
    CLEANUP_BUFFER struct buffer text;
    value request;
    struct error error;
    buffer_init(&text, REQUEST_MAX);
    buffer_append_span(&text, news->request);
    buffer_append_byte(&text, '}');
    if (!text.failed && json_read(region, buffer_span(&text), NULL, &request, &error) &&
        value_is_map(request))
        return request;
    request = put_text(region, map_new(region), "code", span_from(news->label ? news->label : ""));
    return map_put_text(region, request, "is_cut", value_boolean(true));
}

struct span evaluation_code(value request)
{
    static const char *const names[] = {"code", "path", "system", "restart", "op"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        struct span text = map_get_string(request, names[i]);
        if (text.length > 0)
            return text;
    }
    return SPAN("");
}

static value shown_item(struct region *region, const struct shown *shown)
{
    static const char *const kinds[] = {[SHOWN_IMAGE] = "image",
                                        [SHOWN_SVG] = "svg",
                                        [SHOWN_MARKDOWN] = "markdown",
                                        [SHOWN_REFUSED] = "refused"};
    value item = put_text(region, map_new(region), "kind", span_from(kinds[shown->kind]));
    if (shown->kind == SHOWN_REFUSED)
        return put_text(region, item, "text", span_from(shown->error.message));
    item = put_text(region, item, "text", shown->text);
    if (shown->kind != SHOWN_IMAGE)
        return item;
    item = put_text(region, item, "mime_type", span_from(shown->image.mime_type));
    item = map_put_text(region, item, "width", value_integer(shown->image.width));
    return map_put_text(region, item, "height", value_integer(shown->image.height));
}

static value shown_items(struct region *region, const struct session_reply *reply)
{
    struct shown_cursor cursor = {.reply = reply};
    struct shown shown;
    value items = vector_new(region, 0);
    while (shown_next(&cursor, &shown))
        items = vector_push(region, items, shown_item(region, &shown));
    return items;
}

// With the images, or else without.
static char *write(value detail)
{
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, DETAIL_MAX);
    json_write(&text, detail, 0, NULL);
    return text.failed ? NULL : memory_copy_text(text.data, text.length);
}

char *evaluation_detail(struct region *region, value request, const struct session_reply *reply)
{
    value detail = map_put_text(region, map_new(region), "request", value_copy(region, request));
    if (!reply)
        return write(detail);
    value result = structured_evaluation(region, reply);
    result = structured_member(region, result, reply->result, "timing");
    detail = map_put_text(region, detail, "result", result);
    value shown = shown_items(region, reply);
    if (vector_count(shown) == 0)
        return write(detail);
    char *text = write(map_put_text(region, value_retain(detail), "shown", shown));
    return text ? text : write(detail);
}
