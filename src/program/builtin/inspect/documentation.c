// apropos, doc, source: the language and the program about themselves (docs/reference/language.md 8.12).
#include <stdio.h>
#include <string.h>

#include "base/ascii.h"
#include "program/builtin/builtins.h"
#include "program/builtin/support.h"
#include "program/eval/eval.h"
#include "program/run/output.h"
#include "program/run/run_state.h"
#include "program/run/saved_memory.h"
#include "program/run/tool.h"

static bool contains_ignoring_case(const char *name, struct span part)
{
    size_t length = strlen(name);
    for (size_t start = 0; start + part.length <= length; start++) {
        size_t i = 0;
        while (i < part.length && ascii_to_lower(name[start + i]) == ascii_to_lower(part.data[i]))
            i++;
        if (i == part.length)
            return true;
    }
    return false;
}

// A name as it is written: a string, or a symbol reference.
static struct span argument_name(struct run *run, const struct builtin *self,
                                 const value *arguments)
{
    if (arguments[0].tag != VALUE_STRING && arguments[0].tag != VALUE_SYMBOL)
        run_type_error(run, self, 1, "a name (string or 'symbol) or a function", arguments[0],
                       NULL);
    return value_text(arguments[0]);
}

// --- apropos -------------------------------------------------------------------------------------

static value add_name(struct run *run, value names, const char *prefix, const char *name)
{
    return set_add(run->region, names, value_string_format(run->region, "%s%s", prefix, name));
}

value builtin_apropos(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    struct span part = argument_name(run, self, arguments);
    const struct tool_table *tools = run->state->program->tools;
    value names = set_new(run->region);
    for (size_t i = 0; i < builtin_count; i++) {
        if (contains_ignoring_case(builtin_table[i].name, part))
            names = add_name(run, names, "", builtin_table[i].name);
    }
    for (int special = SPECIAL_NONE + 1; special < SPECIAL_COUNT; special++) {
        const char *name = special_name((enum special)special);
        if (contains_ignoring_case(name, part))
            names = add_name(run, names, "", name);
    }
    for (size_t i = 0; tools && i < tools->count; i++) {
        const struct tool *tool = &tools->tools[i];
        if (contains_ignoring_case(tool->name, part) ||
            (tool->description && contains_ignoring_case(tool->description, part)))
            names = add_name(run, names, "tool/", tool->name);
    }
    run_spend(run, builtin_count);
    value sorted = set_sorted(run->region, names);
    value_release(run->region, names);
    return sorted;
}

// --- doc -----------------------------------------------------------------------------------------

static value tool_entry(struct run *run, const struct tool *tool)
{
    return value_string_format(
        run->region, "%s%s%s%s\n  %s", strchr(tool->name, '/') ? "" : "tool/", tool->name,
        tool->signature_text ? " " : "", tool->signature_text ? tool->signature_text : "",
        tool->description ? tool->description : "A tool.");
}

static value builtin_entry(struct run *run, const struct builtin *builtin)
{
    return value_string_format(run->region, "%s\n  %s", builtin->signature, builtin->doc);
}

// What is known under a name, or nil.
static value named_entry(struct run *run, struct span name)
{
    const struct builtin *builtin = builtin_find(name);
    if (builtin)
        return builtin_entry(run, builtin);
    for (int special = SPECIAL_NONE + 1; special < SPECIAL_COUNT; special++) {
        if (span_equal_text(name, special_name((enum special)special)))
            return value_string_format(run->region, "%s\n  %s",
                                       special_signature((enum special)special),
                                       special_doc((enum special)special));
    }
    const struct tool_table *tools = run->state->program->tools;
    struct span prefix = SPAN("tool/");
    if (span_starts_with(name, prefix))
        name = (struct span){name.data + prefix.length, name.length - prefix.length};
    int tool = tools ? tool_table_find(tools, name) : -1;
    return tool < 0 ? value_nil() : tool_entry(run, &tools->tools[tool]);
}

// The source of a function of the program; empty for others.
static struct span function_source(value f)
{
    if (!value_is_foreign(f, &closure_type))
        return (struct span){0};
    const struct code *code = ((const struct closure *)f.object)->code;
    return source_form(code->program->source, code->offset);
}

static value function_entry(struct run *run, value f)
{
    const struct builtin *builtin = function_builtin(f);
    if (builtin)
        return builtin_entry(run, builtin);
    if (value_is_foreign(f, &tool_type)) {
        const struct tool_table *tools = run->state->program->tools;
        return tool_entry(run, &tools->tools[function_tool(f)]);
    }
    struct span source = function_source(f);
    return source.length ? value_string(run->region, source) : value_nil();
}

value builtin_doc(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    value entry;
    if (arguments[0].tag == VALUE_FUNCTION) {
        entry = function_entry(run, arguments[0]);
        if (value_is_nil(entry))
            entry = value_string_text(run->region, "a function made by comp, partial or the like");
    } else {
        struct span name = argument_name(run, self, arguments);
        entry = named_entry(run, name);
        if (value_is_nil(entry))
            entry = value_string_format(run->region, "no documentation for %.*s",
                                        (int)(name.length > 80 ? 80 : name.length), name.data);
    }
    output_write(run, entry, true);
    return value_nil();
}

// --- source --------------------------------------------------------------------------------------

value builtin_source(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    if (arguments[0].tag != VALUE_FUNCTION)
        run_type_error(run, self, 1, "a function", arguments[0], NULL);
    struct span source = function_source(arguments[0]);
    value text = source.length
                     ? value_string(run->region, source)
                     : value_string_text(run->region, "built in; (doc f) tells what it does");
    output_write(run, text, true);
    return value_nil();
}
