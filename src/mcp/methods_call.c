// The methods that run handlers: tools/call, resources/read, prompts/get, completion/complete. Each
// checks its parameters, stores the handler in the call and runs it.
#include "base/utf8.h"
#include "mcp/mcp_internal.h"
#include "mcp/schema/schema.h"

static int shown_length(struct span text)
{
    return (int)(text.length > 200 ? utf8_cut(text.data, 200) : text.length);
}

static void refuse_name(struct mcp_call *call, const char *kind, struct span name)
{
    if (name.data)
        call_finish_params_error(call, "Unknown %s: %.*s", kind, shown_length(name), name.data);
    else
        call_finish_params_error(call, "Invalid params: name must be a string");
}

// Stores the parameter `arguments`, if present, in the call. False: refused.
static bool read_arguments(struct mcp_call *call)
{
    value arguments;
    if (!map_find_text(call->params, "arguments", &arguments) || value_is_nil(arguments))
        return true;
    if (!value_is_map(arguments)) {
        call_finish_params_error(call, "Invalid params: arguments must be an object");
        return false;
    }
    call->arguments = arguments;
    return true;
}

void method_tools_call(struct mcp_call *call)
{
    struct span name = call_param_text(call, "name");
    const struct tool_entry *entry = name.data ? registry_find_tool(call->server, name) : NULL;
    if (entry && (entry->tool.flags & MCP_TOOL_UNLISTED) && !call->all_tools)
        entry = NULL;
    const char *hint = name.data && !entry ? registry_find_hint(call->server, name) : NULL;
    if (!entry) {
        if (hint)
            call_finish_params_error(call, "Unknown tool: %.*s. %s.", shown_length(name), name.data,
                                     hint);
        else
            refuse_name(call, "tool", name);
        return;
    }
    if (!read_arguments(call))
        return;
    call->arguments = schema_drop_nulls(entry->input_schema, call->region, call->arguments);
    call->arguments = schema_integers(entry->input_schema, call->region, call->arguments);
    call->tool = entry;
    call->target = entry->tool.name;
    call->handler = entry->tool.handler;
    call->handler_data = entry->tool.data;
    struct error error;
    if (schema_check_arguments(entry->input_schema, call->arguments,
                               entry->tool.flags & MCP_TOOL_NAMES_ONLY, &error))
        call_run_handler(call);
    else if (call->version < VERSION_2025_11_25)
        call_finish_params_error(call, "%s", error.message);
    else
        mcp_call_reply_failure(call, "invalid-params", "%s", error.message);
}

void method_resources_read(struct mcp_call *call)
{
    struct span uri = call_param_text(call, "uri");
    if (!uri.data) {
        call_finish_params_error(call, "Invalid params: uri must be a string");
        return;
    }
    call->target = call_copy_text(call, uri);
    call->resource = registry_find_resource(call->server, uri);
    if (!call->resource)
        call->resource = registry_match_template(call->server, call->region, uri, &call->arguments);
    if (!call->resource) {
        mcp_call_reply_not_found(call);
        return;
    }
    call->handler = call->resource->resource.handler;
    call->handler_data = call->resource->resource.data;
    call_run_handler(call);
}

static bool check_prompt_arguments(struct mcp_call *call, const struct mcp_prompt *prompt)
{
    value name, item;
    struct map_cursor cursor = map_iterate(call->arguments);
    while (map_next(&cursor, &name, &item)) {
        if (!value_is_string(item)) {
            call_finish_params_error(call, "Invalid params: argument '%.*s' must be a string",
                                     shown_length(value_text(name)), value_text(name).data);
            return false;
        }
    }
    for (size_t i = 0; i < MCP_PROMPT_ARGUMENTS_MAX && prompt->arguments[i].name; i++) {
        if (prompt->arguments[i].required &&
            !map_find_text(call->arguments, prompt->arguments[i].name, &item)) {
            call_finish_params_error(call, "Invalid params: missing required argument '%s'",
                                     prompt->arguments[i].name);
            return false;
        }
    }
    return true;
}

void method_prompts_get(struct mcp_call *call)
{
    struct span name = call_param_text(call, "name");
    const struct prompt_entry *entry = name.data ? registry_find_prompt(call->server, name) : NULL;
    if (!entry) {
        refuse_name(call, "prompt", name);
        return;
    }
    if (!read_arguments(call))
        return;
    if (!check_prompt_arguments(call, &entry->prompt))
        return;
    call->target = entry->prompt.name;
    call->handler = entry->prompt.handler;
    call->handler_data = entry->prompt.data;
    call_run_handler(call);
}

// The prompt name or URI template that a completion refers to; {NULL, 0}: unknown.
static struct span completion_reference(struct mcp_call *call, value reference)
{
    const struct span none = {NULL, 0};
    if (!value_is_map(reference))
        return none;
    value type = map_get(reference, "type");
    value name = map_get(reference, "name"), uri = map_get(reference, "uri");
    if (!value_is_string(type))
        return none;
    if (span_equal_text(value_text(type), "ref/prompt") && value_is_string(name))
        return registry_find_prompt(call->server, value_text(name)) ? value_text(name) : none;
    if (span_equal_text(value_text(type), "ref/resource") && value_is_string(uri))
        return registry_find_template(call->server, value_text(uri)) ||
                       registry_find_resource(call->server, value_text(uri))
                   ? value_text(uri)
                   : none;
    return none;
}

void method_completion(struct mcp_call *call)
{
    struct span reference = completion_reference(call, map_get(call->params, "ref"));
    if (!reference.data) {
        call_finish_params_error(call,
                                 "Invalid params: ref names no known prompt or resource template");
        return;
    }
    value argument = map_get(call->params, "argument");
    value name = map_get(argument, "name");
    if (!value_is_string(name) || !value_is_string(map_get(argument, "value"))) {
        call_finish_params_error(call, "Invalid params: argument must have a name and a value");
        return;
    }
    call->arguments = argument;
    call->target = call_copy_text(call, reference);
    const struct completer_entry *entry =
        registry_find_completer(call->server, reference, value_text(name));
    if (!entry) {
        mcp_call_reply_completion(call);
        return;
    }
    call->handler = entry->completer.handler;
    call->handler_data = entry->completer.data;
    call_run_handler(call);
}
