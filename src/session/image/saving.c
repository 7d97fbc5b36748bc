#include "session/image/saving.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "session/image/image_file.h"
#include "session/session_internal.h"
#include "session/spawn.h"
#include "session/state/state.h"

enum {
    QUIET_MS = 2000,  // without an evaluation, before a state is saved
    WAKE_MS = 1000,   // then the snapshot is signalled again
    WAKE_TRIES = 10,
    REFUSED_WAIT_MS = 200,   // until a snapshot that could not clone itself is asked again
    SNAPSHOT_TRIES = 3,      // of a state that has none
    SNAPSHOT_WAIT_MS = 500,  // between them
    NICE_MS = 20000,         // at the lowest priority, WRITING and PACKING; then at the usual one
    WRITE_MS = 120000,
    PACK_MS = 300000,
    PAUSE_FACTOR = 20,  // between two saves, times what the last one took
    RETRY_MS = 60000,   // after a failure
    REASON_MAX = 300,   // bytes of what the copy says of it
};

static void on_timer(evutil_socket_t fd, short what, void *data);

void saving_init(struct session *session)
{
    session->saving = (struct saving){.core_fd = -1, .saved = -1};
    session->saving.timer = evtimer_new(session->manager->base, on_timer, session);
    CHECK(session->saving.timer);
}

static void set_timer(struct saving *saving, int64_t milliseconds)
{
    struct timeval time = timeval_from_ms(milliseconds);
    evtimer_add(saving->timer, &time);
}

// What a save has in hand; its process is the session's.
static void drop(struct saving *saving)
{
    link_free(saving->awaited);
    if (saving->core_fd >= 0)
        close(saving->core_fd);
    memory_free(saving->description);
    memory_free(saving->reason);
    saving->awaited = NULL;
    saving->source = saving->process = NULL;
    saving->core_fd = -1;
    saving->tries = 0;
    saving->is_refused = false;
    saving->description = saving->reason = NULL;
}

static void set_failure(struct saving *saving, const char *why)
{
    char *copy = why ? memory_copy_text(why, strlen(why)) : NULL;
    memory_free(saving->failure);
    saving->failure = copy;
}

void saving_release(struct session *session)
{
    drop(&session->saving);
    set_failure(&session->saving, NULL);
    event_free(session->saving.timer);
}

// --- priority ------------------------------------------------------------------------------------

// A process that saves must not be in the way of what the session does, but one that somebody waits
// for must not starve while all processors are busy.
static int64_t prioritize(const struct saving *saving, pid_t pid, int64_t limit_ms)
{
    if (saving->is_urgent)
        return limit_ms;
    setpriority(PRIO_PROCESS, (id_t)pid, 19);
    return NICE_MS;
}

// Only root may take a low priority back: for others the save begins again.
static void hasten(struct saving *saving)
{
    bool was_urgent = saving->is_urgent;
    saving->is_urgent = true;
    if (was_urgent || !saving->process)
        return;
    int usual = getpriority(PRIO_PROCESS, 0);
    if (setpriority(PRIO_PROCESS, (id_t)saving->process->process.pid, usual) == 0) {
        set_timer(saving, saving->state == SAVE_WRITING ? WRITE_MS : PACK_MS);
        return;
    }
    worker_kill(saving->process);
    drop(saving);
    saving->state = SAVE_NONE;
    set_timer(saving, 0);
}

static bool can_save(const struct session *session)
{
    return session->store && !session->close_requested;
}

bool saving_is_due(const struct session *session)
{
    const struct saving *saving = &session->saving;
    bool has_failed_lately = saving->has_failed && clock_now_ms() < saving->not_before_ms;
    return can_save(session) && session->lineage.current > 0 &&
           saving->saved != session->lineage.current && !has_failed_lately;
}

// --- the next one --------------------------------------------------------------------------------

void saving_note(struct session *session)
{
    struct saving *saving = &session->saving;
    if (!can_save(session) || saving->state != SAVE_NONE ||
        saving->saved == session->lineage.current)
        return;
    int64_t wait = saving->not_before_ms - clock_now_ms();
    set_timer(saving, saving->at_once ? 0 : wait > QUIET_MS ? wait : QUIET_MS);
}

void saving_hurry(struct session *session)
{
    session->saving.at_once = true;
    session->saving.has_failed = false;
    hasten(&session->saving);
    saving_note(session);
}

enum save_outcome saving_request(struct session *session, bool again, const char **ret_reason)
{
    struct saving *saving = &session->saving;
    if (!again)
        set_failure(saving, NULL);
    bool is_saved = !can_save(session) || session->lineage.current <= 0 ||
                    saving->saved == session->lineage.current;
    if (is_saved && saving->state == SAVE_NONE)
        return SAVE_DONE;
    if (saving->failure && saving->state == SAVE_NONE) {
        *ret_reason = saving->failure;
        return SAVE_FAILED;
    }
    saving_hurry(session);
    return SAVE_PENDING;
}

static void finish(struct session *session, bool ok)
{
    struct saving *saving = &session->saving;
    int64_t now = clock_now_ms();
    int64_t took = now - saving->started_ms;
    drop(saving);
    saving->state = SAVE_NONE;
    saving->not_before_ms = now + (ok ? took * PAUSE_FACTOR : RETRY_MS);
    if (ok) {
        saving->saved = saving->number;
        saving->saved_threads = saving->has_threads;
        saving->saved_listening = saving->listening;
        saving->has_failed = false;
        set_failure(saving, NULL);
    }
    evtimer_del(saving->timer);
    if (saving->saved == session->lineage.current)
        saving->at_once = false;
    saving->is_urgent = saving->at_once;
    if (ok || !saving->at_once)
        saving_note(session);
    keeping_on_saved(session);
}

static void fail(struct session *session, const char *why)
{
    struct saving *saving = &session->saving;
    log_info("session %s: not saved: %s", session->name, why);
    bool is_new = !saving->failure || strcmp(saving->failure, why) != 0;
    if (is_new)
        session_notice(session, "the state after evaluation %lld could not be saved: %s",
                       (long long)saving->number, why);
    set_failure(saving, why);
    saving->has_failed = true;
    saving->at_once = false;
    if (saving->process)
        worker_kill(saving->process);
    finish(session, false);
}

// --- WAKING --------------------------------------------------------------------------------------

static void ask(struct session *session, struct worker *source)
{
    struct saving *saving = &session->saving;
    link_free(saving->awaited);
    saving->awaited = link_new(session, true);
    int result =
        saving->awaited ? worker_wake(source, SPAN("{\"as\":\"copy\"}"), saving->awaited) : -errno;
    if (result < 0)
        fail(session, strerror(-result));
    else
        set_timer(saving, WAKE_MS);
}

// No snapshot could be made when the evaluation was over, as where a thread held a lock of the C
// library. It is tried again while the session is idle.
static void want_snapshot(struct session *session)
{
    struct saving *saving = &session->saving;
    if (session->state != STATE_IDLE || session->finalizer.running) {
        set_timer(saving, SNAPSHOT_WAIT_MS);
        return;
    }
    if (++saving->tries > SNAPSHOT_TRIES) {
        saving->number = session->lineage.current;
        saving->tries = 0;
        fail(session, "no snapshot of the state could be made");
        return;
    }
    set_timer(saving, SNAPSHOT_WAIT_MS);
    session_handle(session, &(struct session_event){.kind = EVENT_SNAPSHOT});
}

static void begin(struct session *session)
{
    struct saving *saving = &session->saving;
    struct worker *source = worker_find_snapshot(session, session->lineage.current);
    if (!can_save(session) || (!source && !session->head))
        return;
    if (!source) {
        want_snapshot(session);
        return;
    }
    saving->tries = 0;
    saving->number = source->number;
    saving->started_ms = clock_now_ms();
    saving->core_fd = memfd_create("cadre-image", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    saving->state = SAVE_WAKING;
    saving->source = source;
    if (saving->core_fd < 0)
        fail(session, strerror(errno));
    else
        ask(session, source);
}

// It could not clone itself, or does not answer.
static void waking_on_timer(struct session *session)
{
    struct saving *saving = &session->saving;
    if (++saving->tries > WAKE_TRIES) {
        fail(session, "its snapshot could not be copied");
    } else if (saving->is_refused) {
        saving->is_refused = false;
        ask(session, saving->source);
    } else {
        process_wake(&saving->source->process);
        set_timer(saving, WAKE_MS);
    }
}

static void waking_on_woke(struct session *session, struct link *link,
                           const struct channel_message *message)
{
    struct saving *saving = &session->saving;
    value content;
    if (!session_read_scratch(session, message, &content) ||
        message_pid(content, "pid") != message->sender)
        return;
    struct worker *worker = worker_add_announced(session, message->sender, ROLE_SAVER);
    if (!worker)
        return;  // dead again: the timer ends the wait
    worker->link = link;
    link->worker = worker;
    link_close_pipes(link);
    saving->awaited = NULL;
    saving->source = NULL;
    saving->tries = 0;
    saving->process = worker;
    saving->has_threads = vector_count(map_get(content, "lost_threads")) > 0;
    saving->files = 0;
    saving->description = keeping_describe(session, content);
    saving->state = SAVE_WRITING;
    int64_t limit_ms = prioritize(saving, message->sender, WRITE_MS);
    int result =
        channel_send_descriptors(&link->channel, CHANNEL_SAVE, 1, SPAN("{}"), &saving->core_fd, 1);
    if (result < 0) {
        fail(session, strerror(-result));
        return;
    }
    set_timer(saving, limit_ms);
}

// --- WRITING -------------------------------------------------------------------------------------

static size_t first_line_length(struct span text)
{
    const char *newline = memchr(text.data, '\n', text.length);
    size_t length = newline ? (size_t)(newline - text.data) : text.length;
    return length < REASON_MAX ? length : REASON_MAX;
}

static void writing_on_report(struct session *session, const struct channel_message *message)
{
    struct saving *saving = &session->saving;
    value content;
    if (!session_read_scratch(session, message, &content))
        return;
    struct span reason = map_get_string(content, "failed");
    if (reason.length > 0) {
        memory_free(saving->reason);
        saving->reason = memory_copy_text(reason.data, first_line_length(reason));
        return;
    }
    saving->files = map_get_integer(content, "files", 0);
    saving->listening = (unsigned)map_get_integer(content, "listening", 0);
}

static void fail_with_exit(struct session *session, const struct process_exit *exit)
{
    char text[64] = "its process ended";
    if (exit->known)
        snprintf(text, sizeof(text), "its process ended (%s %d)",
                 exit->signaled ? "signal" : "exit code", exit->code);
    fail(session, session->saving.reason ? session->saving.reason : text);
}

static void writing_on_exit(struct session *session, const struct process_exit *exit)
{
    struct saving *saving = &session->saving;
    saving->process = NULL;
    if (!exit->known || exit->signaled || exit->code != 0) {
        fail_with_exit(session, exit);
        return;
    }
    if (!saving->description) {
        fail(session, "its description is too long");
        return;
    }
    saving->description[strlen(saving->description) - 1] = '\0';  // the brace
    CLEANUP_FREE char *description =
        memory_format("%s,\"files\":%lld}", saving->description, (long long)saving->files);
    const char *const argv[] = {"/proc/self/exe", "image-worker",   "pack",      session->store,
                                session->base,    session->runtime, description, NULL};
    struct link *link = link_new(session, true);
    pid_t pid = 0;
    int result =
        link ? spawn_image_worker(argv, saving->core_fd, link->errors.worker_fd, &pid) : -errno;
    if (result < 0) {
        link_free(link);
        fail(session, strerror(-result));
        return;
    }
    saving->process = worker_add_started(session, pid, ROLE_PACKER, link);
    saving->state = SAVE_PACKING;
    if (!saving->process) {
        fail(session, "no process for it");
        return;
    }
    set_timer(saving, prioritize(saving, pid, PACK_MS));
}

// --- PACKING -------------------------------------------------------------------------------------

static void packing_on_exit(struct session *session, const struct process_exit *exit)
{
    bool ok = exit->known && !exit->signaled && exit->code == IMAGE_DONE;
    session->saving.process = NULL;
    if (ok)
        finish(session, true);
    else
        fail(session, "the image could not be written");
}

// --- events --------------------------------------------------------------------------------------

static void on_timer(evutil_socket_t fd, short what, void *data)
{
    (void)fd;
    (void)what;
    struct session *session = data;
    if (session->saving.state == SAVE_NONE)
        begin(session);
    else if (session->saving.state == SAVE_WAKING)
        waking_on_timer(session);
    else if (!session->saving.is_urgent)
        hasten(&session->saving);
    else
        fail(session, "it took too long");
}

bool saving_on_wake_failed(struct session *session, const struct worker *source)
{
    struct saving *saving = &session->saving;
    if (saving->state != SAVE_WAKING || saving->source != source)
        return false;
    saving->is_refused = true;
    set_timer(saving, REFUSED_WAIT_MS);
    return true;
}

bool saving_owns(const struct session *session, const struct link *link)
{
    return link == session->saving.awaited || (link->worker && link->worker->role == ROLE_SAVER);
}

void saving_on_message(struct session *session, struct link *link,
                       const struct channel_message *message)
{
    if (message->type == CHANNEL_WOKE && session->saving.state == SAVE_WAKING &&
        link == session->saving.awaited)
        waking_on_woke(session, link, message);
    else if (message->type == CHANNEL_SAVING && session->saving.state == SAVE_WRITING &&
             link->worker && message->sender == link->worker->process.pid)
        writing_on_report(session, message);
}

void saving_on_exit(struct session *session, const struct worker *worker,
                    const struct process_exit *exit)
{
    struct saving *saving = &session->saving;
    if (worker == saving->source && saving->state == SAVE_WAKING)
        fail(session, "the snapshot ended");
    else if (worker == saving->process && saving->state == SAVE_WRITING)
        writing_on_exit(session, exit);
    else if (worker == saving->process && saving->state == SAVE_PACKING)
        packing_on_exit(session, exit);
}
