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

static bool contains_text(value texts, struct span text)
{
    for (size_t i = 0; i < vector_count(texts); i++) {
        struct span other = value_text(vector_at(texts, i));
        if (other.length == text.length && memcmp(other.data, text.data, text.length) == 0)
            return true;
    }
    return false;
}

value session_collect_lost_threads(struct session *session, value message)
{
    value lost =
        import_texts(session->scratch, map_get(session->agent.state, "threads"), LOST_THREADS_MAX);
    value known =
        import_texts(session->scratch, map_get(message, "lost_threads"), LOST_THREADS_MAX);
    for (size_t i = 0; i < vector_count(known); i++)
        if (!contains_text(lost, value_text(vector_at(known, i))))
            lost = vector_push(session->scratch, lost, value_retain(vector_at(known, i)));
    // A woken state has the locks of the threads it was cloned beside, not of those that came
    // later.
    keep_lost_threads(session, value_is_map(message) ? known : lost);
    return lost;
}
