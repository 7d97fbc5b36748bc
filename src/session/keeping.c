#include "session/keeping.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/ledger.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "process/background.h"
#include "session/image/image_file.h"
#include "session/journal/journal_export.h"
#include "session/session_internal.h"
#include "session/state/actions.h"
#include "value/text/json.h"

enum { SESSIONS_MAX = 1000, ENTRIES_SHOWN = 5 };

// --- the directory -------------------------------------------------------------------------------

void keeping_load(struct session_manager *manager)
{
    DIR *entries = manager->store ? opendir(manager->store) : NULL;
    struct dirent *entry;
    for (int i = 0; i < SESSIONS_MAX && entries && (entry = readdir(entries)); i++)
        if (session_name_valid(span_from(entry->d_name)) && !manager_knows(manager, entry->d_name))
            manager_add(manager, entry->d_name);
    if (entries)
        closedir(entries);
}

// The records of errors come with the newest image, before the session is restored.
static void read_errors(struct session *session)
{
    CLEANUP_FREE char *image = memory_format("%s/" IMAGE_FILE, session->store);
    struct region *region = region_new(SIZE_MAX);
    value description;
    if (image_describe(region, image, &description))
        error_history_read(&session->history, map_get(description, "errors"));
    region_free(region);
}

void keeping_open(struct session *session)
{
    const struct session_manager *manager = session->manager;
    if (!manager->store)
        return;
    session->store = memory_format("%s/%s", manager->store, session->name);
    journal_init(&session->journal, session->store);
    session->journal.ledger = manager->config.ledger;
    session->journal.session = session->name;
    session->lineage.evaluations = journal_last_evaluation(session->store);
    read_errors(session);
    session->restore.from_journal = manager->config.ledger && session->lineage.evaluations > 0;
}

void keeping_close(struct session *session)
{
    if (!session->store)
        return;
    journal_release(&session->journal);
    memory_free(session->store);
    session->store = NULL;
}

static void tell(const struct session *session, enum ledger_event event, const char *text)
{
    const struct ledger *ledger = session->manager->config.ledger;
    if (ledger && session->store)
        ledger->session(ledger->data, session->name, event, span_from(text));
}

void keeping_remove(const struct session *session)
{
    tell(session, LEDGER_REMOVED, "");
    static const char *const names[] = {IMAGE_FILE,   IMAGE_PREVIOUS,  "image.new",
                                        "image.json", "journal.jsonl", "journal.1.jsonl"};
    for (size_t i = 0; session->store && i < COUNT_OF(names); i++) {
        CLEANUP_FREE char *path = memory_format("%s/%s", session->store, names[i]);
        unlink(path);
    }
    if (session->store)
        rmdir(session->store);
}

void keeping_drop_images(struct session *session)
{
    static const char *const names[] = {IMAGE_FILE, IMAGE_PREVIOUS, "image.json"};
    for (size_t i = 0; session->store && i < COUNT_OF(names); i++) {
        CLEANUP_FREE char *path = memory_format("%s/%s", session->store, names[i]);
        unlink(path);
    }
    session->saving.saved = -1;
    tell(session, LEDGER_UNSAVED, "");
}

// --- the journal ---------------------------------------------------------------------------------

static void told_once(struct session *session, bool ok)
{
    if (!ok)
        session_notice(session, "the journal of the session cannot be written: %s",
                       strerror(errno));
}

static bool is_kept(const struct session *session)
{
    return session->store && !session->manager->config.no_journal;
}

void keeping_started(struct session *session, const struct job *job)
{
    if (!is_kept(session) || job->number == 0)
        return;
    CLEANUP_BUFFER struct buffer request;
    buffer_init(&request, SESSION_REQUEST_MAX + 16);
    buffer_append_span(&request, buffer_span(&job->request));
    buffer_append_byte(&request, '}');
    const struct journal_entry entry = {
        .evaluation = job->number,
        .parent = session->lineage.current,
        .client = job->client,
        .package = map_get_string(session->agent.state, "package"),
        .request = buffer_span(&request),
    };
    told_once(session, journal_started(&session->journal, &entry));
}

static void append_outcome(struct buffer *text, const struct job *job, value error)
{
    if (value_is_map(error)) {
        struct span type = map_get_string(error, "type");
        struct span message = map_get_string(error, "message");
        buffer_append_span(text, type);
        buffer_append_text(text, ": ");
        buffer_append_span(text, message);
        return;
    }
    value values = map_get(job->result, "values");
    for (size_t i = 0; value_is_vector(values) && i < vector_count(values); i++) {
        buffer_append_text(text, i == 0 ? "=> " : "\n=> ");
        buffer_append_span(text, value_text(vector_at(values, i)));
    }
}

void keeping_completed(struct session *session, const struct job *job, bool ok, value error)
{
    if (job->kind == SESSION_ROLLBACK || job->kind == SESSION_RESET)
        keeping_moved(session, job->kind == SESSION_RESET ? "reset" : "rollback");
    if (job->number == 0)
        return;
    struct evaluator *by = &session->evaluators[job->number % SESSION_LABELS];
    *by = (struct evaluator){.number = job->number, .client = job->client_id};
    snprintf(by->name, sizeof(by->name), "%s", job->client ? job->client : "");
    if (!is_kept(session))
        return;
    CLEANUP_BUFFER struct buffer outcome;
    buffer_init(&outcome, BUFFER_DEFAULT_LIMIT);
    append_outcome(&outcome, job, error);
    int64_t elapsed_us = (clock_now_ns() - job->started_ns) / 1000;
    told_once(session, journal_completed(&session->journal, job->number, ok, buffer_span(&outcome),
                                         elapsed_us));
}

void keeping_moved(struct session *session, const char *event)
{
    if (is_kept(session))
        told_once(session, journal_moved(&session->journal, event, session->lineage.current));
}

// The definitions are one entry, as if they had been evaluated: the numbers of the other journal
// mean something else here.
static void adopt_definitions(struct session *session, const struct session *from,
                              const struct job *job)
{
    CLEANUP_BUFFER struct buffer code, request;
    value skipped;
    buffer_init(&code, SESSION_REQUEST_MAX / 2);
    buffer_init(&request, SESSION_REQUEST_MAX);
    struct region *region = region_new(SIZE_MAX);
    export_definitions(&code, region, journal_read(region, from->store, JOURNAL_MAX),
                       job->fork_number, false, &skipped);
    region_free(region);
    buffer_append_format(&request,
                         "{\"op\":\"adopt-session\",\"from\":\"%s\",\"code\":", from->name);
    json_write_string(&request, code.failed ? SPAN("") : buffer_span(&code));
    buffer_append_byte(&request, '}');
    const struct journal_entry entry = {
        .evaluation = job->number,
        .client = job->client,
        .package = SPAN("COMMON-LISP-USER"),
        .request = buffer_span(&request),
    };
    told_once(session, journal_started(&session->journal, &entry));
}

void keeping_became(struct session *session, const struct session *from, const struct job *job)
{
    if (!is_kept(session) || !from->store)
        return;
    if (job->kind == SESSION_ADOPT) {
        adopt_definitions(session, from, job);
        return;
    }
    CLEANUP_FREE char *origin =
        memory_format("{\"from\":\"%s\",\"last\":%" PRId64 "}", from->name, job->fork_number);
    told_once(session, journal_begin_as_copy(&session->journal, from->store, job->fork_number));
    tell(session, LEDGER_FORKED, origin);
    keeping_moved(session, "forked");
}

static void append_code(struct buffer *text, value entry)
{
    enum { CODE_SHOWN = 60 };
    value request = map_get(entry, "request");
    struct span code = map_get_string(request, "code");
    if (code.length == 0)
        code = map_get_string(request, "op");
    const char *newline = memchr(code.data, '\n', code.length);
    size_t length = newline ? (size_t)(newline - code.data) : code.length;
    bool is_cut = length > CODE_SHOWN || length < code.length;
    if (length > CODE_SHOWN)
        length = utf8_cut(code.data, CODE_SHOWN);
    buffer_append_format(text, " %.*s%s", (int)length, code.data, is_cut ? "…" : "");
}

void keeping_append_entries(value entries, struct buffer *text)
{
    size_t count = vector_count(entries);
    for (size_t i = 0; i < count && i < ENTRIES_SHOWN; i++) {
        value entry = vector_at(entries, i);
        buffer_append_format(text, "%s %" PRId64, i > 0 ? "," : "",
                             map_get_integer(entry, "evaluation", 0));
        append_code(text, entry);
    }
    if (count > ENTRIES_SHOWN)
        buffer_append_format(text, " and %zu more", count - ENTRIES_SHOWN);
}

void keeping_append_later(struct session *session, int64_t number, struct buffer *text)
{
    if (!session->store)
        return;
    struct region *region = region_new(SIZE_MAX);
    value entries = journal_read(region, session->store, JOURNAL_TAIL);
    value later = vector_new(region, 0);
    for (size_t i = 0; i < vector_count(entries); i++) {
        value entry = vector_at(entries, i);
        if (map_get_integer(entry, "evaluation", 0) > number &&
            span_equal_text(map_get_string(entry, "event"), "started"))
            later = vector_push(region, later, value_retain(entry));
    }
    if (vector_count(later) > 0)
        buffer_append_text(text, "; evaluations that came after it and are not part of it:");
    keeping_append_entries(later, text);
    region_free(region);
}

// --- who was here --------------------------------------------------------------------------------

static struct visitor *find_visitor(struct session *session, uint64_t client)
{
    struct visitor *oldest = &session->visitors[0];
    for (size_t i = 0; i < SESSION_VISITORS; i++) {
        struct visitor *visitor = &session->visitors[i];
        if (visitor->client == client)
            return visitor;
        if (visitor->seen < oldest->seen)
            oldest = visitor;
    }
    *oldest = (struct visitor){.client = client, .seen = -1};
    return oldest;
}

// Evaluations whose number the client has not seen, and that were not its own.
void keeping_notice_others(struct session *session, const struct job *job)
{
    if (job->client_id == 0 || job->internal)
        return;
    struct visitor *visitor = find_visitor(session, job->client_id);
    int64_t last = session->lineage.evaluations, first = visitor->seen + 1;
    bool is_new = visitor->seen < 0;
    visitor->seen = last;
    if (is_new)
        return;
    if (first <= last - SESSION_LABELS)
        first = last - SESSION_LABELS + 1;
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, BUFFER_DEFAULT_LIMIT);
    for (int64_t number = first > 1 ? first : 1; number <= last; number++) {
        const struct evaluator *by = &session->evaluators[number % SESSION_LABELS];
        if (by->number != number || by->client == job->client_id || number == job->number)
            continue;
        buffer_append_format(&text, "%s%" PRId64 " by %s", text.length ? ", " : "", number,
                             by->name[0] ? by->name : "another client");
    }
    if (text.length > 0)
        session_notice(session, "since your last call: evaluation%s %s",
                       memchr(text.data, ',', text.length) ? "s" : "", buffer_text(&text));
}

// --- images --------------------------------------------------------------------------------------

char *keeping_describe(const struct session *session, value woke)
{
    struct region *region = region_new(SIZE_MAX);
    unsigned char id[8] = {0};
    char text[17];
    if (getrandom(id, sizeof(id), 0) != sizeof(id))
        log_warning("no random number for an image");
    for (size_t i = 0; i < sizeof(id); i++)
        snprintf(text + 2 * i, 3, "%02x", id[i]);
    value map = map_put_text(region, map_new(region), "format", value_integer(IMAGE_FORMAT));
    map = map_put_text(region, map, "id", value_string_text(region, text));
    map = map_put_text(region, map, "session", value_string_text(region, session->name));
    map = map_put_text(region, map, "evaluation", value_integer(session->saving.number));
    map = map_put_text(region, map, "saved", value_integer(clock_unix_seconds()));
    map = map_put_text(region, map, "sbcl",
                       value_copy(region, map_get(session->agent.hello, "sbcl")));
    map = map_put_text(region, map, "protocol",
                       value_copy(region, map_get(session->agent.hello, "protocol")));
    map = map_put_text(region, map, "heap_mb", value_integer(session->manager->config.heap_mb));
    value threads = map_get(woke, "lost_threads");
    map = map_put_text(region, map, "threads",
                       value_is_vector(threads) ? value_copy(region, threads)
                                                : vector_new(region, 0));
    value systems = vector_new(region, 0);
    for (size_t i = 0; i < session->systems.count; i++)
        systems = vector_push(region, systems,
                              value_string_format(region, "%s", session->systems.names[i]));
    map = map_put_text(region, map, "systems", systems);
    map = map_put_text(region, map, "errors", error_history_write(&session->history, region));
    CLEANUP_BUFFER struct buffer json;
    buffer_init(&json, IMAGE_HEADER_MAX);
    json_write(&json, map, 0, NULL);
    region_free(region);
    return json.failed ? NULL : memory_copy_text(json.data, json.length);
}

static bool can_rest(struct session *session)
{
    const struct saving *saving = &session->saving;
    return session->state == STATE_IDLE && !session->job && !session->queue.first &&
           saving->state == SAVE_NONE && saving->saved == session->lineage.current &&
           !saving->saved_threads && saving->saved_listening == 0 &&
           session_count_children(session) == 0;
}

static void rest(struct session *session)
{
    session_handle(session, &(struct session_event){.kind = EVENT_REST});
}

void keeping_on_saved(struct session *session)
{
    if (!session->saving.has_failed)
        tell(session, LEDGER_SAVED, session->store);
    if (session->wants_rest && can_rest(session))
        rest(session);
}

// --- now and then --------------------------------------------------------------------------------

static void sync_one(void *data)
{
    int fd = (int)(intptr_t)data;
    fdatasync(fd);
    close(fd);
}

static void sync_done(void *data)
{
    (void)data;
}

static void sync_journal(struct session_manager *manager, struct session *session)
{
    int fd = journal_take_sync(&session->journal);
    if (fd < 0)
        return;
    void *data = (void *)(intptr_t)fd;
    if (background_submit(manager->background, sync_one, sync_done, data) < 0) {
        session->journal.dirty = true;
        close(fd);
    }
}

// A session that is idle for long, or the least recently used one while all use too much memory.
static void hibernate(struct session *session)
{
    session->wants_rest = true;
    if (saving_is_due(session))
        saving_hurry(session);
    else if (can_rest(session))
        rest(session);
}

static bool is_live(const struct session *session)
{
    return session->state == STATE_IDLE && !session->job && !session->queue.first;
}

// The one whose memory was read longest ago.
static struct worker *next_to_measure(const struct session_manager *manager)
{
    struct worker *next = NULL;
    for (struct session *session = manager->sessions; session; session = session->next)
        for (struct worker *worker = session->workers; worker; worker = worker->next)
            if (!next || worker->measured_ms < next->measured_ms)
                next = worker;
    return next;
}

// In turn, because reading the memory of a large heap keeps the loop for 36 ms.
static void measure_some(const struct session_manager *manager, int64_t now)
{
    enum { TURN_MS = 1 };
    struct worker *worker;
    while ((worker = next_to_measure(manager)) && worker->measured_ms < now &&
           clock_now_ms() <= now + TURN_MS) {
        worker->measured_ms = now;
        worker->pss_kb = worker_memory_kb(worker);
    }
}

uint64_t session_memory_kb(const struct session_manager *manager)
{
    uint64_t total_kb = 0;
    for (const struct session *session = manager->sessions; session; session = session->next)
        for (const struct worker *worker = session->workers; worker; worker = worker->next)
            if (worker->role != ROLE_SAVER && worker->role != ROLE_PACKER)
                total_kb += worker->pss_kb;
    return total_kb;
}

static struct session *least_recently_used(const struct session_manager *manager)
{
    struct session *oldest = NULL;
    for (struct session *session = manager->sessions; session; session = session->next)
        if (session->store && is_live(session) && !session->wants_rest &&
            (!oldest || session->used_ms < oldest->used_ms))
            oldest = session;
    return oldest;
}

int64_t session_least_use_ms(const struct session_manager *manager)
{
    const struct session *oldest = least_recently_used(manager);
    return oldest ? oldest->used_ms : INT64_MAX;
}

void session_hibernate(struct session_manager *manager)
{
    struct session *oldest = least_recently_used(manager);
    if (oldest)
        hibernate(oldest);
}

bool session_is_hibernating(const struct session_manager *manager)
{
    for (const struct session *session = manager->sessions; session; session = session->next)
        if (session->wants_rest && (session->saving.state != SAVE_NONE || session->saving.at_once))
            return true;
    return false;
}

void keeping_tick(struct session_manager *manager)
{
    int64_t now = clock_now_ms();
    for (struct session *session = manager->sessions; session; session = session->next) {
        if (!session->store)
            continue;
        sync_journal(manager, session);
        if (is_live(session) && now - session->used_ms >= manager->config.hibernate_s * 1000)
            hibernate(session);
    }
    measure_some(manager, now);
}
