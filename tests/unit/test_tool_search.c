// Finding tools by words.
#include <criterion/criterion.h>

#include "tools/program/tool_search.h"

static struct region *region;

static void setup(void)
{
    region = region_new(SIZE_MAX);
}

static void teardown(void)
{
    region_free(region);
}

TestSuite(tool_search, .init = setup, .fini = teardown);

static value add(value tools, const char *name, const char *signature, const char *description)
{
    value record =
        map_put_text(region, map_new(region), "signature", value_string_text(region, signature));
    record = map_put_text(region, record, "description", value_string_text(region, description));
    return map_put_text(region, tools, name, record);
}

static value sample(void)
{
    value tools = map_new(region);
    tools = add(tools, "github/list-issues", "(repository :string)", "Lists the issues");
    tools = add(tools, "github/closeIssue", "(issue :int)", "Closes one");
    tools = add(tools, "files/read", "(path :string)", "Reads a file, for example one of issues");
    return add(tools, "files/write", "(path :string, text :string)", "");
}

static void expect(const char *query, size_t limit, size_t count, const char *first)
{
    value found = tool_search(region, sample(), span_from(query), limit);
    cr_assert_eq(vector_count(found), count, "%s: %zu", query, vector_count(found));
    if (count)
        cr_expect(span_equal_text(value_text(vector_at(found, 0)), first), "%s: %.*s", query,
                  (int)value_text(vector_at(found, 0)).length,
                  value_text(vector_at(found, 0)).data);
}

Test(tool_search, the_best_comes_first)
{
    expect("list issues", 10, 3, "github/list-issues");
    expect("issues of a repository", 10, 3, "github/list-issues");
    expect("close", 10, 1, "github/closeIssue");
    expect("PATH", 10, 2, "files/write");
    expect("issue", 1, 1, "github/closeIssue");
}

Test(tool_search, nothing_fits)
{
    expect("", 10, 0, NULL);
    expect(" ,;", 10, 0, NULL);
    expect("zebra", 10, 0, NULL);
    cr_expect_eq(vector_count(tool_search(region, map_new(region), SPAN("a"), 10)), 0);
}
