// What a workspace keeps, as records of its journal in the cluster, and back again: a node that becomes
// the owner makes the files on its disk from them.
//
//   {"session":"main","entry":{…}}             a line of the session's journal
//   {"unsaved":"main"}                         images made until now are not its state
//   {"removed":"main"}                         the session is gone
//   {"forked":"b","origin":{"from":"a","last":7}}  its journal begins as that of a, up to 7
//   {"context":"…"}                            a changeset of the context store, base64
//   {"memory":"name","content":{…}}            a memory of programs, whole
//
// That an evaluation has started is not recorded before it has ended: one that was running when its
// owner was lost has no number, as its client has no answer.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/memory.h"
#include "base/private.h"
#include "context/store.h"
#include "daemon/fleet/fleet_internal.h"
#include "session/journal/journal.h"
#include "session/session.h"
#include "value/text/json.h"

enum { RECORD_MAX = 40 << 20, REPLAY_FLUSH = 1 << 20 };

// --- to the cluster ------------------------------------------------------------------------------

static void append(struct fleet_workspace *workspace, struct buffer *record)
{
    if (record->failed)
        fleet_workspace_give_up(workspace, "a record is too large for its journal");
    else
        record_log_append(workspace->log, buffer_span(record));
}

static void append_entry(struct fleet_workspace *workspace, const char *session, struct span line)
{
    CLEANUP_BUFFER struct buffer record;
    buffer_init(&record, RECORD_MAX);
    buffer_append_format(&record, "{\"session\":\"%s\",\"entry\":", session);
    buffer_append_span(&record, line);
    buffer_append_byte(&record, '}');
    append(workspace, &record);
}

static void append_named(struct fleet_workspace *workspace, const char *what, const char *session)
{
    CLEANUP_BUFFER struct buffer record;
    buffer_init(&record, RECORD_MAX);
    buffer_append_format(&record, "{\"%s\":\"%s\"}", what, session);
    append(workspace, &record);
}

static void tell_started(struct fleet_workspace *workspace, struct fleet_session *session)
{
    if (session->started)
        append_entry(workspace, session->name, span_from(session->started));
    memory_free(session->started);
    session->started = NULL;
}

static void tell_entry(struct fleet_workspace *workspace, struct fleet_session *session,
                       struct span line)
{
    tell_started(workspace, session);
    append_entry(workspace, session->name, line);
}

static void tell_fork(struct fleet_workspace *workspace, const char *session, struct span origin)
{
    CLEANUP_BUFFER struct buffer record;
    buffer_init(&record, RECORD_MAX);
    buffer_append_format(&record, "{\"forked\":\"%s\",\"origin\":", session);
    buffer_append_span(&record, origin);
    buffer_append_byte(&record, '}');
    append(workspace, &record);
}

static void on_session(void *data, const char *name, enum ledger_event event, struct span text)
{
    struct fleet_workspace *workspace = data;
    struct fleet_session *session = fleet_session_obtain(workspace, span_from(name));
    if (!session)
        return;
    switch (event) {
    case LEDGER_STARTED:
        tell_started(workspace, session);  // one that was cancelled has a number, too
        session->started = memory_copy_text(text.data, text.length);
        break;
    case LEDGER_ENTRY: tell_entry(workspace, session, text); break;
    case LEDGER_UNSAVED:
        session->wants_upload = false;
        append_named(workspace, "unsaved", name);
        break;
    case LEDGER_SAVED: session->wants_upload = true; break;
    case LEDGER_FORKED: tell_fork(workspace, name, text); break;
    case LEDGER_REMOVED:
        append_named(workspace, "removed", name);
        fleet_session_free(workspace, session);
        break;
    }
}

static void on_context(void *data, struct span changes)
{
    struct fleet_workspace *workspace = data;
    CLEANUP_BUFFER struct buffer record;
    buffer_init(&record, RECORD_MAX);
    buffer_append_text(&record, "{\"context\":\"");
    size_t size = sodium_base64_ENCODED_LEN(changes.length, sodium_base64_VARIANT_ORIGINAL);
    if (buffer_reserve(&record, size)) {
        sodium_bin2base64(record.data + record.length, size, (const unsigned char *)changes.data,
                          changes.length, sodium_base64_VARIANT_ORIGINAL);
        record.length += size - 1;
    }
    buffer_append_text(&record, "\"}");
    append(workspace, &record);
}

static void on_memory(void *data, const char *name, struct span content)
{
    struct fleet_workspace *workspace = data;
    CLEANUP_BUFFER struct buffer record;
    buffer_init(&record, RECORD_MAX);
    buffer_append_format(&record, "{\"memory\":\"%s\",\"content\":", name);
    buffer_append_span(&record, content);
    buffer_append_byte(&record, '}');
    append(workspace, &record);
}

void fleet_records_init(struct fleet_workspace *workspace)
{
    workspace->ledger = (struct ledger){
        .data = workspace, .session = on_session, .context = on_context, .memory = on_memory};
}

// --- from the cluster ----------------------------------------------------------------------------

static void remove_files(const char *directory, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        CLEANUP_FREE char *path = memory_format("%s/%s", directory, names[i]);
        unlink(path);
    }
}

static void remove_journals(const char *store)
{
    static const char *const names[] = {"journal.jsonl", "journal.1.jsonl"};
    DIR *entries = opendir(store);
    for (struct dirent *entry; entries && (entry = readdir(entries));) {
        if (!session_name_valid(span_from(entry->d_name)))
            continue;
        CLEANUP_FREE char *directory = memory_format("%s/%s", store, entry->d_name);
        remove_files(directory, names, 2);
    }
    if (entries)
        closedir(entries);
}

static void remove_memories(const char *home)
{
    CLEANUP_FREE char *directory = memory_format("%s/memories", home);
    DIR *entries = opendir(directory);
    for (struct dirent *entry; entries && (entry = readdir(entries));) {
        CLEANUP_FREE char *path = memory_format("%s/%s", directory, entry->d_name);
        if (strstr(entry->d_name, ".json"))
            unlink(path);
    }
    if (entries)
        closedir(entries);
}

bool fleet_records_begin(struct fleet_workspace *workspace, struct error *error)
{
    static const char *const names[] = {"context.db", "context.db-wal", "context.db-shm"};
    if (!private_make_directory(workspace->store, error))
        return false;
    remove_files(workspace->home, names, 3);
    remove_journals(workspace->store);
    remove_memories(workspace->home);
    CLEANUP_FREE char *path = memory_format("%s/context.db", workspace->home);
    workspace->replayed = context_store_new(path);
    return true;
}

static bool write_lines(struct fleet_workspace *workspace, struct fleet_session *session,
                        struct error *error)
{
    if (session->replay.length == 0)
        return true;
    CLEANUP_FREE char *path = memory_format("%s/%s/journal.jsonl", workspace->store, session->name);
    if (!private_make_parent(path, error))
        return false;
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    ssize_t written = fd < 0 ? -1 : write(fd, session->replay.data, session->replay.length);
    int cause = errno;
    if (fd >= 0)
        close(fd);
    bool ok = written == (ssize_t)session->replay.length;
    buffer_clear(&session->replay);
    return ok || error_set(error, ERROR_SYSTEM, "%s: %s", path, strerror(cause));
}

// The entry is written as it came: its text is between the name and the last brace.
static bool replay_entry(struct fleet_workspace *workspace, struct span record, struct error *error)
{
    static const char beginning[] = "{\"session\":\"", middle[] = "\",\"entry\":";
    struct span rest = {record.data + sizeof(beginning) - 1,
                        record.length - (sizeof(beginning) - 1)};
    const char *end = memmem(rest.data, rest.length, middle, sizeof(middle) - 1);
    if (!end)
        return error_set(error, ERROR_INVALID, "a record is damaged");
    struct fleet_session *session =
        fleet_session_obtain(workspace, (struct span){rest.data, (size_t)(end - rest.data)});
    if (!session)
        return error_set(error, ERROR_INVALID, "a record names no session");
    const char *entry = end + sizeof(middle) - 1;
    buffer_append(&session->replay, entry, (size_t)(record.data + record.length - 1 - entry));
    buffer_append_byte(&session->replay, '\n');
    return session->replay.length < REPLAY_FLUSH || write_lines(workspace, session, error);
}

static bool replay_context(struct fleet_workspace *workspace, struct span text, struct error *error)
{
    struct context_error failure;
    size_t length = 0;
    CLEANUP_FREE char *bytes = memory_alloc(text.length + 1);
    if (sodium_base642bin((unsigned char *)bytes, text.length + 1, text.data, text.length, NULL,
                          &length, NULL, sodium_base64_VARIANT_ORIGINAL) != 0)
        return error_set(error, ERROR_INVALID, "a change of its context store is damaged");
    return context_store_apply(workspace->replayed, (struct span){bytes, length}, &failure) ||
           error_set(error, ERROR_SYSTEM, "its context store: %s", failure.message);
}

static void replay_memory(struct fleet_workspace *workspace, struct region *region, value map)
{
    struct span name = map_get_string(map, "memory");
    struct fleet_memory *memory;
    (void)region;
    TAILQ_FOREACH (memory, &workspace->memories, link)
        if (span_equal_text(name, memory->name))
            break;
    if (!memory) {
        memory = memory_alloc_zero(sizeof(*memory));
        memory->name = memory_copy_text(name.data, name.length);
        TAILQ_INSERT_TAIL(&workspace->memories, memory, link);
    }
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, RECORD_MAX);
    json_write(&text, map_get(map, "content"), 0, NULL);
    memory_free(memory->content);
    memory->content = memory_copy_text(text.data, text.length);
}

static bool replay_fork(struct fleet_workspace *workspace, struct fleet_session *session, value map,
                        struct error *error)
{
    value origin = map_get(map, "origin");
    struct fleet_session *from = fleet_session_obtain(workspace, map_get_string(origin, "from"));
    if (!from)
        return error_set(error, ERROR_INVALID, "a record names no session");
    if (!write_lines(workspace, from, error) || !write_lines(workspace, session, error))
        return false;
    CLEANUP_FREE char *source = memory_format("%s/%s", workspace->store, from->name);
    CLEANUP_FREE char *target = memory_format("%s/%s", workspace->store, session->name);
    const struct journal journal = {.directory = target, .fd = -1};
    return journal_begin_as_copy(&journal, source, map_get_integer(origin, "last", -1)) ||
           error_set(error, ERROR_SYSTEM, "%s: %s", target, strerror(errno));
}

static void replay_removal(struct fleet_workspace *workspace, struct fleet_session *session)
{
    static const char *const names[] = {"journal.jsonl"};
    CLEANUP_FREE char *directory = memory_format("%s/%s", workspace->store, session->name);
    remove_files(directory, names, 1);
    fleet_session_free(workspace, session);
}

static bool replay_map(struct fleet_workspace *workspace, struct region *region, value map,
                       uint64_t sequence, struct error *error)
{
    struct span context = map_get_string(map, "context");
    if (context.length > 0)
        return replay_context(workspace, context, error);
    if (session_name_valid(map_get_string(map, "memory"))) {
        replay_memory(workspace, region, map);
        return true;
    }
    static const char *const names[] = {"unsaved", "removed", "forked"};
    for (size_t i = 0; i < 3; i++) {
        struct fleet_session *session =
            map_get_string(map, names[i]).length > 0
                ? fleet_session_obtain(workspace, map_get_string(map, names[i]))
                : NULL;
        if (!session)
            continue;
        if (i == 0)
            session->unsaved = sequence;
        else if (i == 1)
            replay_removal(workspace, session);
        else
            return replay_fork(workspace, session, map, error);
        return true;
    }
    return error_set(error, ERROR_INVALID, "a record of its journal is of another version");
}

bool fleet_records_replay(struct fleet_workspace *workspace, struct span record, uint64_t sequence,
                          struct error *error)
{
    if (span_starts_with(record, SPAN("{\"session\":\"")))
        return replay_entry(workspace, record, error);
    value map;
    struct region *region = region_new(SIZE_MAX);
    bool ok = json_read(region, record, NULL, &map, error) && value_is_map(map) &&
              replay_map(workspace, region, map, sequence, error);
    region_free(region);
    return ok;
}

static bool write_memory(const struct fleet_workspace *workspace, const struct fleet_memory *memory,
                         struct error *error)
{
    CLEANUP_FREE char *path = memory_format("%s/memories/%s.json", workspace->home, memory->name);
    size_t length = strlen(memory->content);
    if (!private_make_parent(path, error))
        return false;
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    bool ok = fd >= 0 && descriptor_write(fd, memory->content, length);
    int cause = errno;
    if (fd >= 0)
        close(fd);
    return ok || error_set(error, ERROR_SYSTEM, "%s: %s", path, strerror(cause));
}

bool fleet_records_end(struct fleet_workspace *workspace, struct error *error)
{
    struct fleet_session *session;
    struct fleet_memory *memory;
    context_store_free(workspace->replayed);
    workspace->replayed = NULL;
    TAILQ_FOREACH (session, &workspace->sessions, link) {
        if (!write_lines(workspace, session, error))
            return false;
        buffer_release(&session->replay);
    }
    TAILQ_FOREACH (memory, &workspace->memories, link)
        if (!write_memory(workspace, memory, error))
            return false;
    return true;
}
