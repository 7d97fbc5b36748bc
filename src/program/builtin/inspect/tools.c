// tool/search, tool/describe, tool/call: tools by words and by names that are computed
// (docs/reference/language.md 14).
#include "program/builtin/builtins.h"
#include "program/builtin/support.h"
#include "program/compile/suggest.h"
#include "program/run/run_state.h"
#include "program/run/tool.h"
#include "program/run/tool_search.h"
#include "value/collection/key_lookup.h"

enum { FOUND_DEFAULT = 10 };

// --- names ---------------------------------------------------------------------------------------

static char folded(char byte)
{
    return byte == '_' ? '-' : byte;
}

// In either spelling of names.
static bool is_name_of(const struct tool *tool, struct span name)
{
    for (size_t i = 0; i < name.length; i++)
        if (!tool->name[i] || folded(tool->name[i]) != folded(name.data[i]))
            return false;
    return tool->name[name.length] == '\0';
}

static struct span without_prefix(struct span name)
{
    struct span prefix = SPAN("tool/");
    return span_starts_with(name, prefix)
               ? (struct span){name.data + prefix.length, name.length - prefix.length}
               : name;
}

// -1: there is none.
static int find_tool(struct run *run, struct span name)
{
    const struct tool_table *tools = run->state->program->tools;
    name = without_prefix(name);
    int exact = tool_table_find(tools, name);
    for (size_t i = 0; exact < 0 && tools && i < tools->count; i++)
        if (is_name_of(&tools->tools[i], name))
            return (int)i;
    return exact;
}

static struct span argument_name(struct run *run, const struct builtin *self,
                                 const value *arguments)
{
    if (arguments[0].tag != VALUE_STRING && arguments[0].tag != VALUE_KEYWORD &&
        arguments[0].tag != VALUE_SYMBOL)
        run_type_error(run, self, 1, "a name", arguments[0], NULL);
    return value_text(arguments[0]);
}

// --- descriptions --------------------------------------------------------------------------------

static value put(struct run *run, value map, const char *key, value v)
{
    return map_put(run->region, map, value_keyword(run->region, span_from(key)), v);
}

static value text_or_nil(struct run *run, const char *text)
{
    return text ? value_string_text(run->region, text) : value_nil();
}

// The name as programs write it.
static value describe(struct run *run, const struct tool *tool)
{
    bool is_local = !strchr(tool->name, '/');
    value name = value_string_format(run->region, "%s%s", is_local ? "tool/" : "", tool->name);
    value map = put(run, map_new(run->region), "name", name);
    map = put(run, map, "signature", text_or_nil(run, tool->signature_text));
    return put(run, map, "description", text_or_nil(run, tool->description));
}

value builtin_tool_describe(struct run *run, const struct builtin *self, value *arguments,
                            size_t count)
{
    (void)count;
    int index = find_tool(run, argument_name(run, self, arguments));
    return index < 0 ? value_nil() : describe(run, &run->state->program->tools->tools[index]);
}

// --- search --------------------------------------------------------------------------------------

static struct span text_span(const char *text)
{
    return text ? span_from(text) : (struct span){"", 0};
}

static size_t argument_limit(struct run *run, const struct builtin *self, const value *arguments,
                             size_t count)
{
    value limit = value_nil();
    if (count == 2 && arguments[1].tag != VALUE_MAP)
        run_type_error(run, self, 2, "a map such as {:limit 5}", arguments[1], NULL);
    if (count == 2)
        map_find_flexible(arguments[1], value_string_borrow(NULL, SPAN("limit")), &limit);
    if (value_is_nil(limit))
        return FOUND_DEFAULT;
    if (limit.tag != VALUE_INTEGER || limit.integer < 0)
        run_type_error(run, self, 2, "a :limit from 0", limit, NULL);
    return (size_t)limit.integer;
}

value builtin_tool_search(struct run *run, const struct builtin *self, value *arguments,
                          size_t count)
{
    argument_string(run, self, arguments, 0);
    const struct tool_table *tools = run->state->program->tools;
    size_t limit = argument_limit(run, self, arguments, count);
    struct region *region = run->region;
    if (!tools)
        return vector_new(region, 0);
    size_t total = tools->count;
    struct tool_text *texts = region_alloc(region, total * sizeof(*texts) + 1);
    size_t *found = region_alloc(region, total * sizeof(*found) + 1);
    for (size_t i = 0; i < total; i++) {
        const struct tool *tool = &tools->tools[i];
        texts[i] = (struct tool_text){span_from(tool->name), text_span(tool->signature_text),
                                      text_span(tool->description)};
        run_spend(run, 1 + (texts[i].signature.length + texts[i].description.length) / 64);
    }
    size_t matches = tool_search(region, texts, total, value_text(arguments[0]), limit, found);
    value result = vector_new(region, matches);
    for (size_t i = 0; i < matches; i++)
        result = vector_push(region, result, describe(run, &tools->tools[found[i]]));
    region_return(region, found, total * sizeof(*found) + 1);
    region_return(region, texts, total * sizeof(*texts) + 1);
    return result;
}

// --- call ----------------------------------------------------------------------------------------

static _Noreturn void fail_unknown(struct run *run, struct span name)
{
    const struct tool_table *tools = run->state->program->tools;
    struct suggestion best = {0};
    for (size_t i = 0; tools && i < tools->count; i++)
        suggest_closer(&best, without_prefix(name), span_from(tools->tools[i].name));
    bool close = best.name.length > 0;
    run_raise(run, UNKNOWN_TOOL, "tool/call", "unknown tool '%.*s'%s%.*s%s",
              (int)(name.length > 80 ? 80 : name.length), name.data,
              close ? ", did you mean " : "; (tool/search \"words\") finds tools",
              (int)best.name.length, best.name.data, close ? "?" : "");
}

value builtin_tool_call(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    struct span name = argument_name(run, self, arguments);
    int index = find_tool(run, name);
    if (index < 0)
        fail_unknown(run, name);
    value_release(run->region, arguments[0]);
    return tool_apply(run, (uint32_t)index, count == 2 ? arguments[1] : value_nil(), count - 1);
}
