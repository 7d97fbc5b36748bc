// Arguments of context operations, as JSON: whatever they are, each operation answers, what was added
// is stored byte for byte, and documents are valid and within their budget.
#include "base/assert.h"
#include "base/utf8.h"
#include "context/arguments.h"
#include "context/operation.h"
#include "fuzz.h"
#include "value/text/json.h"

enum { REGION_LIMIT = 512 << 20 };

static value operate(struct context_store *store, struct region *region,
                     enum context_operation operation, value arguments)
{
    struct context_result result = context_operate(store, region, operation, arguments);
    CHECK(map_get(result.structured, "ok").boolean == result.ok);
    struct span text = value_text(result.text);
    CHECK(utf8_is_valid(text.data, text.length));
    CHECK(result.ok || result.error.message[0]);
    return result.ok ? result.structured : value_nil();
}

static void check_stored(struct context_store *store, struct region *region, value arguments,
                         value added)
{
    value content = map_get(arguments, "content");
    if (!value_is_string(content))
        return;  // pinned, not added
    int64_t number = 0;
    struct context_item item;
    struct context_error error;
    value id = map_get(map_get(added, "item"), "id");
    CHECK(context_id_check(&id, &number, &error));
    CHECK(context_store_get(store, region, number, &item, &error));
    CHECK(span_equal(item.content, value_text(content)));
    CHECK(value_identical(context_item_metadata(region, &item), map_get(arguments, "metadata")));
}

static void check_rendered(value arguments, value rendered)
{
    struct span document = value_text(map_get(rendered, "markdown"));
    size_t characters = utf8_count(document.data, document.length);
    value max_chars = map_get(arguments, "max_chars");
    CHECK((int64_t)characters == map_get(rendered, "characters").integer);
    CHECK(value_is_nil(max_chars) || (int64_t)characters <= max_chars.integer);
}

// One store for many inputs: an operation must hold whatever came before it.
static struct context_store *the_store(void)
{
    static struct context_store *store;
    if (!store)
        store = context_store_new(":memory:");
    return store;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct context_store *store = the_store();
    struct region *region = region_new(REGION_LIMIT);
    struct error error;
    value arguments;
    if (json_read(region, (struct span){(const char *)data, size}, NULL, &arguments, &error) &&
        value_is_map(arguments)) {
        value added = operate(store, region, CONTEXT_OPERATION_ADD, arguments);
        if (!value_is_nil(added))
            check_stored(store, region, arguments, added);
        operate(store, region, CONTEXT_OPERATION_LIST, arguments);
        value rendered = operate(store, region, CONTEXT_OPERATION_RENDER, arguments);
        if (!value_is_nil(rendered))
            check_rendered(arguments, rendered);
        operate(store, region, CONTEXT_OPERATION_REMOVE, arguments);
        if (size % 7 == 0)
            operate(store, region, CONTEXT_OPERATION_CLEAR, arguments);
    }
    region_free(region);
    return 0;
}
