// RESTORING: the session has no process, and an image of it is unpacked by a worker; then a Lisp
// process starts from it (STARTING).
//
// An image that is damaged, or does not start, is passed over for the one before. Where none can be
// used, the session starts afresh, with the definitions of its journal, and says so.
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/memory.h"
#include "session/core.h"
#include "session/image/image_file.h"
#include "session/journal/journal_export.h"
#include "session/session_internal.h"
#include "session/spawn.h"
#include "session/state/actions.h"

enum {
    UNPACK_MS = 120000,
    KILL_AGAIN_MS = 1000,
    BYTES_PER_MS = 10000,  // of a large core on a slow disk
    AGENT_PROTOCOL = 2,
};

static const char *const names[] = {IMAGE_FILE, IMAGE_PREVIOUS};

// Of the image that is tried.
static const char *current_name(const struct session *session)
{
    return names[session->restore.tried > 0 ? session->restore.tried - 1 : 0];
}

static void forget(struct session *session)
{
    memory_free(session->restore.core);
    memory_free(session->restore.runtime);
    session->restore.core = session->restore.runtime = NULL;
    session->restore.active = false;
}

// The definitions of the journal are evaluated in the fresh session, before all requests.
static void define_again(struct session *session)
{
    CLEANUP_BUFFER struct buffer code, notice;
    buffer_init(&code, SESSION_REQUEST_MAX / 2);
    buffer_init(&notice, BUFFER_DEFAULT_LIMIT);
    struct region *region = region_new(SIZE_MAX);
    value skipped = vector_new(region, 0);
    size_t count = 0;
    if (session->store)
        count = export_definitions(&code, region, journal_read(region, session->store, JOURNAL_MAX),
                                   -1, true, &skipped);
    bool has_code = count > 0 && !code.failed;
    buffer_append_format(
        &notice, "%s: it starts afresh. %zu definitions of its journal were evaluated again",
        session->restore.from_journal ? "there is no saved state of the session"
                                      : "the saved state of the session cannot be used",
        has_code ? count : 0);
    if (vector_count(skipped) > 0)
        buffer_append_text(&notice, "; evaluations that did more were skipped:");
    keeping_append_entries(skipped, &notice);
    if (vector_count(skipped) > 0)
        buffer_append_text(&notice, " (export-session, format transcript, shows them)");
    region_free(region);
    session_notice(session, "%s", buffer_text(&notice));
    if (has_code)
        job_requeue(session, job_new_code("a definition of the journal", buffer_span(&code)));
}

static enum session_state give_up(struct session *session)
{
    forget(session);
    session->restore.exhausted = true;
    session->lineage.current = 0;
    define_again(session);
    session->start.tries = 0;
    return starting_begin(session);
}

static int64_t patience_ms(const struct session *session, int64_t least_ms)
{
    int64_t bytes = map_get_integer(session->restore.description, "core_bytes", 0);
    return bytes > 0 ? least_ms + bytes / BYTES_PER_MS : least_ms;
}

int64_t restoring_start_ms(const struct session *session)
{
    return patience_ms(session, TIME_START_MS);
}

static int start_worker(struct session *session, const char *path, const char *sbcl)
{
    struct link *link = link_new(session, true);
    if (!link)
        return -errno;
    const char *const argv[] = {
        "/proc/self/exe", "image-worker", "unpack", path, sbcl, session->restore.core, NULL};
    pid_t pid;
    int result = spawn_image_worker(argv, -1, link->errors.worker_fd, &pid);
    if (result < 0) {
        link_free(link);
        return result;
    }
    return worker_add_started(session, pid, ROLE_BUILDER, link) ? 0 : -ENOMEM;
}

static int find_parts(struct session *session)
{
    value description = session->restore.description;
    session->restore.core = image_core_path(map_get_string(description, "id"));
    session->restore.runtime = image_runtime_path(map_get_string(description, "runtime"));
    if (!session->restore.core || !session->restore.runtime)
        return -EINVAL;
    session->restore.was_cached = access(session->restore.core, F_OK) == 0;
    return 0;
}

// NULL: it is being unpacked; else why it cannot be.
static const char *try_image(struct session *session, const char *path)
{
    CLEANUP_FREE char *sbcl = NULL;
    region_clear(session->restore.region);
    if (!image_describe(session->restore.region, path, &session->restore.description))
        return "is damaged or of another version of Cadre";
    value description = session->restore.description;
    if (map_get_integer(description, "protocol", 0) != AGENT_PROTOCOL)
        return "is of another version of Cadre";
    forget(session);
    if (map_get_integer(description, "evaluation", -1) < 0 || find_parts(session) < 0)
        return "is damaged";
    if (session_find_sbcl(&session->manager->config, &sbcl) < 0)
        sbcl = memory_copy_string(session->restore.runtime);
    if (start_worker(session, path, sbcl) < 0)
        return "cannot be unpacked now";
    session->restore.active = true;
    session_set_timer(session, patience_ms(session, UNPACK_MS));
    return NULL;
}

// The next image that is there and not damaged at first sight.
static enum session_state try_next(struct session *session)
{
    while (session->store && session->restore.tried < COUNT_OF(names)) {
        CLEANUP_FREE char *path =
            memory_format("%s/%s", session->store, names[session->restore.tried++]);
        if (access(path, F_OK) < 0)
            continue;
        session->restore.from_journal = false;
        const char *reason = try_image(session, path);
        if (!reason)
            return STATE_RESTORING;
        session_notice(session, "%s %s", path, reason);
    }
    return give_up(session);
}

bool restoring_is_possible(const struct session *session)
{
    if (!session->store || session->restore.exhausted)
        return false;
    if (session->restore.from_journal)
        return true;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        CLEANUP_FREE char *path = memory_format("%s/%s", session->store, names[i]);
        if (access(path, F_OK) == 0)
            return true;
    }
    return false;
}

enum session_state restoring_begin(struct session *session)
{
    session->restore.tried = 0;
    session->restore.began_ms = clock_now_ms();
    return try_next(session);
}

static enum session_state try_after(struct session *session)
{
    forget(session);
    return try_next(session);
}

// Where the core was in the cache already, the image may be whole all the same: it is unpacked anew.
enum session_state restoring_next(struct session *session)
{
    if (session->restore.was_cached && session->restore.tried > 0 &&
        unlink(session->restore.core) == 0)
        session->restore.tried--;
    else
        session_notice(session, "no process starts from %s/%s", session->store,
                       current_name(session));
    return try_after(session);
}

// The worker has ended.
enum session_state restoring_on_head_exit(struct session *session,
                                          const struct session_event *event)
{
    const struct process_exit *exit = event->exit;
    int code = exit->known && !exit->signaled ? exit->code : IMAGE_FAILED;
    const char *file = current_name(session);
    if (code == IMAGE_OTHER_RUNTIME && access(session->restore.runtime, X_OK) < 0) {
        session_notice(session, "%s/%s needs another SBCL, which is not kept any more",
                       session->store, file);
        return try_after(session);
    }
    if (code != IMAGE_DONE && code != IMAGE_OTHER_RUNTIME) {
        session_notice(session, "%s/%s cannot be read", session->store, file);
        return try_after(session);
    }
    if (code == IMAGE_DONE) {
        memory_free(session->restore.runtime);
        session->restore.runtime = NULL;
    }
    session->start.tries = 0;
    return starting_begin(session);
}

enum session_state restoring_on_timer(struct session *session, const struct session_event *event)
{
    (void)event;
    bool ending = false;
    for (struct worker *worker = session->workers; worker; worker = worker->next)
        if (worker->role == ROLE_BUILDER)
            ending = process_signal(&worker->process, SIGKILL) == 0 || ending;
    if (!ending)
        return try_after(session);
    session_set_timer(session, KILL_AGAIN_MS);
    return STATE_RESTORING;
}

// --- what is told --------------------------------------------------------------------------------

static void append_names(struct buffer *text, value names_lost)
{
    for (size_t i = 0; value_is_vector(names_lost) && i < vector_count(names_lost); i++) {
        struct span name = value_text(vector_at(names_lost, i));
        buffer_append_format(text, "%sthread \"%.*s\"", text->length ? ", " : "", (int)name.length,
                             name.data);
    }
}

static void append_time(struct buffer *text, int64_t seconds)
{
    char time[CLOCK_ISO_SIZE];
    clock_format_iso(seconds, time);
    buffer_append_text(text, time);
}

static void tell(struct session *session)
{
    value description = session->restore.description;
    int64_t number = map_get_integer(description, "evaluation", 0);
    int64_t files = map_get_integer(description, "files", 0);
    CLEANUP_BUFFER struct buffer text, lost;
    buffer_init(&text, BUFFER_DEFAULT_LIMIT);
    buffer_init(&lost, BUFFER_DEFAULT_LIMIT);
    buffer_append_format(&text, "restored: the state after evaluation %lld, saved ",
                         (long long)number);
    append_time(&text, map_get_integer(description, "saved", 0));
    append_names(&lost, map_get(description, "threads"));
    if (files > 0)
        buffer_append_format(&lost, "%s%lld open file%s", lost.length ? ", " : "", (long long)files,
                             files == 1 ? "" : "s");
    if (lost.length > 0)
        buffer_append_format(&text, "; not saved: %s", buffer_text(&lost));
    keeping_append_later(session, number, &text);
    session_notice(session, "%s", buffer_text(&text));
}

void restoring_done(struct session *session)
{
    int64_t number = map_get_integer(session->restore.description, "evaluation", 0);
    tell(session);
    session->lineage.current = session->lineage.first = number;
    if (session->lineage.evaluations < number)
        session->lineage.evaluations = number;
    session->saving.saved = number;
    systems_restore(session, session->restore.description);
    forget(session);
}
