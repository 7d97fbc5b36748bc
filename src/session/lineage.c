// Which evaluations a state is made of: each evaluation remembers the one whose state it began
// with.
#include <string.h>

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

int64_t lineage_nearest_snapshot(struct session *session, int64_t number)
{
    while (number >= 0 && !worker_find_snapshot(session, number))
        number = lineage_parent(session, number);
    return number;
}
