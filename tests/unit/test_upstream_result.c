// Results and tools of MCP servers as programs see them.
#include <criterion/criterion.h>

#include "upstream/upstream_internal.h"
#include "value/text/json.h"

static struct region *region;

static void setup(void)
{
    region = region_new(SIZE_MAX);
}

static void teardown(void)
{
    region_free(region);
}

TestSuite(upstream_result, .init = setup, .fini = teardown);

static value read(const char *text)
{
    value v;
    struct error error;
    cr_assert(json_read(region, span_from(text), NULL, &v, &error), "%s", error.message);
    return v;
}

static void expect(const char *result, bool ok, const char *text)
{
    CLEANUP_BUFFER struct buffer out;
    buffer_init(&out, BUFFER_DEFAULT_LIMIT);
    cr_expect_eq(upstream_result_write(&out, read(result), false), ok, "%s", result);
    cr_expect_str_eq(buffer_text(&out), text);
}

Test(upstream_result, values)
{
    expect("{\"structuredContent\": {\"a\": [1]}, \"content\": []}", true, "{\"a\":[1]}");
    expect("{\"content\": [{\"type\": \"text\", \"text\": \"plain\"}]}", true, "\"plain\"");
    expect("{\"content\": [{\"type\": \"text\", \"text\": \" [1, 2]\"}]}", true, " [1, 2]");
    expect("{\"content\": [{\"type\": \"text\", \"text\": \"17\"}]}", true, "\"17\"");
    expect("{\"content\": [{\"type\": \"text\", \"text\": \"{broken\"}]}", true, "\"{broken\"");
    expect("{\"content\": []}", true, "null");
    expect("{}", true, "null");
    expect("{\"content\": [{\"type\": \"text\", \"text\": \"a\"}, {\"type\": \"image\", "
           "\"mimeType\": \"image/png\", \"data\": \"AAAA\"}]}",
           true, "[\"a\",{\"type\":\"image\",\"mime_type\":\"image/png\",\"bytes\":3}]");
    expect("{\"content\": [{\"type\": \"resource\", \"resource\": {\"mimeType\": \"x\", "
           "\"blob\": \"AA==\"}}]}",
           true, "{\"type\":\"resource\",\"mime_type\":\"x\",\"bytes\":1}");
}

Test(upstream_result, failures)
{
    expect("{\"isError\": true, \"content\": [{\"type\": \"text\", \"text\": \"no\"}, {\"type\": "
           "\"text\", \"text\": \"way\"}]}",
           false, "no way");
    expect("{\"isError\": true}", false, "the tool failed without a text");
    expect("{\"resultType\": \"input_required\"}", false,
           "it asks for input, which programs cannot give");
    expect("[]", false, "its answer has neither result nor error");
}

Test(upstream_result, tools_of_a_hostile_list)
{
    struct upstream_catalog catalog;
    upstream_catalog_init(&catalog);
    upstream_catalog_add(
        &catalog,
        read(
            "[{\"name\": \"list_issues\", \"description\": \"a\\n\\n b\\u0007c\", \"inputSchema\": "
            "{\"type\": \"object\", \"properties\": {\"n\": {\"type\": \"integer\"}}}, "
            "\"annotations\": {\"readOnlyHint\": true}},"
            "{\"name\": \"list-issues\"}, {\"name\": \"bad name\"}, {\"name\": \"\"}, 7,"
            "{\"name\": \"9.x/y\", \"inputSchema\": 5}]"));
    cr_assert_eq(catalog.count, 2);
    cr_expect_eq(catalog.refused, 4);
    const struct upstream_tool *tool = upstream_catalog_find(&catalog, SPAN("list-issues"));
    cr_assert_eq(tool, upstream_catalog_find(&catalog, SPAN("list_issues")));
    cr_expect_str_eq(tool->description, "a b c");
    cr_expect_str_eq(tool->signature, "(n :int?) -> :any");
    cr_expect(tool->read_only);
    cr_expect_str_eq(catalog.tools[1].program_name, "t9-x-y");
    cr_expect_null(catalog.tools[1].signature);
    upstream_catalog_release(&catalog);
}
