#include "tools/tools.h"

#include <string.h>

#include "base/array.h"
#include "base/assert.h"
#include "process/background.h"
#include "tools/context_queue.h"
#include "tools/schemas/tool_schemas.h"

// A small set for every turn of a conversation; the rest is there on request.
static const char *const core_tools[] = {
    "evaluate-lisp", "eval-in-frame", "invoke-restart", "rollback-session", "run-program",
};

static bool listed(const char *names, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = names; at; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, name, length) == 0 && (at[length] == ',' || at[length] == '\0'))
            return true;
    }
    return false;
}

static bool is_selected(const struct tools *tools, const char *name)
{
    if (strcmp(tools->selection, "full") == 0)
        return true;
    if (strcmp(tools->selection, "core") != 0)
        return listed(tools->selection, name);
    for (size_t i = 0; i < COUNT_OF(core_tools); i++)
        if (strcmp(core_tools[i], name) == 0)
            return true;
    return false;
}

static const struct tool_schema *find_schema(const char *name)
{
    for (const struct tool_schema *schema = tool_schemas; schema->name; schema++)
        if (strcmp(schema->name, name) == 0)
            return schema;
    return NULL;
}

void tools_add(struct tools *tools, const struct tool *tool, void *data)
{
    if (!is_selected(tools, tool->name))
        return;
    const struct tool_schema *schema = find_schema(tool->name);
    CHECK(schema);
    mcp_server_add_tool(tools->server, &(struct mcp_tool){
                                           .name = tool->name,
                                           .title = schema->title,
                                           .description = schema->description,
                                           .input_schema = schema->input,
                                           .output_schema = schema->output,
                                           .flags = tool->flags,
                                           .handler = tool->handler,
                                           .data = data,
                                       });
}

void tools_add_all(struct tools *tools, const struct tool *table, size_t count)
{
    for (size_t i = 0; i < count; i++)
        tools_add(tools, &table[i], tools);
}

// Every name of an explicit selection must exist.
static bool check_selection(const struct tools *tools, struct error *error)
{
    if (strcmp(tools->selection, "full") == 0 || strcmp(tools->selection, "core") == 0)
        return true;
    for (const char *at = tools->selection; at; at = strchr(at, ',')) {
        at += *at == ',';
        char name[65];
        size_t length = strcspn(at, ",");
        if (length >= sizeof(name))
            return error_set(error, ERROR_INVALID, "--tools: unknown tool '%.64s...'", at);
        memcpy(name, at, length);
        name[length] = '\0';
        if (!mcp_server_has_tool(tools->server, name))
            return error_set(error, ERROR_INVALID, "--tools: unknown tool '%s'", name);
    }
    return true;
}

static void prewake(void *data)
{
    session_prewake(((struct tools *)data)->sessions);
}

bool tools_register(struct tools *tools, struct error *error)
{
    mcp_server_set_prewake(tools->server, prewake, tools);
    tools->background = background_new(tools->base);
    tools_register_metrics(tools);
    tools_register_evaluate(tools);
    tools_register_errors(tools);
    tools_register_debug(tools);
    tools_register_session(tools);
    tools_register_introspect(tools);
    tools_register_load(tools);
    tools_register_syntax(tools);
    tools_register_program(tools);
    tools_register_guide(tools);
    tools->context_queue = context_queue_new(tools->base, tools->contexts);
    tools->context = tools_register_context(tools);
    enum context_auto mode;
    if (tools->auto_context && !context_auto_from_name(span_from(tools->auto_context), &mode))
        return error_set(error, ERROR_INVALID,
                         "--auto-context is off, errors, history or all; got '%s'",
                         tools->auto_context);
    return check_selection(tools, error);
}

void tools_release(struct tools *tools)
{
    background_free(tools->background);
    if (tools->context_queue)
        context_queue_free(tools->context_queue);
    context_tools_free(tools->context);
}
