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

// `source` is the place in a file, or else the form that was executed.
value structured_frame(struct region *region, value frame)
{
    value map = structured_member(region, map_new(region), frame, "number");
    map = structured_member(region, map, frame, "function");
    map = structured_member(region, map, frame, "arguments");
    struct span file = map_get_string(frame, "file");
    if (file.length > 0)
        return put_text(region, map, "source", file);
    return structured_member(region, map, frame, "source");
}

static value structured_frames(struct region *region, value all, int64_t count)
{
    value some = vector_new(region, 0);
    for (size_t i = 0; value_is_vector(all) && i < vector_count(all) && (int64_t)i < count; i++)
        some = vector_push(region, some, structured_frame(region, vector_at(all, i)));
    return some;
}

value structured_error(struct region *region, value error, int64_t frames, bool with_condition)
{
    value map = map_new(region), name, item;
    struct map_cursor cursor = map_iterate(error);
    while (map_next(&cursor, &name, &item)) {
        bool of_condition = span_equal_text(value_text(name), "superclasses") ||
                            span_equal_text(value_text(name), "slots");
        if (of_condition && !with_condition)
            continue;
        item = span_equal_text(value_text(name), "frames") ? structured_frames(region, item, frames)
                                                           : value_copy(region, item);
        map = map_put(region, map, value_copy(region, name), item);
    }
    return map;
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
                           structured_error(region, reply->error, reply->limits.max_frames, false));
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
