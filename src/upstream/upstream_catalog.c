#include "upstream/upstream_catalog.h"

#include <string.h>

#include "base/arena.h"
#include "base/ascii.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "signature/signature.h"
#include "value/text/json.h"

enum { SCHEMA_ARENA = 4 << 20 };

void upstream_catalog_init(struct upstream_catalog *catalog)
{
    *catalog = (struct upstream_catalog){.region = region_new(SIZE_MAX)};
}

void upstream_catalog_release(struct upstream_catalog *catalog)
{
    memory_free(catalog->tools);
    memory_free(catalog->index);
    region_free(catalog->region);
    *catalog = (struct upstream_catalog){0};
}

static const char *keep(struct upstream_catalog *catalog, struct span text)
{
    char *copy = region_alloc(catalog->region, text.length + 1);
    if (text.length)
        memcpy(copy, text.data, text.length);
    copy[text.length] = '\0';
    return copy;
}

// --- names ---------------------------------------------------------------------------------------

// Printable and short: a name goes into the catalogue that a model reads.
static bool name_is_valid(struct span name)
{
    for (size_t i = 0; i < name.length; i++)
        if (name.data[i] <= ' ' || name.data[i] >= 127 || name.data[i] == '"')
            return false;
    return name.length > 0 && name.length <= UPSTREAM_TOOL_NAME_MAX;
}

static char name_byte(char byte)
{
    bool symbol = ascii_is_letter(byte) || ascii_is_digit(byte) || strchr("-?!*+<>=", byte);
    return symbol ? byte : '-';
}

static const char *make_program_name(struct upstream_catalog *catalog, struct span name)
{
    char text[UPSTREAM_TOOL_NAME_MAX + 2];
    size_t length = 0;
    if (!ascii_is_letter(name.data[0]))
        text[length++] = 't';  // a symbol begins with a letter
    for (size_t i = 0; i < name.length; i++)
        text[length++] = name_byte(name.data[i]);
    return keep(catalog, (struct span){text, length});
}

static size_t hash_name(struct span name)
{
    char bytes[UPSTREAM_TOOL_NAME_MAX + 2];
    size_t length = name.length < sizeof(bytes) ? name.length : sizeof(bytes);
    for (size_t i = 0; i < length; i++)
        bytes[i] = name_byte(name.data[i]);
    return (size_t)hash_bytes(bytes, length, hash_seed());
}

static bool same_name(struct span a, const char *b)
{
    for (size_t i = 0; i < a.length; i++)
        if (!b[i] || name_byte(a.data[i]) != name_byte(b[i]))
            return false;
    return b[a.length] == '\0';
}

const struct upstream_tool *upstream_catalog_find(const struct upstream_catalog *catalog,
                                                  struct span name)
{
    for (size_t at = hash_name(name); catalog->slots; at++) {
        uint32_t number = catalog->index[at & (catalog->slots - 1)];
        if (number == 0)
            break;
        const struct upstream_tool *tool = &catalog->tools[number - 1];
        if (same_name(name, tool->name.data) || same_name(name, tool->program_name))
            return tool;
    }
    return NULL;
}

static void index_name(struct upstream_catalog *catalog, struct span name, size_t number)
{
    size_t at = hash_name(name) & (catalog->slots - 1);
    while (catalog->index[at])
        at = (at + 1) & (catalog->slots - 1);
    catalog->index[at] = (uint32_t)number + 1;
}

// A tool has two names at most; the table is never more than half full.
static void index_tool(struct upstream_catalog *catalog, size_t number)
{
    const struct upstream_tool *tool = &catalog->tools[number];
    index_name(catalog, tool->name, number);
    if (!same_name(tool->name, tool->program_name))
        index_name(catalog, span_from(tool->program_name), number);
}

static void grow_index(struct upstream_catalog *catalog)
{
    catalog->slots = 4 * catalog->capacity;
    memory_free(catalog->index);
    catalog->index = memory_alloc_zero(catalog->slots * sizeof(*catalog->index));
    for (size_t i = 0; i < catalog->count; i++)
        index_tool(catalog, i);
}

// --- descriptions --------------------------------------------------------------------------------

// One line of text without control characters: what a server says must not look like something else.
static const char *make_description(struct upstream_catalog *catalog, value description)
{
    if (!value_is_string(description))
        return "";
    struct span text = value_text(description);
    if (text.length > UPSTREAM_DESCRIPTION_MAX)
        text.length = utf8_cut(text.data, UPSTREAM_DESCRIPTION_MAX);
    char *copy = region_alloc(catalog->region, text.length + 1);
    size_t length = 0;
    for (size_t i = 0; i < text.length; i++) {
        char byte = (unsigned char)text.data[i] < ' ' || text.data[i] == 127 ? ' ' : text.data[i];
        if (byte == ' ' && (length == 0 || copy[length - 1] == ' '))
            continue;
        copy[length++] = byte;
    }
    copy[length] = '\0';
    return copy;
}

static const char *make_signature(struct upstream_catalog *catalog, value tool)
{
    struct arena arena;
    arena_init(&arena, SCHEMA_ARENA);
    struct region *region = region_new(SIZE_MAX);
    const struct signature *signature;
    value lost;
    struct error error;
    const char *text = NULL;
    if (signature_from_schema(&arena, region, map_get(tool, "inputSchema"),
                              map_get(tool, "outputSchema"), &signature, &lost, &error)) {
        CLEANUP_BUFFER struct buffer rendered;
        buffer_init(&rendered, SIGNATURE_MAX_BYTES);
        signature_render(&rendered, signature);
        if (!rendered.failed)
            text = keep(catalog, buffer_span(&rendered));
    }
    region_free(region);
    arena_release(&arena);
    return text;
}

// Also what the signature does not say is part of what was approved.
static uint64_t mark_schemas(value tool)
{
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, BUFFER_DEFAULT_LIMIT);
    json_write(&text, map_get(tool, "inputSchema"), JSON_SORTED, NULL);
    json_write(&text, map_get(tool, "outputSchema"), JSON_SORTED, NULL);
    return hash_bytes(text.data, text.length, 1);
}

// --- pages ---------------------------------------------------------------------------------------

static void add_tool(struct upstream_catalog *catalog, const struct upstream_tool *tool)
{
    if (catalog->count == catalog->capacity) {
        catalog->capacity = catalog->capacity ? 2 * catalog->capacity : 32;
        catalog->tools = memory_resize(catalog->tools, catalog->capacity * sizeof(*catalog->tools));
        grow_index(catalog);
    }
    catalog->tools[catalog->count] = *tool;
    index_tool(catalog, catalog->count++);
}

void upstream_catalog_add(struct upstream_catalog *catalog, value tools)
{
    for (size_t i = 0; value_is_vector(tools) && i < vector_count(tools); i++) {
        value tool = vector_at(tools, i);
        struct span name = value_is_map(tool) ? map_get_string(tool, "name") : SPAN("");
        if (!name_is_valid(name) || catalog->count == UPSTREAM_TOOLS_MAX ||
            upstream_catalog_find(catalog, name)) {
            catalog->refused++;
            continue;
        }
        value hints = map_get(tool, "annotations");
        struct span kept = {keep(catalog, name), name.length};
        struct upstream_tool added = {
            .name = kept,
            .program_name = make_program_name(catalog, name),
            .description = make_description(catalog, map_get(tool, "description")),
            .signature = make_signature(catalog, tool),
            .schema_mark = mark_schemas(tool),
            .read_only = value_is_map(hints) && map_get_boolean(hints, "readOnlyHint"),
        };
        upstream_parameters_read(catalog, &added, map_get(tool, "inputSchema"));
        add_tool(catalog, &added);
    }
}

static bool same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

bool upstream_catalog_equal(const struct upstream_catalog *a, const struct upstream_catalog *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++) {
        const struct upstream_tool *left = &a->tools[i], *right = &b->tools[i];
        if (!span_equal(left->name, right->name) || left->read_only != right->read_only ||
            !same_text(left->description, right->description) ||
            left->schema_mark != right->schema_mark)
            return false;
    }
    return true;
}
