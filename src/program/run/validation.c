#include "program/run/validation.h"

#include "value/text/sink.h"

static value prefixed(struct run *run, const char *tool, value line)
{
    if (!tool)
        return value_retain(line);
    struct span text = value_text(line);
    return value_string_format(run->region, "tool %s: %.*s", tool, (int)text.length, text.data);
}

static void add_warnings(struct run *run, const char *tool, value lines)
{
    for (size_t i = 0; i < vector_count(lines); i++)
        run->state->warnings = vector_push(run->region, run->state->warnings,
                                           prefixed(run, tool, vector_at(lines, i)));
}

static value joined(struct run *run, const char *tool, value lines)
{
    struct sink sink;
    sink_to_region(&sink, run->region);
    for (size_t i = 0; i < vector_count(lines); i++) {
        if (i > 0)
            sink_text(&sink, "; ");
        value line = prefixed(run, tool, vector_at(lines, i));
        sink_span(&sink, value_text(line));
        value_release(run->region, line);
    }
    return sink_string(&sink);
}

static _Noreturn void fail_validation(struct run *run, const char *phase, const char *tool,
                                      value lines)
{
    struct failure *failure = &run->state->failure;
    failure->long_message = joined(run, tool, lines);
    value details = map_new(run->region);
    details = map_put_text(run->region, details, "phase", value_string_text(run->region, phase));
    failure->details = map_put_text(run->region, details, "errors", lines);
    run_raise(run, VALIDATION_ERROR, tool, "validation failed");
}

// Handles the outcome of a check: warnings, failure, or the value.
static value settle(struct run *run, struct signature_check check, const char *phase,
                    const char *tool)
{
    add_warnings(run, tool, check.warnings);
    value_release(run->region, check.warnings);
    if (vector_count(check.errors) > 0)
        fail_validation(run, phase, tool, check.errors);
    value_release(run->region, check.errors);
    return check.result;
}

value run_validate_inputs(struct run *run, const struct signature *signature, value context)
{
    enum signature_mode mode = run->state->validation;
    if (!signature || mode == SIGNATURE_DISABLED)
        return context;
    if (context.tag == VALUE_NIL)
        context = map_new(run->region);
    return settle(run, signature_check_inputs(signature, mode, run->region, context), "input",
                  NULL);
}

value run_validate_output(struct run *run, const struct signature *signature, value result)
{
    enum signature_mode mode = run->state->validation;
    if (!signature || mode == SIGNATURE_DISABLED)
        return result;
    return settle(run, signature_check_output(signature, mode, run->region, result), "output",
                  NULL);
}

value run_validate_tool_arguments(struct run *run, const struct tool *tool, value arguments)
{
    enum signature_mode mode = run->state->validation;
    if (!tool->signature || mode == SIGNATURE_DISABLED)
        return arguments;
    return settle(run, signature_check_inputs(tool->signature, mode, run->region, arguments),
                  "tool_args", tool->name);
}

value run_validate_tool_result(struct run *run, const struct tool *tool, value result,
                               struct ledger_entry *entry)
{
    enum signature_mode mode = run->state->validation;
    if (!tool->signature || mode == SIGNATURE_DISABLED)
        return result;
    struct signature_check check =
        signature_check_output(tool->signature, mode, run->region, result);
    if (vector_count(check.errors) > 0) {
        entry->failed = true;
        entry->error = joined(run, tool->name, check.errors);
        ledger_add(run, &run->state->branch.ledger, *entry);
    }
    return settle(run, check, "tool_result", tool->name);
}

void run_validate_tools(struct run *run)
{
    const struct tool_table *tools = run->state->program->tools;
    if (run->state->validation != SIGNATURE_STRICT || !tools)
        return;
    value lines = vector_new(run->region, 0);
    for (size_t i = 0; i < tools->count; i++) {
        if (!tools->tools[i].signature)
            lines = vector_push(
                run->region, lines,
                value_string_format(run->region, "tool %s: strict validation requires a signature",
                                    tools->tools[i].name));
    }
    if (vector_count(lines) > 0)
        fail_validation(run, "tools", NULL, lines);
    value_release(run->region, lines);
}
