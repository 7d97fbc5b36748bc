#include "tools/auto_context.h"

#include <unistd.h>

#include "context/auto_feed.h"
#include "tools/context_queue.h"
#include "tools/result/result_text.h"

struct auto_context {
    bool is_mode_known;  // false: the store was busy when the evaluation began
    enum context_auto mode;
    struct context_evaluation evaluation;  // in the call's region
    auto_context_done_fn *done;
};

// --- the mode ------------------------------------------------------------------------------------

// The mode of the command line, else the setting of the store. A store that does not exist yet has
// no setting, and reading one must not create it.
static bool read_mode(const struct tools *tools, enum context_auto *ret_mode,
                      struct context_error *error)
{
    *ret_mode = CONTEXT_AUTO_OFF;
    if (tools->auto_context) {
        context_auto_from_name(span_from(tools->auto_context), ret_mode);
        return true;
    }
    return access(context_store_path(tools->contexts), R_OK) != 0 ||
           context_store_auto(tools->contexts, ret_mode, error);
}

struct auto_context *auto_context_begin(const struct tools *tools, struct mcp_call *call)
{
    enum context_auto mode;
    struct context_error error;
    bool is_known = read_mode(tools, &mode, &error);
    bool is_off = is_known ? mode == CONTEXT_AUTO_OFF : error.code != CONTEXT_STORE_BUSY;
    if (is_off)
        return NULL;
    struct auto_context *record = region_alloc_zero(mcp_call_region(call), sizeof(*record));
    record->is_mode_known = is_known;
    record->mode = mode;
    return record;
}

// --- the item ------------------------------------------------------------------------------------

// The reply is gone when the store is busy: all text is copied.
static struct span keep(struct region *region, struct span text)
{
    return value_text(value_string(region, text));
}

static struct context_evaluation describe(struct session_call *run,
                                          const struct session_reply *reply)
{
    struct region *region = mcp_call_region(run->call);
    CLEANUP_BUFFER struct buffer values;
    buffer_init(&values, BUFFER_DEFAULT_LIMIT);
    if (reply->ok)
        render_values(&values, reply);
    value code = mcp_call_argument(run->call, "code");
    value package = mcp_call_argument(run->call, "package");
    struct context_evaluation evaluation = {
        .failed = !reply->ok,
        .session = keep(region, span_from(reply->session)),
        .package =
            value_is_string(package) ? value_text(package) : keep(region, reply->package_before),
        .form = value_is_string(code) ? value_text(code) : (struct span){0},
        .report = keep(region, buffer_span(&run->result.text)),
        .values = keep(region, buffer_span(&values)),
        .duration_ms = reply->elapsed_us / 1000,
    };
    if (!reply->ok) {
        evaluation.condition = keep(region, map_get_string(reply->error, "type"));
        evaluation.filename = keep(region, map_get_string(reply->error, "path"));
        evaluation.start_line =
            evaluation.filename.length ? map_get_integer(reply->error, "line", 0) : 0;
    }
    return evaluation;
}

static bool store(const struct context_attempt *attempt)
{
    struct session_call *run = attempt->data;
    struct auto_context *record = run->auto_context;
    struct region *region = mcp_call_region(run->call);
    struct context_error error;
    value stored = value_nil();
    if (!record->is_mode_known) {
        record->is_mode_known = read_mode(run->tools, &record->mode, &error);
        if (!record->is_mode_known && context_attempt_again(attempt, &error))
            return false;
    }
    if (!context_auto_feed(attempt->store, region, record->mode, &record->evaluation, &stored,
                           &error)) {
        if (context_attempt_again(attempt, &error))
            return false;
        stored = map_put_text(region, map_new(region), "error",
                              value_string_text(region, context_code_name(error.code)));
    }
    if (!value_is_nil(stored))
        run->result.structured = map_put_text(region, run->result.structured, "context", stored);
    record->done(run);
    return true;
}

void auto_context_store(struct session_call *run, const struct session_reply *reply,
                        auto_context_done_fn *done)
{
    struct auto_context *record = run->auto_context;
    if (record->is_mode_known && !context_auto_feed_applies(record->mode, !reply->ok)) {
        done(run);
        return;
    }
    record->evaluation = describe(run, reply);
    record->done = done;
    context_queue_run(run->tools->context_queue, store, run->call, run);
}
