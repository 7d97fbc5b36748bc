#include "tools/result/result_structured.h"

value structured_member(struct region *region, value map, value result, const char *name)
{
    value v;
    if (!value_is_map(result) || !map_find_text(result, name, &v))
        return map;
    return map_put_text(region, map, name, value_copy(region, v));
}

static value put_text(struct region *region, value map, const char *name, struct span text)
{
    return map_put_text(region, map, name, value_string(region, text));
}

value structured_error(struct region *region, value error, int64_t frames)
{
    value copy = value_copy(region, error);
    value all = map_get(copy, "frames");
    if (!value_is_vector(all) || (int64_t)vector_count(all) <= frames)
        return copy;
    value some = vector_slice(region, value_retain(all), 0, (size_t)frames);
    return map_put_text(region, copy, "frames", some);
}

value structured_start(struct region *region, const char *session)
{
    value map = map_put_text(region, map_new(region), "ok", value_boolean(true));
    return put_text(region, map, "session", span_from(session));
}

value structured_reply(struct region *region, const struct session_reply *reply)
{
    value map = map_put_text(region, map_new(region), "ok", value_boolean(reply->ok));
    map = put_text(region, map, "session", span_from(reply->session));
    if (!reply->ok)
        map = map_put_text(region, map, "error",
                           structured_error(region, reply->error, reply->limits.max_frames));
    return map;
}

static value structured_omitted(struct region *region, const struct session_reply *reply)
{
    value map = map_new(region);
    int64_t of_values =
        value_is_map(reply->result) ? map_get_integer(reply->result, "values_omitted", 0) : 0;
    if (reply->standard_output.omitted)
        map = map_put_text(region, map, "stdout",
                           value_integer((int64_t)reply->standard_output.omitted));
    if (reply->standard_error.omitted)
        map = map_put_text(region, map, "stderr",
                           value_integer((int64_t)reply->standard_error.omitted));
    if (of_values)
        map = map_put_text(region, map, "values", value_integer(of_values));
    return map;
}

static value put_vector(struct region *region, value map, const char *name, value vector)
{
    if (!value_is_vector(vector) || vector_count(vector) == 0)
        return map;
    return map_put_text(region, map, name, value_copy(region, vector));
}

value structured_evaluation(struct region *region, const struct session_reply *reply)
{
    value map = structured_reply(region, reply);
    value result = reply->result;
    if (!value_is_map(result) || value_is_nil(map_get(result, "values")))
        map = map_put_text(region, map, "values", vector_new(region, 0));
    else
        map = structured_member(region, map, result, "values");
    if (!reply->ran)
        return map;
    map = map_put_text(region, map, "evaluation", value_integer(reply->evaluation));
    map = put_text(region, map, "package", reply->package);
    map = structured_member(region, map, result, "forms");
    if (reply->earlier_output.length)
        map = put_text(region, map, "earlier_output", reply->earlier_output);
    if (reply->standard_output.text.length)
        map = put_text(region, map, "stdout", reply->standard_output.text);
    if (reply->standard_error.text.length)
        map = put_text(region, map, "stderr", reply->standard_error.text);
    value omitted = structured_omitted(region, reply);
    if (map_count(omitted))
        map = map_put_text(region, map, "omitted", omitted);
    map = put_vector(region, map, "warnings", map_get(result, "warnings"));
    map = structured_member(region, map, result, "timing");
    map = put_vector(region, map, "notices", reply->notices);
    if (!value_is_nil(reply->rollback))
        map = map_put_text(region, map, "rollback", value_copy(region, reply->rollback));
    return map;
}

value structured_limits(struct region *region, const struct session_limits *limits)
{
    value map = map_new(region);
    map = map_put_text(region, map, "timeout", value_integer(limits->timeout));
    map = map_put_text(region, map, "max-output", value_integer(limits->max_output));
    map = map_put_text(region, map, "max-memory", value_integer(limits->max_memory));
    map = map_put_text(region, map, "max-frames", value_integer(limits->max_frames));
    return map_put_text(region, map, "snapshots", value_integer(limits->snapshots));
}
