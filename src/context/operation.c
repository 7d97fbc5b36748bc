#include "context/operation.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/assert.h"
#include "base/buffer.h"
#include "base/utf8.h"
#include "context/arguments.h"
#include "context/markdown.h"

// What an operation works with. The result starts as {"ok":true} and gets its members one by one.
struct call {
    struct context_store *store;
    struct region *region;
    value arguments;
    value result;
    struct buffer text;
    struct context_error error;
};

static void put(struct call *call, const char *name, value item)
{
    call->result = map_put_text(call->region, call->result, name, item);
}

static size_t characters_of(struct span text)
{
    return utf8_count(text.data, text.length);
}

// "25 characters"
static void append_characters(struct buffer *text, struct span content)
{
    size_t characters = characters_of(content);
    buffer_append_format(text, "%zu character%s", characters, characters == 1 ? "" : "s");
}

static void append_id(struct buffer *text, int64_t number)
{
    char id[CONTEXT_ID_SIZE];
    context_id_format(number, id);
    buffer_append_text(text, id);
}

// --- add -----------------------------------------------------------------------------------------

static void put_added(struct call *call, const struct context_added *added, value warnings)
{
    value evicted = vector_new(call->region, added->evicted_count);
    for (size_t i = 0; i < added->evicted_count; i++)
        evicted = vector_push(call->region, evicted,
                              context_item_value(call->region, &added->evicted[i]));
    put(call, "item", context_item_value(call->region, &added->item));
    put(call, "pinned", value_boolean(added->item.pinned));
    put(call, "evicted", evicted);
    put(call, "warnings", warnings);
    put(call, "count", value_integer(added->count));
    put(call, "max_items", value_integer(added->max_items));
}

static void append_evictions(struct buffer *text, const struct context_added *added)
{
    for (size_t i = 0; i < added->evicted_count; i++) {
        const struct context_item *item = &added->evicted[i];
        buffer_append_text(text, "\nEvicted ");
        append_id(text, item->number);
        buffer_append_format(text, " (%s): ", context_type_name(item->type));
        context_append_preview(text, item->content);
    }
}

static void append_warnings(struct buffer *text, value warnings)
{
    for (size_t i = 0; i < vector_count(warnings); i++) {
        value message = map_get(vector_at(warnings, i), "message");
        buffer_append_text(text, "\nWarning: ");
        buffer_append_span(text, value_text(message));
    }
}

static bool add_new(struct call *call)
{
    value content;
    value type;
    value metadata;
    struct context_fields fields = {
        .content = argument_find(call->arguments, "content", &content),
        .type = argument_find(call->arguments, "type", &type),
        .metadata = argument_find(call->arguments, "metadata", &metadata),
    };
    struct context_draft draft;
    struct context_added added;
    bool pinned = false;
    if (!argument_boolean(call->arguments, "pinned", &pinned, &call->error) ||
        !context_draft_check(call->region, &fields, &draft, &call->error) ||
        !context_store_add(call->store, call->region, &draft, pinned ? CONTEXT_PINNED : 0, &added,
                           &call->error))
        return false;
    buffer_append_text(&call->text, "Added ");
    append_id(&call->text, added.item.number);
    buffer_append_format(&call->text, " (%s, ", context_type_name(added.item.type));
    append_characters(&call->text, added.item.content);
    buffer_append_format(&call->text, "). %" PRId64 " of %" PRId64 " items.", added.count,
                         added.max_items);
    append_evictions(&call->text, &added);
    append_warnings(&call->text, draft.warnings);
    put_added(call, &added, draft.warnings);
    return true;
}

static bool pin(struct call *call)
{
    value id;
    int64_t number = 0;
    bool pinned = false;
    struct context_counts counts;
    struct context_added added = {0};
    if (!argument_boolean(call->arguments, "pinned", &pinned, &call->error) ||
        !context_id_check(argument_find(call->arguments, "id", &id), &number, &call->error) ||
        !context_store_pin(call->store, call->region, number, pinned, &added.item, &call->error) ||
        !context_store_count(call->store, &counts, &call->error))
        return false;
    buffer_append_text(&call->text, pinned ? "Pinned " : "Unpinned ");
    append_id(&call->text, number);
    buffer_append_byte(&call->text, '.');
    added.count = counts.count;
    added.max_items = counts.max_items;
    put_added(call, &added, vector_new(call->region, 0));
    return true;
}

static bool add(struct call *call)
{
    if (!argument_is_given(call->arguments, "id"))
        return add_new(call);
    bool only_pins = argument_is_given(call->arguments, "pinned") &&
                     !argument_is_given(call->arguments, "content") &&
                     !argument_is_given(call->arguments, "type") &&
                     !argument_is_given(call->arguments, "metadata");
    return only_pins
               ? pin(call)
               : context_fail(&call->error, CONTEXT_IMMUTABLE_FIELD,
                              "INV-004: id and timestamp are assigned by the store; got \"id\"");
}

// --- list ----------------------------------------------------------------------------------------

struct listing {
    struct call *call;
    bool content;  // full items, too
    value summaries;
    value items;
    size_t bytes;
};

static value summarize(struct region *region, const struct context_item *item, value metadata,
                       struct span preview)
{
    char id[CONTEXT_ID_SIZE];
    context_id_format(item->number, id);
    value summary = map_new(region);
    summary = map_put_text(region, summary, "id", value_string_text(region, id));
    summary = map_put_text(region, summary, "type",
                           value_string_text(region, context_type_name(item->type)));
    summary = map_put_text(region, summary, "timestamp", value_integer(item->timestamp));
    summary = map_put_text(region, summary, "metadata", metadata);
    summary = map_put_text(region, summary, "characters",
                           value_integer((int64_t)characters_of(item->content)));
    summary = map_put_text(region, summary, "pinned", value_boolean(item->pinned));
    return map_put_text(region, summary, "preview", value_string(region, preview));
}

// "- ctx-1 code [pinned] math.lisp:5-7 (25 characters): PREVIEW"
static void list_item(const struct context_item *item, void *data)
{
    struct listing *listing = data;
    struct region *region = listing->call->region;
    struct buffer *text = &listing->call->text;
    value metadata = context_item_metadata(region, item);

    buffer_append_text(text, "\n- ");
    append_id(text, item->number);
    buffer_append_format(text, " %s%s", context_type_name(item->type),
                         item->pinned ? " [pinned]" : "");
    buffer_append_byte(text, ' ');
    size_t before = text->length;
    context_append_location(text, metadata);
    if (text->length > before)
        buffer_append_byte(text, ' ');
    buffer_append_byte(text, '(');
    append_characters(text, item->content);
    buffer_append_text(text, "): ");
    size_t start = text->length;
    context_append_preview(text, item->content);
    struct span preview = {buffer_text(text) + start, text->length - start};

    listing->summaries =
        vector_push(region, listing->summaries, summarize(region, item, metadata, preview));
    listing->bytes += item->content.length;
    if (listing->content && listing->bytes <= CONTEXT_LOAD_LIMIT)
        listing->items = vector_push(region, listing->items, context_item_value(region, item));
}

// The items that `ids` names, in that order, then filtered like any others.
static bool list_ids(struct call *call, value ids, const struct context_filter *filter,
                     struct listing *listing)
{
    if (!value_is_vector(ids)) {
        char got[CONTEXT_GOT_SIZE];
        return context_fail(&call->error, CONTEXT_INVALID_ARGUMENT,
                            "ids must be an array of ids; got %s", context_got(&ids, got));
    }
    size_t count = vector_count(ids);
    struct context_item *items = region_alloc(call->region, (count + 1) * sizeof(*items));
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        value id = vector_at(ids, i);
        int64_t number = 0;
        if (!context_id_check(&id, &number, &call->error) ||
            !context_store_get(call->store, call->region, number, &items[kept], &call->error))
            return false;
        if (filter->types == 0 || filter->types & (1u << items[kept].type))
            kept++;
    }
    size_t first =
        filter->limit >= 0 && (size_t)filter->limit < kept ? kept - (size_t)filter->limit : 0;
    for (size_t i = first; i < kept; i++)
        list_item(&items[i], listing);
    return true;
}

// The line above the items, written last because it counts them.
static void insert_heading(struct call *call, size_t shown, bool filtered,
                           const struct context_counts *counts)
{
    CLEANUP_BUFFER struct buffer whole;
    buffer_init(&whole, call->text.limit);
    if (counts->count == 0)
        buffer_append_text(&whole, "No context items.");
    else if (filtered)
        buffer_append_format(&whole, "%zu shown, %" PRId64 " of %" PRId64 " items", shown,
                             counts->count, counts->max_items);
    else
        buffer_append_format(&whole, "%zu of %" PRId64 " items", shown, counts->max_items);
    buffer_append_span(&whole, buffer_span(&call->text));
    struct buffer old = call->text;
    call->text = whole;
    whole = old;
}

static bool list(struct call *call)
{
    struct listing listing = {
        .call = call,
        .summaries = vector_new(call->region, 0),
        .items = vector_new(call->region, 0),
    };
    struct context_filter filter = CONTEXT_FILTER_ALL;
    struct context_counts counts;
    value ids = map_get(call->arguments, "ids");
    if (!argument_filter(call->arguments, &filter, &call->error) ||
        !argument_boolean(call->arguments, "content", &listing.content, &call->error))
        return false;
    bool listed = value_is_nil(ids) ? context_store_visit(call->store, &filter, list_item, &listing,
                                                          &counts, &call->error)
                                    : list_ids(call, ids, &filter, &listing) &&
                                          context_store_count(call->store, &counts, &call->error);
    if (!listed)
        return false;
    if (listing.content && listing.bytes > CONTEXT_LOAD_LIMIT)
        return context_fail(
            &call->error, CONTEXT_TOO_LARGE,
            "the selected items have %zu bytes; the limit is %d: give types or limit",
            listing.bytes, CONTEXT_LOAD_LIMIT);

    size_t shown = vector_count(listing.summaries);
    bool filtered = filter.types != 0 || filter.limit >= 0 || !value_is_nil(ids);
    insert_heading(call, shown, filtered, &counts);
    put(call, "summaries", listing.summaries);
    if (listing.content)
        put(call, "items", listing.items);
    put(call, "count", value_integer((int64_t)shown));
    put(call, "total", value_integer(counts.count));
    put(call, "max_items", value_integer(counts.max_items));
    return true;
}

// --- remove, clear, render -----------------------------------------------------------------------

static bool remove_item(struct call *call)
{
    value id;
    int64_t number = 0;
    struct context_counts counts;
    struct context_item removed;
    if (!context_id_check(argument_find(call->arguments, "id", &id), &number, &call->error) ||
        !context_store_remove(call->store, call->region, number, &removed, &counts, &call->error))
        return false;
    buffer_append_text(&call->text, "Removed ");
    append_id(&call->text, number);
    buffer_append_format(&call->text, ". %" PRId64 " of %" PRId64 " items.", counts.count,
                         counts.max_items);
    put(call, "removed", context_item_value(call->region, &removed));
    put(call, "count", value_integer(counts.count));
    return true;
}

static bool clear(struct call *call)
{
    unsigned types = 0;
    bool include_pinned = false;
    int64_t removed = 0;
    int64_t kept = 0;
    if (!argument_types(call->arguments, &types, &call->error) ||
        !argument_boolean(call->arguments, "include_pinned", &include_pinned, &call->error) ||
        !context_store_clear(call->store, types, include_pinned, &removed, &kept, &call->error))
        return false;
    buffer_append_format(&call->text, "Removed %" PRId64 " item%s.", removed,
                         removed == 1 ? "" : "s");
    if (kept > 0)
        buffer_append_format(&call->text, " Kept %" PRId64 " pinned item%s.", kept,
                             kept == 1 ? "" : "s");
    put(call, "removed", value_integer(removed));
    put(call, "kept_pinned", value_integer(kept));
    return true;
}

static bool render(struct call *call)
{
    struct context_filter filter = CONTEXT_FILTER_ALL;
    enum context_style style = CONTEXT_BLOCK;
    size_t max_chars = 0;
    struct context_item *items = NULL;
    size_t count = 0;
    if (!argument_filter(call->arguments, &filter, &call->error) ||
        !argument_max_chars(call->arguments, &max_chars, &call->error) ||
        !argument_style(call->arguments, &style, &call->error) ||
        !context_store_load(call->store, call->region, &filter, &items, &count, NULL, &call->error))
        return false;
    struct context_rendering rendering =
        context_render(&call->text, call->region, items, count, max_chars, style);
    put(call, "markdown", value_string(call->region, buffer_span(&call->text)));
    put(call, "characters", value_integer((int64_t)rendering.characters));
    put(call, "shown", value_integer((int64_t)rendering.shown));
    put(call, "omitted", value_integer((int64_t)rendering.omitted));
    put(call, "truncated", value_boolean(rendering.truncated));
    return true;
}

// --- the call ------------------------------------------------------------------------------------

static struct context_result fail(struct call *call)
{
    struct region *region = call->region;
    const char *code = context_code_name(call->error.code);
    value error = map_put_text(region, map_new(region), "code", value_string_text(region, code));
    error = map_put_text(region, error, "message",
                         value_string_format(region, "%s", call->error.message));
    value result = map_put_text(region, map_new(region), "ok", value_boolean(false));
    return (struct context_result){
        .structured = map_put_text(region, result, "error", error),
        .text = value_string_format(region, "[ERROR] %s\n%s", code, call->error.message),
        .error = call->error,
    };
}

struct context_result context_operate(struct context_store *store, struct region *region,
                                      enum context_operation operation, value arguments)
{
    static bool (*const operations[])(struct call *) = {
        [CONTEXT_OPERATION_ADD] = add,
        [CONTEXT_OPERATION_LIST] = list,
        [CONTEXT_OPERATION_REMOVE] = remove_item,
        [CONTEXT_OPERATION_CLEAR] = clear,
        [CONTEXT_OPERATION_RENDER] = render,
    };
    struct call call = {
        .store = store,
        .region = region,
        .arguments = arguments,
        .result = map_put_text(region, map_new(region), "ok", value_boolean(true)),
    };
    buffer_init(&call.text, BUFFER_DEFAULT_LIMIT);
    struct context_result result;
    if (operations[operation](&call)) {
        CHECK(!call.text.failed);
        result = (struct context_result){
            .ok = true,
            .structured = call.result,
            .text = value_string(region, buffer_span(&call.text)),
        };
    } else {
        result = fail(&call);
    }
    buffer_release(&call.text);
    return result;
}

bool context_store_value(struct context_store *store, struct region *region, value *ret_value,
                         struct context_error *error)
{
    struct context_item *items = NULL;
    size_t count = 0;
    struct context_counts counts;
    if (!context_store_load(store, region, &CONTEXT_FILTER_ALL, &items, &count, &counts, error))
        return false;
    value list_value = vector_new(region, count);
    for (size_t i = 0; i < count; i++)
        list_value = vector_push(region, list_value, context_item_value(region, &items[i]));
    value whole = map_put_text(region, map_new(region), "items", list_value);
    *ret_value = map_put_text(region, whole, "max_items", value_integer(counts.max_items));
    return true;
}
