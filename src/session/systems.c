// ASDF systems loaded by load-system: a reset loads them again.
#include <string.h>

#include "base/memory.h"
#include "session/session_internal.h"
#include "value/text/json.h"

static void remember_directories(struct session *session, value directories)
{
    enum { DIRECTORIES_MAX = 1 << 18 };
    if (!value_is_vector(directories))
        return;
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, DIRECTORIES_MAX);
    json_write(&text, directories, 0, NULL);
    memory_free(session->systems.directories);
    session->systems.directories = text.failed ? NULL : memory_copy_text(text.data, text.length);
}

void systems_remember(struct session *session, const struct job *job)
{
    if (strcmp(job->op, "load-system") != 0 || job->internal)
        return;
    struct span name = map_get_string(job->result, "system");
    if (name.length == 0 || name.length > 200 || session->systems.count == SESSION_SYSTEMS)
        return;
    remember_directories(session, map_get(job->result, "directories"));
    for (size_t i = 0; i < session->systems.count; i++) {
        if (span_equal_text(name, session->systems.names[i]))
            return;
    }
    session->systems.names[session->systems.count++] = memory_copy_text(name.data, name.length);
}

void systems_restore(struct session *session, value description)
{
    value names = map_get(description, "systems");
    for (size_t i = 0; value_is_vector(names) && i < vector_count(names) &&
                       session->systems.count < SESSION_SYSTEMS;
         i++) {
        struct span name = value_text(vector_at(names, i));
        bool known = false;
        for (size_t j = 0; j < session->systems.count; j++)
            known = known || span_equal_text(name, session->systems.names[j]);
        if (!known && name.length > 0)
            session->systems.names[session->systems.count++] =
                memory_copy_text(name.data, name.length);
    }
}

static bool system_is_loaded(const struct session *session, const char *name)
{
    value systems = map_get(session->agent.state, "systems");
    for (size_t i = 0; value_is_vector(systems) && i < vector_count(systems); i++) {
        if (span_equal_text(value_text(vector_at(systems, i)), name))
            return true;
    }
    return false;
}

// The requests go to the front of the queue, so the last system is put there first.
void systems_reload(struct session *session)
{
    CLEANUP_BUFFER struct buffer names;
    buffer_init(&names, BUFFER_DEFAULT_LIMIT);
    for (size_t i = 0; i < session->systems.count; i++) {
        if (system_is_loaded(session, session->systems.names[i]))
            buffer_append_format(&names, "%s%s", names.length > 0 ? ", " : "",
                                 session->systems.names[i]);
    }
    for (size_t i = session->systems.count; i > 0; i--) {
        if (system_is_loaded(session, session->systems.names[i - 1]))
            job_requeue(session, job_new_system(session->systems.names[i - 1],
                                                session->systems.directories));
    }
    if (names.length > 0)
        session_notice(session, "Systems loaded again: %s.", buffer_text(&names));
}
