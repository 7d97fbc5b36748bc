#include "tools/auto_context.h"

#include <unistd.h>

#include "context/auto_feed.h"
#include "tools/result/result_text.h"

// A store that does not exist yet has no setting, and reading one must not create it.
enum context_auto auto_context_mode(const struct tools *tools)
{
    enum context_auto mode = CONTEXT_AUTO_OFF;
    struct context_error error;
    if (tools->auto_context)
        context_auto_from_name(span_from(tools->auto_context), &mode);
    else if (access(context_store_path(tools->contexts), R_OK) != 0 ||
             !context_store_auto(tools->contexts, &mode, &error))
        return CONTEXT_AUTO_OFF;
    return mode;
}

void auto_context_record(const struct session_call *run, const struct session_reply *reply,
                         struct tool_result *result)
{
    struct mcp_call *call = run->call;
    if (!reply->ran)
        return;
    struct region *region = mcp_call_region(call);
    CLEANUP_BUFFER struct buffer values;
    buffer_init(&values, BUFFER_DEFAULT_LIMIT);
    if (reply->ok)
        render_values(&values, reply);
    value code = mcp_call_argument(call, "code");
    value package = mcp_call_argument(call, "package");
    struct context_evaluation evaluation = {
        .failed = !reply->ok,
        .session = span_from(reply->session),
        .package = value_is_string(package) ? value_text(package) : reply->package_before,
        .form = value_is_string(code) ? value_text(code) : (struct span){0},
        .report = buffer_span(&result->text),
        .values = buffer_span(&values),
        .duration_ms = reply->elapsed_us / 1000,
    };
    if (!reply->ok) {
        evaluation.condition = map_get_string(reply->error, "type");
        evaluation.filename = map_get_string(reply->error, "path");
        evaluation.start_line =
            evaluation.filename.length ? map_get_integer(reply->error, "line", 0) : 0;
    }
    value stored = context_feed(run->tools->contexts, region, run->auto_context, &evaluation);
    if (!value_is_nil(stored))
        result->structured = map_put_text(region, result->structured, "context", stored);
}
