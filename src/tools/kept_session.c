// export-session: a kept session as text.
#include "session/journal/journal.h"
#include "session/journal/journal_export.h"
#include "tools/result/result_structured.h"
#include "tools/session_call.h"

static void export_session(struct mcp_call *call, void *data)
{
    struct tools *tools = data;
    const char *name = tool_session_name(call);
    if (!session_call_require_session(tools, call, name))
        return;
    const char *place = session_store_path(tools->sessions, name);
    if (!place) {
        tool_refuse(call, "not-kept",
                    "The session has no journal: it ends with this server (--private, HTTP).");
        return;
    }
    value format = mcp_call_argument(call, "format");
    bool is_transcript =
        value_is_string(format) && span_equal_text(value_text(format), "transcript");
    struct region *region = region_new(SIZE_MAX);
    struct tool_result result = {.structured = structured_start(mcp_call_region(call), name)};
    buffer_init(&result.text, TOOL_TEXT_LIMIT);
    value entries = journal_read(region, place, JOURNAL_MAX);
    if (is_transcript)
        export_transcript(&result.text, name, entries);
    else
        export_lisp(&result.text, name, entries);
    region_free(region);
    session_call_truncate(call, &result);
    tool_reply(call, &result);
}

static const struct tool table[] = {
    {"export-session", MCP_TOOL_READ_ONLY | MCP_TOOL_IDEMPOTENT, export_session},
};

void tools_register_kept_session(struct tools *tools)
{
    TOOLS_ADD_ALL(tools, table);
}
