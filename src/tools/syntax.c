// check-syntax: the scanner of lisp_syntax/lisp_syntax.h as a tool. No session is involved.
#include <string.h>

#include "base/utf8.h"
#include "lisp_syntax/lisp_syntax.h"
#include "tools/result/result_text.h"
#include "tools/session_call.h"

static const char *describe_problem(enum syntax_problem problem)
{
    switch (problem) {
    case SYNTAX_OPEN_LIST: return "end of input inside a list";
    case SYNTAX_OPEN_STRING: return "end of input inside a string";
    case SYNTAX_OPEN_BAR: return "end of input inside |...|";
    case SYNTAX_OPEN_COMMENT: return "end of input inside a block comment";
    case SYNTAX_OPEN_PREFIX: return "nothing follows a quote or dispatch prefix";
    case SYNTAX_OPEN_ESCAPE: return "end of input after a backslash";
    case SYNTAX_STRAY_CLOSE: return "unmatched close parenthesis";
    case SYNTAX_DOT: return "misplaced dot";
    case SYNTAX_COMMA: return "comma not inside a backquote";
    case SYNTAX_COLON: return "misplaced colon in a symbol";
    case SYNTAX_SHARP: return "no syntax begins with # and this character";
    case SYNTAX_VALID: break;
    }
    return "valid";
}

static value put_position(struct region *region, value map, const struct syntax_position *position)
{
    map = map_put_text(region, map, "line", value_integer(position->line));
    return map_put_text(region, map, "column", value_integer(position->column));
}

static void check_whole(struct mcp_call *call)
{
    struct region *region = mcp_call_region(call);
    struct syntax_report report;
    syntax_check(utf8_without_mark(value_text(mcp_call_argument(call, "code"))), &report);
    bool valid = report.problem == SYNTAX_VALID;
    struct tool_result result = {0};
    buffer_init(&result.text, BUFFER_DEFAULT_LIMIT);
    value map = map_put_text(region, map_new(region), "ok", value_boolean(true));
    map = map_put_text(region, map, "valid", value_boolean(valid));
    map = map_put_text(region, map, "forms", value_integer((int64_t)report.forms));
    if (valid) {
        buffer_append_text(&result.text, "✓ Syntax valid: ");
        render_counted(&result.text, (int64_t)report.forms, "top-level form");
    } else {
        const char *problem = describe_problem(report.problem);
        const struct syntax_position *near =
            report.open_parentheses ? &report.innermost : &report.at;
        buffer_append_format(
            &result.text,
            "✗ Syntax invalid\n\nError: %s (line %u, column %u)\nUnclosed parentheses: %zu\n"
            "Approximate location: line %u",
            problem, report.at.line, report.at.column, report.open_parentheses, near->line);
        render_repair(&result.text, value_text(mcp_call_argument(call, "code")));
        map = map_put_text(region, map, "problem", value_string_text(region, problem));
        map =
            map_put_text(region, map, "unclosed", value_integer((int64_t)report.open_parentheses));
        map = put_position(region, map, &report.at);
    }
    result.structured = map;
    tool_reply(call, &result);
}

// The line that holds the position, without its newline.
static struct span line_at(struct span code, size_t offset)
{
    size_t start = offset, end = offset;
    while (start > 0 && code.data[start - 1] != '\n')
        start--;
    while (end < code.length && code.data[end] != '\n')
        end++;
    return (struct span){code.data + start, end - start};
}

static void find_partner(struct mcp_call *call)
{
    struct region *region = mcp_call_region(call);
    struct span code = utf8_without_mark(value_text(mcp_call_argument(call, "code")));
    int64_t line, column;
    if (!tool_integer(call, "line", 1, 1, UINT32_MAX, &line) ||
        !tool_integer(call, "column", 1, 1, UINT32_MAX, &column))
        return;
    struct syntax_position match;
    const char *reason = NULL;
    bool found = syntax_match(code, (unsigned)line, (unsigned)column, &match, &reason);
    struct tool_result result = {0};
    buffer_init(&result.text, BUFFER_DEFAULT_LIMIT);
    value map = map_put_text(region, map_new(region), "ok", value_boolean(true));
    map = map_put_text(region, map, "found", value_boolean(found));
    if (found) {
        struct span context = line_at(code, match.offset);
        buffer_append_format(
            &result.text,
            "Matching %c found from line %lld, column %lld\nMatch at line %u, column %u\n\n"
            "Context:\n%6u: %.*s  ◀ match",
            code.data[match.offset], (long long)line, (long long)column, match.line, match.column,
            match.line, (int)context.length, context.data);
        map = put_position(region, map, &match);
    } else {
        buffer_append_format(&result.text, "No match: %s", reason);
        map = map_put_text(region, map, "reason", value_string_text(region, reason));
    }
    result.structured = map;
    tool_reply(call, &result);
}

static void handle_check(struct mcp_call *call, void *data)
{
    (void)data;
    bool has_line = !value_is_nil(mcp_call_argument(call, "line"));
    bool has_column = !value_is_nil(mcp_call_argument(call, "column"));
    if (has_line != has_column)
        tool_refuse(call, "invalid-argument", "line and column go together.");
    else if (has_line)
        find_partner(call);
    else
        check_whole(call);
}

static const struct tool syntax_tools[] = {
    {"check-syntax", MCP_TOOL_READ_ONLY | MCP_TOOL_IDEMPOTENT, handle_check},
};

void tools_register_syntax(struct tools *tools)
{
    TOOLS_ADD_ALL(tools, syntax_tools);
}
