// Threads of user code that are gone: a clone of a process has only the thread that cloned it.
#include <string.h>

#include "base/memory.h"
#include "session/session_internal.h"
#include "session/worker_data.h"

enum { LOST_THREADS_MAX = 256 };

void session_thread_names(struct buffer *text, value names)
{
    enum { NAMES_SHOWN = 20 };
    size_t count = vector_count(names);
    for (size_t i = 0; i < count && i < NAMES_SHOWN; i++) {
        if (i > 0)
            buffer_append_text(text, ", ");
        buffer_append_span(text, value_text(vector_at(names, i)));
    }
    if (count > NAMES_SHOWN)
        buffer_append_format(text, " and %zu more", count - NAMES_SHOWN);
}

static void keep_lost_threads(struct session *session, value names)
{
    if (vector_count(names) == 0)
        return;
    struct buffer text;
    buffer_init(&text, 4096);
    session_thread_names(&text, names);
    memory_free(session->pending.lost_threads);
    session->pending.lost_threads = memory_copy_text(buffer_text(&text), text.length);
    buffer_release(&text);
}

// True for `acceptor` and `acceptor (it listened on port 8080, now closed)`.
static bool is_remark_on(struct span text, struct span name)
{
    return text.length > name.length + 2 && memcmp(text.data, name.data, name.length) == 0 &&
           memcmp(text.data + name.length, " (", 2) == 0;
}

// The index of the name that `text` is or is a remark on; the count of names when there is none.
static size_t find_name(value names, struct span text)
{
    size_t i = 0;
    for (; i < vector_count(names); i++) {
        struct span name = value_text(vector_at(names, i));
        if (span_equal(name, text) || is_remark_on(text, name))
            break;
    }
    return i;
}

value session_collect_lost_threads(struct session *session, value message)
{
    value lost =
        import_texts(session->scratch, map_get(session->agent.state, "threads"), LOST_THREADS_MAX);
    value known =
        import_texts(session->scratch, map_get(message, "lost_threads"), LOST_THREADS_MAX);
    for (size_t i = 0; i < vector_count(known); i++) {
        value name = vector_at(known, i);
        size_t at = find_name(lost, value_text(name));
        lost = at < vector_count(lost) ? vector_put(session->scratch, lost, at, value_retain(name))
                                       : vector_push(session->scratch, lost, value_retain(name));
    }
    // A woken state has the locks of the threads it was cloned beside, not of those that came
    // later.
    keep_lost_threads(session, value_is_map(message) ? known : lost);
    return lost;
}
