#include "context/auto_feed.h"

#include "base/buffer.h"
#include "base/utf8.h"

// At most CONTEXT_FEED_CHARACTERS, then a line that says how much there was.
static value bounded(struct region *region, struct span text)
{
    size_t shown = utf8_offset(text.data, text.length, CONTEXT_FEED_CHARACTERS);
    if (shown == text.length)
        return value_string(region, text);
    CLEANUP_BUFFER struct buffer cut;
    buffer_init(&cut, BUFFER_DEFAULT_LIMIT);
    buffer_append(&cut, text.data, shown);
    if (shown > 0 && text.data[shown - 1] != '\n')
        buffer_append_byte(&cut, '\n');
    buffer_append_format(&cut, "... [truncated: %d of %zu characters shown]",
                         CONTEXT_FEED_CHARACTERS, utf8_count(text.data, text.length));
    return value_string(region, buffer_span(&cut));
}

static value error_content(struct region *region, const struct context_evaluation *evaluation)
{
    return bounded(region, evaluation->report);
}

// "PACKAGE> form", then the value lines, or for a failure its last line.
static value history_content(struct region *region, const struct context_evaluation *evaluation)
{
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, BUFFER_DEFAULT_LIMIT);
    buffer_append_span(&text, evaluation->package);
    buffer_append_text(&text, "> ");
    buffer_append_span(&text, evaluation->form);
    buffer_append_byte(&text, '\n');
    if (evaluation->failed) {
        buffer_append_text(&text, "[ERROR] ");
        buffer_append_span(&text, evaluation->condition);
    } else {
        buffer_append_span(&text, evaluation->values);
    }
    return bounded(region, buffer_span(&text));
}

static value put_unless_empty(struct region *region, value map, const char *name, struct span text)
{
    return text.length > 0 ? map_put_text(region, map, name, value_string(region, text)) : map;
}

static value error_metadata(struct region *region, const struct context_evaluation *evaluation)
{
    struct span form = evaluation->form;
    if (form.data)
        form.length = utf8_offset(form.data, form.length, CONTEXT_FEED_FORM_CHARACTERS);
    value map = map_new(region);
    map = put_unless_empty(region, map, "session", evaluation->session);
    map = put_unless_empty(region, map, "package", evaluation->package);
    map = put_unless_empty(region, map, "condition", evaluation->condition);
    map = put_unless_empty(region, map, "form", form);
    map = put_unless_empty(region, map, "filename", evaluation->filename);
    if (evaluation->filename.length > 0 && evaluation->start_line > 0)
        map = map_put_text(region, map, "start_line", value_integer(evaluation->start_line));
    return map;
}

static value history_metadata(struct region *region, const struct context_evaluation *evaluation)
{
    value map = map_new(region);
    map = put_unless_empty(region, map, "session", evaluation->session);
    map = put_unless_empty(region, map, "package", evaluation->package);
    return map_put_text(region, map, "duration_ms", value_integer(evaluation->duration_ms));
}

static value fed_value(struct region *region, const struct context_added *added)
{
    char id[CONTEXT_ID_SIZE];
    value evicted = vector_new(region, added->evicted_count);
    for (size_t i = 0; i < added->evicted_count; i++) {
        context_id_format(added->evicted[i].number, id);
        evicted = vector_push(region, evicted, value_string_text(region, id));
    }
    context_id_format(added->item.number, id);
    value map = map_put_text(region, map_new(region), "added", value_string_text(region, id));
    return map_put_text(region, map, "evicted", evicted);
}

static bool applies_as_error(enum context_auto mode, bool failed)
{
    return failed && (mode == CONTEXT_AUTO_ERRORS || mode == CONTEXT_AUTO_ALL);
}

bool context_auto_feed_applies(enum context_auto mode, bool failed)
{
    return applies_as_error(mode, failed) || mode == CONTEXT_AUTO_HISTORY ||
           mode == CONTEXT_AUTO_ALL;
}

bool context_auto_feed(struct context_store *store, struct region *region, enum context_auto mode,
                       const struct context_evaluation *evaluation, value *ret_stored,
                       struct context_error *error)
{
    *ret_stored = value_nil();
    if (!context_auto_feed_applies(mode, evaluation->failed))
        return true;
    bool as_error = applies_as_error(mode, evaluation->failed);
    value content =
        as_error ? error_content(region, evaluation) : history_content(region, evaluation);
    value type = value_string_text(region, as_error ? "error" : "repl-history");
    value metadata =
        as_error ? error_metadata(region, evaluation) : history_metadata(region, evaluation);
    struct context_fields fields = {.content = &content, .type = &type, .metadata = &metadata};
    struct context_draft draft;
    struct context_added added;
    if (!context_draft_check(region, &fields, &draft, error) ||
        !context_store_add(store, region, &draft, CONTEXT_AUTOMATIC, &added, error))
        return false;
    if (added.item.number > 0)
        *ret_stored = fed_value(region, &added);
    return true;
}
