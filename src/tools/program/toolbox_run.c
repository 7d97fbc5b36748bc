#include "tools/program/toolbox_run.h"

#include <string.h>

#include "signature/signature.h"
#include "value/text/json.h"

void toolbox_run_init(struct toolbox_run *run, struct region *region)
{
    *run = (struct toolbox_run){.log = call_log_new(), .region = region};
    run->approved = vector_new(region, 0);
    run->approved_all = vector_new(region, 0);
    run->dry_writes = vector_new(region, 0);
}

void toolbox_run_release(struct toolbox_run *run)
{
    call_log_free(run->log);
    run->log = NULL;
}

void toolbox_run_approve(struct toolbox_run *run, uint64_t key)
{
    run->approved = vector_push(run->region, run->approved, value_integer((int64_t)key));
}

void toolbox_run_use_approval(struct toolbox_run *run, uint64_t key)
{
    value left = vector_new(run->region, 0);
    for (size_t i = 0; i < vector_count(run->approved); i++)
        if ((uint64_t)vector_at(run->approved, i).integer != key)
            left = vector_push(run->region, left, value_retain(vector_at(run->approved, i)));
    run->approved = left;
}

bool toolbox_run_has_approved_call(const struct toolbox_run *run, uint64_t key)
{
    for (size_t i = 0; i < vector_count(run->approved); i++)
        if (vector_at(run->approved, i).tag == VALUE_INTEGER &&
            (uint64_t)vector_at(run->approved, i).integer == key)
            return true;
    return false;
}

bool toolbox_run_has_approved(const struct toolbox_run *run, struct span name, uint64_t key)
{
    if (toolbox_run_has_approved_call(run, key))
        return true;
    for (size_t i = 0; i < vector_count(run->approved_all); i++)
        if (span_equal(value_text(vector_at(run->approved_all, i)), name))
            return true;
    return false;
}

static value describe_call(struct region *region, struct span name, struct span arguments)
{
    value map = map_put_text(region, map_new(region), "name", value_string(region, name)), args;
    struct error error;
    struct json_options options = {.max_depth = 1000};
    if (json_read(region, arguments, &options, &args, &error))
        map = map_put_text(region, map, "args", args);
    return map;
}

static value list_writes(const struct toolbox_run *run, struct region *region)
{
    value writes = vector_new(region, 0);
    for (size_t i = 0; i < call_log_count(run->log); i++) {
        const struct logged_call *call = call_log_at(run->log, i);
        if (!call->is_write || (call->is_finished && !call->ok))
            continue;
        value write = describe_call(region, call->name, call->arguments);
        if (!call->is_finished)
            write = map_put_text(region, write, "unfinished", value_boolean(true));
        writes = vector_push(region, writes, write);
    }
    return writes;
}

value toolbox_run_add_writes(const struct toolbox_run *run, struct region *region, value step)
{
    bool failed = !value_is_nil(map_get(step, "fail"));
    if (run->is_dry)
        step = map_put_text(region, step, "dry_run", value_boolean(true));
    if (!failed && !run->is_dry)
        return step;
    value writes = run->is_dry ? value_retain(run->dry_writes) : list_writes(run, region);
    return map_put_text(region, step, "writes", writes);
}

// A signature without what it says about the result.
static value loose_signature(struct region *region, struct span signature)
{
    struct span inputs = signature_inputs_text(signature);
    return inputs.length
               ? value_string_format(region, "%.*s -> :any", (int)inputs.length, inputs.data)
               : value_string(region, SPAN(":any"));
}

value toolbox_run_loosen(struct region *region, value tools)
{
    value loose = map_new(region), name, record;
    for (struct map_cursor cursor = map_iterate(tools); map_next(&cursor, &name, &record);) {
        struct span signature = map_get_string(record, "signature");
        record = value_retain(record);
        if (map_get_boolean(record, "remote") && signature.length)
            record = map_put_text(region, record, "signature", loose_signature(region, signature));
        loose = map_put(region, loose, value_retain(name), record);
    }
    return loose;
}
