#include "tools/truncate.h"

#include "base/array.h"
#include "base/utf8.h"
#include "tools/result/result_text.h"

// Escaping in JSON makes a newline two bytes and a control character six: the shares leave room for it.
enum { TEXT_SHARE = MCP_OUTPUT_LIMIT / 4, MEMBER_SHARE = MCP_OUTPUT_LIMIT / 16 };

static void fit_text(struct buffer *text)
{
    if (text->length <= TEXT_SHARE)
        return;
    size_t kept = utf8_cut(text->data, TEXT_SHARE);
    size_t omitted = utf8_count(text->data + kept, text->length - kept);
    buffer_truncate(text, kept);
    buffer_append_text(text, "\n[truncated: ");
    render_counted(text, (int64_t)omitted, "character");
    buffer_append_format(text, " omitted; one answer holds %d bytes]", MCP_OUTPUT_LIMIT);
}

static value fit_string(struct region *region, value v, int64_t *omitted)
{
    struct span text = value_text(v);
    if (text.length <= MEMBER_SHARE)
        return value_retain(v);
    size_t kept = utf8_cut(text.data, MEMBER_SHARE);
    *omitted += (int64_t)utf8_count(text.data + kept, text.length - kept);
    return value_string(region, (struct span){text.data, kept});
}

// All strings of a vector together get one share.
static value fit_strings(struct region *region, value vector, int64_t *omitted)
{
    value kept = vector_new(region, 0);
    size_t used = 0;
    for (size_t i = 0; i < vector_count(vector); i++) {
        struct span text = value_text(vector_at(vector, i));
        if (used + text.length > MEMBER_SHARE && used > 0) {
            *omitted += (int64_t)utf8_count(text.data, text.length);
            continue;
        }
        kept = vector_push(region, kept, fit_string(region, vector_at(vector, i), omitted));
        used += text.length;
    }
    return kept;
}

static void fit_member(struct region *region, struct tool_result *result, const char *name)
{
    value v = map_get_text(result->structured, name), fitted;
    int64_t omitted = 0;
    if (value_is_string(v))
        fitted = fit_string(region, v, &omitted);
    else if (value_is_vector(v))
        fitted = fit_strings(region, v, &omitted);
    else
        return;
    if (omitted == 0)
        return;
    value counts = map_get_text(result->structured, "omitted");
    counts = value_is_map(counts) ? value_retain(counts) : map_new(region);
    value before = map_get_text(counts, name);
    omitted += before.tag == VALUE_INTEGER ? before.integer : 0;
    counts = map_put_text(region, counts, name, value_integer(omitted));
    result->structured = map_put_text(region, result->structured, name, fitted);
    result->structured = map_put_text(region, result->structured, "omitted", counts);
}

void tool_result_fit(struct mcp_call *call, struct tool_result *result)
{
    static const char *const members[] = {"stdout", "stderr", "values"};
    fit_text(&result->text);
    for (size_t i = 0; i < COUNT_OF(members); i++)
        fit_member(mcp_call_region(call), result, members[i]);
}
