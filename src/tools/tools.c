#include "tools/tools.h"

#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/assert.h"
#include "process/background.h"
#include "tools/context_queue.h"
#include "tools/kept_output.h"
#include "tools/running.h"
#include "tools/schemas/tool_schemas.h"
#include "tools/shown.h"

// Each set has the tools of those before it.
static const char *const sets[] = {"core", "default", "full"};

static const struct {
    const char *old, *new;
} renamed_tools[] = {
    {"apropos-search", "describe-symbol, with `pattern`"},
    {"class-info", "describe-symbol"},
    {"describe-system", "list-systems, with `system`"},
    {"find-methods", "describe-symbol"},
    {"inspect-frame", "inspect"},
    {"match-paren", "check-syntax, with `line` and `column`"},
    {"validate-syntax", "check-syntax"},
    {"who-calls", "find-references"},
    {"who-references", "find-references"},
};

// Clients that load tools on demand have these at once.
static const char always_load[] = "{\"anthropic/alwaysLoad\":true}";

// The position of a set's name, COUNT_OF(sets) for anything else.
static size_t set_rank(const char *name)
{
    size_t rank = 0;
    while (rank < COUNT_OF(sets) && strcmp(sets[rank], name) != 0)
        rank++;
    return rank;
}

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

static const struct tool_schema *find_schema(struct span name)
{
    for (const struct tool_schema *schema = tool_schemas; schema->name; schema++)
        if (span_equal_text(name, schema->name))
            return schema;
    return NULL;
}

static bool is_selected(const char *selection, const struct tool_schema *schema)
{
    size_t rank = set_rank(selection);
    return rank < COUNT_OF(sets) ? set_rank(schema->set) <= rank : listed(selection, schema->name);
}

bool tools_offer(const char *selection, struct span name)
{
    const struct tool_schema *schema = find_schema(name);
    CHECK(schema);
    return is_selected(selection, schema);
}

// What a call of a name that is not there is told.
static void add_hints(struct tools *tools)
{
    char hint[128];
    for (size_t i = 0; i < COUNT_OF(renamed_tools); i++) {
        snprintf(hint, sizeof(hint), "It is %s now", renamed_tools[i].new);
        mcp_server_add_tool_hint(tools->server, renamed_tools[i].old, hint);
    }
    for (const struct tool_schema *schema = tool_schemas; schema->name; schema++) {
        if (is_selected(tools->selection, schema))
            continue;
        snprintf(hint, sizeof(hint),
                 "This server offers fewer tools; cadre serve --tools %s has it", schema->set);
        mcp_server_add_tool_hint(tools->server, schema->name, hint);
    }
}

static void add(struct tools *tools, const struct tool *tool, void *data, bool is_needed)
{
    const struct tool_schema *schema = find_schema(span_from(tool->name));
    CHECK(schema);
    bool is_set = set_rank(tools->selection) < COUNT_OF(sets);
    bool is_listed = is_selected(tools->selection, schema) || (is_set && is_needed);
    if (!is_listed && !(is_set && tools->has_inspector))
        return;
    mcp_server_add_tool(tools->server,
                        &(struct mcp_tool){
                            .name = tool->name,
                            .title = schema->title,
                            .description = schema->description,
                            .input_schema = schema->input,
                            .accepted_schema = schema->accepted,
                            .meta = set_rank(schema->set) == 0 ? always_load : NULL,
                            .output_schema = schema->output,
                            .flags = tool->flags | (is_listed ? 0 : MCP_TOOL_UNLISTED),
                            .handler = tool->handler,
                            .data = data,
                        });
}

void tools_add(struct tools *tools, const struct tool *tool, void *data)
{
    add(tools, tool, data, false);
}

void tools_add_to_all_sets(struct tools *tools, const struct tool *tool, void *data)
{
    add(tools, tool, data, true);
}

void tools_add_all(struct tools *tools, const struct tool *table, size_t count)
{
    for (size_t i = 0; i < count; i++)
        tools_add(tools, &table[i], tools);
}

// Every name of an explicit selection must exist.
static bool check_selection(const struct tools *tools, struct error *error)
{
    if (set_rank(tools->selection) < COUNT_OF(sets))
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

bool tools_register(struct tools *tools, struct error *error)
{
    tools->background = background_new(tools->base);
    tools_register_metrics(tools);
    tools_register_evaluate(tools);
    tools_register_running(tools);
    tools_register_output(tools);
    tools_register_shown(tools);
    tools_register_errors(tools);
    tools_register_debug(tools);
    tools_register_session(tools);
    tools_register_kept_session(tools);
    tools_register_fork(tools);
    tools_register_alternatives(tools);
    tools_register_introspect(tools);
    tools_register_edit(tools);
    tools_register_navigation(tools);
    tools_register_load(tools);
    tools_register_watch(tools);
    tools_register_syntax(tools);
    tools_register_tests(tools);
    tools_register_program(tools);
    tools_register_program_pause(tools);
    tools_register_program_list(tools);
    tools_register_save_program(tools);
    tools_register_guide(tools);
    add_hints(tools);
    tools->context_queue = context_queue_new(tools->base, tools->background, tools->contexts);
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
    toolbox_unlisten(&tools->toolbox_listener);
    running_free_all(tools);
    output_store_free(tools->own_outputs);
    shown_free_all(tools);
    if (tools->context_queue)
        context_queue_leave_background(tools->context_queue);
    background_free(tools->background);
    if (tools->context_queue)
        context_queue_free(tools->context_queue);
    context_tools_free(tools->context);
}
