#include "daemon/session_wire.h"

#include <string.h>

#include "base/array.h"
#include "daemon/client_settings.h"

static value put(struct region *region, value map, const char *name, value item)
{
    return map_put_text(region, map, name, item);
}

static value put_integer(struct region *region, value map, const char *name, int64_t number)
{
    return put(region, map, name, value_integer(number));
}

static value put_flag(struct region *region, value map, const char *name, bool flag)
{
    return flag ? put(region, map, name, value_boolean(true)) : map;
}

// What user code has printed may be no UTF-8.
static value put_span(struct region *region, value map, const char *name, struct span text)
{
    return text.length ? put(region, map, name, value_string_repair(region, text)) : map;
}

static value put_value(struct region *region, value map, const char *name, value item)
{
    return value_is_nil(item) ? map : put(region, map, name, value_copy(region, item));
}

// --- limits --------------------------------------------------------------------------------------

value session_wire_limits(struct region *region, const struct session_limits *limits)
{
    value map = put_integer(region, map_new(region), "timeout", limits->timeout);
    map = put_integer(region, map, "max-output", limits->max_output);
    map = put_integer(region, map, "max-memory", limits->max_memory);
    map = put_integer(region, map, "max-frames", limits->max_frames);
    return put_integer(region, map, "snapshots", limits->snapshots);
}

struct session_limits session_wire_read_limits(value map)
{
    return (struct session_limits){
        .timeout = map_get_integer(map, "timeout", -1),
        .max_output = map_get_integer(map, "max-output", 0),
        .max_memory = map_get_integer(map, "max-memory", 0),
        .max_frames = map_get_integer(map, "max-frames", 0),
        .snapshots = map_get_integer(map, "snapshots", 0),
    };
}

// --- requests ------------------------------------------------------------------------------------

static const char *const kind_names[SESSION_REQUEST_KIND_COUNT] = {
    [SESSION_EVALUATE] = "evaluate", [SESSION_QUERY] = "query", [SESSION_COPY] = "copy",
    [SESSION_TESTS] = "tests",       [SESSION_DEBUG] = "debug", [SESSION_RESTART] = "restart",
    [SESSION_RESET] = "reset",       [SESSION_FORK] = "fork",   [SESSION_ROLLBACK] = "rollback",
    [SESSION_ADOPT] = "adopt",
};

value session_wire_request(struct region *region, const struct session_request *request)
{
    value map =
        put(region, map_new(region), "kind", value_string_text(region, kind_names[request->kind]));
    if (request->op)
        map = put(region, map, "op", value_string_text(region, request->op));
    map = put_value(region, map, "params", request->params);
    if (request->label)
        map = put_span(region, map, "label", span_from(request->label));
    map = put_integer(region, map, "timeout", request->timeout);
    map = put_integer(region, map, "error", request->error);
    map = put_flag(region, map, "adopt", request->adopt);
    map = put_flag(region, map, "beside", request->beside);
    map = put_integer(region, map, "rollback_to", request->rollback_to);
    return put_integer(region, map, "rollback_steps", request->rollback_steps);
}

static bool read_kind(value map, enum session_request_kind *ret_kind)
{
    struct span name = map_get_string(map, "kind");
    for (int kind = 0; kind < SESSION_REQUEST_KIND_COUNT; kind++)
        if (span_equal_text(name, kind_names[kind])) {
            *ret_kind = (enum session_request_kind)kind;
            return true;
        }
    return false;
}

bool session_wire_read_request(struct region *region, value map,
                               struct session_request *ret_request, struct error *error)
{
    value params = map_get(map, "params");
    struct session_request request = {
        .op = settings_text(region, map_get(map, "op")),
        .params = params,
        .label = settings_text(region, map_get(map, "label")),
        .timeout = map_get_integer(map, "timeout", -1),
        .error = map_get_integer(map, "error", 0),
        .adopt = map_get_boolean(map, "adopt"),
        .beside = map_get_boolean(map, "beside"),
        .rollback_to = map_get_integer(map, "rollback_to", -1),
        .rollback_steps = map_get_integer(map, "rollback_steps", 0),
    };
    if (!read_kind(map, &request.kind) || (!value_is_nil(params) && !value_is_map(params)))
        return error_set(error, ERROR_INVALID, "this is no request");
    bool has_target = request.kind == SESSION_FORK || request.kind == SESSION_ADOPT;
    bool is_operation = request.kind != SESSION_RESET && request.kind != SESSION_ROLLBACK;
    if (has_target || (is_operation && !request.op))
        return error_set(error, ERROR_INVALID, "a request of this kind is not taken");
    if (request.kind == SESSION_ROLLBACK && request.rollback_to < 0 && request.rollback_steps < 1)
        return error_set(error, ERROR_INVALID, "a rollback names its goal");
    *ret_request = request;
    return true;
}

// --- replies -------------------------------------------------------------------------------------

static value put_output(struct region *region, value map, const char *name,
                        const struct session_output *output)
{
    if (output->text.length == 0)
        return map;
    value made = put_span(region, map_new(region), "text", output->text);
    made = put_integer(region, made, "omitted", (int64_t)output->omitted);
    return put(region, map, name, made);
}

static value put_numbers(struct region *region, value map, const struct session_reply *reply)
{
    map = put_integer(region, map, "error_id", reply->error_id);
    map = put_integer(region, map, "evaluation", reply->evaluation);
    map = put_integer(region, map, "snapshot", reply->snapshot);
    map = put_integer(region, map, "heap_mb", reply->heap_mb);
    map = put_integer(region, map, "elapsed_us", reply->elapsed_us);
    return put_integer(region, map, "beside", reply->beside);
}

value session_wire_reply(struct region *region, const struct session_reply *reply)
{
    value map = put_numbers(region, map_new(region), reply);
    map = put_flag(region, map, "ok", reply->ok);
    map = put_flag(region, map, "ran", reply->ran);
    map = put_flag(region, map, "frozen", reply->frozen);
    map = put_flag(region, map, "adopted", reply->adopted);
    map = put_value(region, map, "result", reply->result);
    map = put_value(region, map, "error", reply->error);
    map = put_value(region, map, "notices", reply->notices);
    map = put_value(region, map, "rollback", reply->rollback);
    map = put_value(region, map, "undone", reply->undone);
    map = put_value(region, map, "lost_threads", reply->lost_threads);
    map = put_span(region, map, "earlier_output", reply->earlier_output);
    map = put_output(region, map, "stdout", &reply->standard_output);
    map = put_output(region, map, "stderr", &reply->standard_error);
    map = put_span(region, map, "package", reply->package);
    map = put_span(region, map, "package_label", reply->package_label);
    map = put_span(region, map, "package_before", reply->package_before);
    return put(region, map, "limits", session_wire_limits(region, &reply->limits));
}

static value read_list(struct region *region, value map, const char *name)
{
    value list = map_get(map, name);
    return value_is_vector(list) ? list : vector_new(region, 0);
}

static struct session_output read_output(value map, const char *name)
{
    value output = map_get(map, name);
    if (!value_is_map(output))
        return (struct session_output){.text = {"", 0}};
    return (struct session_output){
        .text = map_get_string(output, "text"),
        .omitted = (uint64_t)map_get_integer(output, "omitted", 0),
    };
}

struct session_reply session_wire_read_reply(struct region *region, value map, const char *session)
{
    return (struct session_reply){
        .session = session,
        .region = region,
        .ok = map_get_boolean(map, "ok"),
        .ran = map_get_boolean(map, "ran"),
        .result = map_get(map, "result"),
        .whole_values = value_nil(),
        .error = map_get(map, "error"),
        .error_id = map_get_integer(map, "error_id", 0),
        .frozen = map_get_boolean(map, "frozen"),
        .earlier_output = map_get_string(map, "earlier_output"),
        .standard_output = read_output(map, "stdout"),
        .standard_error = read_output(map, "stderr"),
        .notices = read_list(region, map, "notices"),
        .rollback = map_get(map, "rollback"),
        .evaluation = map_get_integer(map, "evaluation", 0),
        .snapshot = map_get_integer(map, "snapshot", -1),
        .undone = read_list(region, map, "undone"),
        .lost_threads = read_list(region, map, "lost_threads"),
        .adopted = map_get_boolean(map, "adopted"),
        .package = map_get_string(map, "package"),
        .package_label = map_get_string(map, "package_label"),
        .package_before = map_get_string(map, "package_before"),
        .limits = session_wire_read_limits(map_get(map, "limits")),
        .heap_mb = (unsigned)map_get_integer(map, "heap_mb", 0),
        .elapsed_us = map_get_integer(map, "elapsed_us", 0),
        .beside = map_get_integer(map, "beside", 0),
    };
}
