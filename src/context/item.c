#include "context/item.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/ascii.h"
#include "base/buffer.h"
#include "base/utf8.h"
#include "context/metadata.h"
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
        if (!ascii_is_digit(id.data[i]))
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
        // The store's own constraint lets only objects in; what else is there was put there by
        // force.
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

// --- the value in a message ----------------------------------------------------------------------

static const char *kind_words(const value *v)
{
    if (!v)
        return "nothing";
    switch (v->tag) {
    case VALUE_NIL: return "null";
    case VALUE_BOOLEAN: return "a boolean";
    case VALUE_INTEGER:
    case VALUE_BIGNUM:
    case VALUE_FLOAT: return "a number";
    case VALUE_VECTOR: return "an array";
    case VALUE_MAP: return "an object";
    default: return "a string";
    }
}

const char *context_got(const value *v, char text[CONTEXT_GOT_SIZE])
{
    enum { SHOWN = 60 };
    if (!v || (v->tag != VALUE_STRING && v->tag != VALUE_INTEGER && v->tag != VALUE_FLOAT &&
               v->tag != VALUE_BIGNUM))
        return kind_words(v);
    CLEANUP_BUFFER struct buffer json;
    buffer_init(&json, BUFFER_DEFAULT_LIMIT);
    if (v->tag == VALUE_STRING) {
        struct span string = value_text(*v);
        size_t shown = utf8_offset(string.data, string.length, SHOWN);
        json_write_string(&json, (struct span){string.data, shown});
        if (shown < string.length)
            buffer_append_text(&json, "...");
    } else {
        json_write(&json, *v, 0, NULL);
    }
    struct span written = buffer_span(&json);
    size_t kept = written.length < CONTEXT_GOT_SIZE ? written.length
                                                    : utf8_cut(written.data, CONTEXT_GOT_SIZE - 1);
    memcpy(text, written.data, kept);
    text[kept] = '\0';
    return text;
}

value context_warning(struct region *region, const char *code, const char *format, ...)
{
    char text[CONTEXT_MESSAGE_SIZE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    value warning = map_put_text(region, map_new(region), "code", value_string_text(region, code));
    return map_put_text(region, warning, "message", value_string_format(region, "%s", text));
}

// --- INV-001 -------------------------------------------------------------------------------------

// The type that a name becomes in lower case with dashes.
static bool type_suggested(struct span name, enum context_type *ret_type)
{
    char folded[16];
    if (name.length >= sizeof(folded))
        return false;
    for (size_t i = 0; i < name.length; i++) {
        char byte = ascii_to_lower(name.data[i]);
        folded[i] = byte == '_' ? '-' : byte;
    }
    return context_type_from_name((struct span){folded, name.length}, ret_type);
}

bool context_type_check(value type, enum context_type *ret_type, struct context_error *error)
{
    if (value_is_string(type) && context_type_from_name(value_text(type), ret_type))
        return true;
    char got[CONTEXT_GOT_SIZE];
    char hint[64] = "";
    enum context_type suggested;
    if (value_is_string(type) && type_suggested(value_text(type), &suggested))
        snprintf(hint, sizeof(hint), "; did you mean \"%s\"?", context_type_name(suggested));
    return context_fail(error, CONTEXT_INVALID_TYPE,
                        "INV-001: type must be one of code, text, file, repl-history, error, "
                        "custom; got %s%s",
                        value_is_string(type) ? context_got(&type, got) : kind_words(&type), hint);
}

// --- INV-002 and INV-005 -------------------------------------------------------------------------

static bool check_content(const value *content, struct context_draft *draft,
                          struct context_error *error)
{
    if (!content || !value_is_string(*content))
        return context_fail(error, CONTEXT_INVALID_CONTENT,
                            "INV-002: content must be a string; got %s", kind_words(content));
    struct span text = value_text(*content);
    if (text.length > CONTEXT_CONTENT_LIMIT)
        return context_fail(error, CONTEXT_TOO_LARGE,
                            "content has %zu bytes; the limit max-content-bytes is %d", text.length,
                            CONTEXT_CONTENT_LIMIT);
    draft->content = text;
    return true;
}

static bool store_metadata(struct region *region, value metadata, struct context_draft *draft,
                           struct context_error *error)
{
    CLEANUP_BUFFER struct buffer json;
    buffer_init(&json, BUFFER_DEFAULT_LIMIT);
    json_write(&json, metadata, 0, NULL);
    if (json.failed || json.length > CONTEXT_METADATA_LIMIT)
        return context_fail(error, CONTEXT_TOO_LARGE,
                            "metadata has %zu bytes; the limit max-metadata-bytes is %d",
                            json.length, CONTEXT_METADATA_LIMIT);
    draft->metadata = value_text(value_string(region, buffer_span(&json)));
    return true;
}

static bool check_custom_type(enum context_type type, value metadata, struct context_error *error)
{
    value custom = map_get(metadata, "custom_type");
    if (type != CONTEXT_CUSTOM || (value_is_string(custom) && value_text(custom).length > 0))
        return true;
    return context_fail(error, CONTEXT_CUSTOM_TYPE_REQUIRED,
                        "type custom needs metadata.custom_type, a non-empty string");
}

bool context_draft_check(struct region *region, const struct context_fields *fields,
                         struct context_draft *ret_draft, struct context_error *error)
{
    struct context_draft draft = {.type = CONTEXT_CODE, .warnings = vector_new(region, 0)};
    value metadata = fields->metadata ? *fields->metadata : value_nil();
    if (fields->type && !value_is_nil(*fields->type) &&
        !context_type_check(*fields->type, &draft.type, error))
        return false;
    if (!check_content(fields->content, &draft, error))
        return false;
    if (!value_is_nil(metadata) && !value_is_map(metadata))
        return context_fail(error, CONTEXT_INVALID_METADATA,
                            "INV-005: metadata must be an object or null; got %s",
                            kind_words(&metadata));
    if (value_is_map(metadata)) {
        if (!metadata_check(metadata, error) || !store_metadata(region, metadata, &draft, error))
            return false;
        draft.warnings = metadata_warnings(region, metadata, draft.warnings);
    }
    if (!check_custom_type(draft.type, metadata, error))
        return false;
    *ret_draft = draft;
    return true;
}
