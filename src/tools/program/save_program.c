// save-program: a program that has run with success is kept in the workspace, to be called by name.
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/memory.h"
#include "session/project/project.h"
#include "tools/program_task.h"
#include "tools/tool_call.h"

struct save {
    struct tools *tools;
    struct mcp_call *call;
};

static uint64_t mark_of(struct span source)
{
    return hash_bytes(source.data, source.length, hash_seed());
}

void save_program_note(struct tools *tools, struct span source)
{
    tools->succeeded[tools->succeeded_count++ % COUNT_OF(tools->succeeded)] = mark_of(source);
}

static bool has_succeeded(const struct tools *tools, struct span source)
{
    uint64_t mark = mark_of(source);
    for (size_t i = 0; i < COUNT_OF(tools->succeeded) && i < tools->succeeded_count; i++)
        if (tools->succeeded[i] == mark)
            return true;
    return false;
}

static void on_saved(void *data, const struct error *failure)
{
    struct save save = *(struct save *)data;
    memory_free(data);
    if (failure) {
        tool_refuse(save.call, "save-failed", "%s", failure->message);
        return;
    }
    struct region *region = mcp_call_region(save.call);
    struct span name = value_text(mcp_call_argument(save.call, "name"));
    struct tool_result result = {0};
    buffer_init(&result.text, BUFFER_DEFAULT_LIMIT);
    buffer_append_format(&result.text, "Saved: (saved/%.*s {…}), .cadre/programs/%.*s.clj",
                         (int)name.length, name.data, (int)name.length, name.data);
    value map = map_put_text(region, map_new(region), "ok", value_boolean(true));
    map = map_put_text(region, map, "name", value_string(region, name));
    result.structured = map_put_text(
        region, map, "file",
        value_string_format(region, ".cadre/programs/%.*s.clj", (int)name.length, name.data));
    tool_reply(save.call, &result);
}

static struct span text_argument(struct mcp_call *call, const char *name)
{
    value argument = mcp_call_argument(call, name);
    return value_is_string(argument) ? value_text(argument) : (struct span){0};
}

static void handle_save(struct mcp_call *call, void *data)
{
    struct tools *tools = data;
    struct saved_text text = {.name = text_argument(call, "name"),
                              .description = text_argument(call, "description"),
                              .source = text_argument(call, "source"),
                              .signature = text_argument(call, "signature")};
    const char *workspace = session_workspace(tools->sessions);
    struct error error;
    if (!tools->trust.is_users || !workspace) {
        tool_refuse(call, "no-workspace",
                    "programs are saved in the workspace of the user's own clients; here is none");
        return;
    }
    if (!has_succeeded(tools, text.source)) {
        tool_refuse(call, "not-run",
                    "run it first: only a program that has run successfully is saved");
        return;
    }
    struct save *save = memory_alloc(sizeof(*save));
    *save = (struct save){tools, call};
    if (saved_program_check(&text, &error) &&
        saved_program_save(tools->background, workspace, &text, on_saved, save, &error))
        return;
    memory_free(save);
    tool_refuse(call, error.code == ERROR_BUSY ? "busy" : "invalid-argument", "%s", error.message);
}

static const struct tool save_tools[] = {{"save-program", MCP_TOOL_DESTRUCTIVE, handle_save}};

void tools_register_save_program(struct tools *tools)
{
    TOOLS_ADD_ALL(tools, save_tools);
}
