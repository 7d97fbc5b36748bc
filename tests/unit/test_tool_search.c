// Finding tools by words.
#include <criterion/criterion.h>

#include "base/array.h"
#include "program/run/tool_search.h"

static const struct tool_text tools[] = {
    {SPAN("github/list-issues"), SPAN("(repository :string)"), SPAN("Lists the issues")},
    {SPAN("github/closeIssue"), SPAN("(issue :int)"), SPAN("Closes one")},
    {SPAN("files/read"), SPAN("(path :string)"), SPAN("Reads a file, for example one of issues")},
    {SPAN("files/write"), SPAN("(path :string, text :string)"), SPAN("")},
};

static void expect(const char *query, size_t limit, size_t count, const char *first)
{
    struct region *region = region_new(SIZE_MAX);
    size_t found[COUNT_OF(tools)];
    size_t before = region->live;
    size_t got = tool_search(region, tools, COUNT_OF(tools), span_from(query), limit, found);
    cr_assert_eq(got, count, "%s: %zu", query, got);
    if (count)
        cr_expect(span_equal_text(tools[found[0]].name, first), "%s: %.*s", query,
                  (int)tools[found[0]].name.length, tools[found[0]].name.data);
    cr_expect_eq(region->live, before);
    region_free(region);
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
    struct region *region = region_new(SIZE_MAX);
    cr_expect_eq(tool_search(region, NULL, 0, SPAN("a"), 10, NULL), 0);
    region_free(region);
}
