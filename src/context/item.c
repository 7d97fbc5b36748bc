#include "context/item.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/assert.h"
#include "value/text/json.h"

static const char *const code_names[CONTEXT_CODE_COUNT] = {
    [CONTEXT_INVALID_TYPE] = "invalid-type",
    [CONTEXT_INVALID_CONTENT] = "invalid-content",
    [CONTEXT_INVALID_METADATA] = "invalid-metadata",
    [CONTEXT_IMMUTABLE_FIELD] = "immutable-field",
    [CONTEXT_CUSTOM_TYPE_REQUIRED] = "custom-type-required",
    [CONTEXT_TOO_LARGE] = "too-large",
    [CONTEXT_FULL] = "context-full",
    [CONTEXT_NOT_FOUND] = "not-found",
    [CONTEXT_INVALID_ID] = "invalid-id",
    [CONTEXT_INVALID_LIMIT] = "invalid-limit",
    [CONTEXT_MAX_CHARS_TOO_SMALL] = "max-chars-too-small",
    [CONTEXT_INVALID_ARGUMENT] = "invalid-argument",
    [CONTEXT_STORE_BUSY] = "store-busy",
    [CONTEXT_STORE_UNAVAILABLE] = "store-unavailable",
};

static const struct {
    const char *name;
    const char *heading;
} types[CONTEXT_TYPE_COUNT] = {
    [CONTEXT_CODE] = {"code", "Code"},    [CONTEXT_TEXT] = {"text", "Text"},
    [CONTEXT_FILE] = {"file", "File"},    [CONTEXT_REPL_HISTORY] = {"repl-history", "Repl-History"},
    [CONTEXT_ERROR] = {"error", "Error"}, [CONTEXT_CUSTOM] = {"custom", "Custom"},
};

const char *context_code_name(enum context_code code)
{
    return code_names[code];
}

bool context_fail(struct context_error *error, enum context_code code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    error->code = code;
    vsnprintf(error->message, sizeof(error->message), format, arguments);
    va_end(arguments);
    return false;
}

const char *context_type_name(enum context_type type)
{
    return types[type].name;
}

const char *context_type_heading(enum context_type type)
{
    return types[type].heading;
}

bool context_type_from_name(struct span name, enum context_type *ret_type)
{
    for (int i = 0; i < CONTEXT_TYPE_COUNT; i++) {
        if (span_equal_text(name, types[i].name)) {
            *ret_type = (enum context_type)i;
            return true;
        }
    }
    return false;
}

void context_id_format(int64_t number, char id[CONTEXT_ID_SIZE])
{
    snprintf(id, CONTEXT_ID_SIZE, "ctx-%" PRId64, number);
}

bool context_id_parse(struct span id, int64_t *ret_number)
{
    enum { PREFIX = 4, MAX_DIGITS = 18 };
    if (!span_starts_with(id, SPAN("ctx-")) || id.length == PREFIX ||
        id.length > PREFIX + MAX_DIGITS || id.data[PREFIX] == '0')
        return false;
    int64_t number = 0;
    for (size_t i = PREFIX; i < id.length; i++) {
        if (id.data[i] < '0' || id.data[i] > '9')
            return false;
        number = number * 10 + (id.data[i] - '0');
    }
    *ret_number = number;
    return true;
}

int64_t context_universal_time(int64_t unix_seconds)
{
    return unix_seconds + INT64_C(2208988800);
}

value context_item_metadata(struct region *region, const struct context_item *item)
{
    value metadata = value_nil();
    struct error error;
    if (item->metadata.data && !json_read(region, item->metadata, NULL, &metadata, &error))
        // The store's own constraint lets only objects in; what else is there was put there by force.
        return value_nil();
    return metadata;
}

value context_item_value(struct region *region, const struct context_item *item)
{
    char id[CONTEXT_ID_SIZE];
    context_id_format(item->number, id);
    value map = map_new(region);
    map = map_put_text(region, map, "id", value_string_text(region, id));
    map =
        map_put_text(region, map, "type", value_string_text(region, context_type_name(item->type)));
    map = map_put_text(region, map, "content", value_string(region, item->content));
    map = map_put_text(region, map, "metadata", context_item_metadata(region, item));
    return map_put_text(region, map, "timestamp", value_integer(item->timestamp));
}

static struct span copy_span(struct region *region, struct span text)
{
    if (!text.data)
        return text;
    char *copy = region_alloc(region, text.length > 0 ? text.length : 1);
    memcpy(copy, text.data, text.length);
    return (struct span){copy, text.length};
}

struct context_item context_item_copy(struct region *region, const struct context_item *item)
{
    struct context_item copy = *item;
    copy.content = copy_span(region, item->content);
    copy.metadata = copy_span(region, item->metadata);
    return copy;
}
