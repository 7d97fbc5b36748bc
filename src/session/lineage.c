// Which evaluations a state is made of: each evaluation remembers the one whose state it began
// with.
#include <string.h>

#include "base/memory.h"
#include "session/session_internal.h"

// A session that goes on for more evaluations than fit is only unable to say what a rollback undid.
enum { LINEAGE_WALK_MAX = 1 << 20 };

int64_t lineage_parent(const struct session *session, int64_t number)
{
    int64_t parent;
    if (number < 0 || (uint64_t)number >= session->lineage.parents.length / sizeof(parent))
        return -1;
    memcpy(&parent, session->lineage.parents.data + (size_t)number * sizeof(parent),
           sizeof(parent));
    return parent;
}

void lineage_set_parent(struct session *session, int64_t number, int64_t parent)
{
    int64_t none = -1;
    while ((uint64_t)number >= session->lineage.parents.length / sizeof(none)) {
        buffer_append(&session->lineage.parents, &none, sizeof(none));
        if (session->lineage.parents.failed)
            return;
    }
    memcpy(session->lineage.parents.data + (size_t)number * sizeof(parent), &parent,
           sizeof(parent));
}

bool lineage_has_ancestor(const struct session *session, int64_t number, int64_t ancestor)
{
    // Parents are older than their children.
    for (int64_t at = number; at >= ancestor; at = lineage_parent(session, at)) {
        if (at == ancestor)
            return true;
        if (at < 0)
            return false;
    }
    return false;
}

value lineage_undone(const struct session *session, struct region *region, int64_t from, int64_t to)
{
    value undone = vector_new(region, 0);
    int64_t walked = 0;
    size_t count = 0;
    // From newest to oldest, then turned round: numbers grow along a lineage.
    for (int64_t at = from; at > 0 && walked < LINEAGE_WALK_MAX; walked++) {
        if (at == to || lineage_has_ancestor(session, to, at))
            break;
        count++;
        at = lineage_parent(session, at);
    }
    int64_t at = from;
    value newest_first = vector_new(region, count);
    for (size_t i = 0; i < count; i++, at = lineage_parent(session, at))
        newest_first = vector_push(region, newest_first, value_integer(at));
    for (size_t i = count; i > 0; i--)
        undone = vector_push(region, undone, vector_at(newest_first, i - 1));
    return undone;
}

// --- what they were ------------------------------------------------------------------------------

void lineage_set_label(struct session *session, int64_t number, const char *label)
{
    char **slot = &session->lineage.labels[number % SESSION_LABELS];
    memory_free(*slot);
    *slot = memory_copy_text(label ? label : "", label ? strcspn(label, "\r\n") : 0);
}

const char *lineage_label(const struct session *session, int64_t number)
{
    const char *label = session->lineage.labels[number % SESSION_LABELS];
    bool is_known = number > session->lineage.evaluations - SESSION_LABELS;
    return is_known && label ? label : "";
}

value lineage_lost(const struct session *session, struct region *region, int64_t from, int64_t to)
{
    value numbers = lineage_undone(session, region, from, to);
    value lost = vector_new(region, vector_count(numbers));
    for (size_t i = 0; i < vector_count(numbers); i++) {
        value number = vector_at(numbers, i);
        value code = value_string_text(region, lineage_label(session, number.integer));
        value map = map_put_text(region, map_new(region), "number", number);
        lost = vector_push(region, lost, map_put_text(region, map, "code", code));
    }
    return lost;
}

void session_evaluation_names(struct buffer *text, value evaluations)
{
    enum { NAMES_SHOWN = 20 };
    size_t count = vector_count(evaluations);
    buffer_append_text(text, count == 1 ? "evaluation" : "evaluations");
    for (size_t i = 0; i < count && i < NAMES_SHOWN; i++) {
        struct span code = map_get_string(vector_at(evaluations, i), "code");
        buffer_append_format(text, "%s %lld", i ? "," : "",
                             (long long)map_get_integer(vector_at(evaluations, i), "number", 0));
        if (code.length > 0)
            buffer_append_format(text, " %.*s", (int)code.length, code.data);
    }
    if (count > NAMES_SHOWN)
        buffer_append_format(text, " and %zu more", count - NAMES_SHOWN);
}

int64_t lineage_nearest_snapshot(struct session *session, int64_t number)
{
    while (number >= 0 && !worker_find_snapshot(session, number))
        number = lineage_parent(session, number);
    return number;
}
