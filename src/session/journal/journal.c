#include "session/journal/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/private.h"
#include "base/utf8.h"
#include "value/text/json.h"

enum { OUTCOME_MAX = 400, LINE_MAX_BYTES = 16 << 20 };

void journal_init(struct journal *journal, const char *directory)
{
    *journal = (struct journal){.directory = memory_copy_string(directory), .fd = -1};
}

void journal_release(struct journal *journal)
{
    if (journal->fd >= 0)
        close(journal->fd);
    memory_free(journal->directory);
    *journal = (struct journal){.fd = -1};
}

// --- the file ------------------------------------------------------------------------------------

static char *file_path(const struct journal *journal, const char *name)
{
    return memory_format("%s/%s", journal->directory, name);
}

// A crash may have torn the last line: what follows begins a new one.
static bool end_last_line(struct journal *journal)
{
    char last;
    if (journal->size == 0 || pread(journal->fd, &last, 1, journal->size - 1) != 1 || last == '\n')
        return true;
    if (write(journal->fd, "\n", 1) != 1)
        return false;
    journal->size++;
    return true;
}

static bool open_file(struct journal *journal)
{
    struct stat status;
    struct error error;
    if (journal->fd >= 0)
        return true;
    CLEANUP_FREE char *path = file_path(journal, "journal.jsonl");
    if (!private_make_parent(path, &error))
        return false;
    journal->fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (journal->fd < 0 || fstat(journal->fd, &status) < 0)
        return false;
    journal->size = status.st_size;
    return end_last_line(journal);
}

static void rotate(struct journal *journal)
{
    CLEANUP_FREE char *path = file_path(journal, "journal.jsonl");
    CLEANUP_FREE char *older = file_path(journal, "journal.1.jsonl");
    if (rename(path, older) < 0)
        return;  // it grows on, and is tried again with the next entry
    close(journal->fd);
    journal->fd = -1;
}

// A line that does not fit on the disk leaves nothing behind.
static bool append(struct journal *journal, struct span line)
{
    if (journal->fd >= 0 && journal->size + (int64_t)line.length > JOURNAL_MAX)
        rotate(journal);
    if (!open_file(journal))
        return false;
    ssize_t written = write(journal->fd, line.data, line.length);
    if (written == (ssize_t)line.length) {
        journal->size += written;
        journal->dirty = true;
        return true;
    }
    int cause = written < 0 ? errno : ENOSPC;
    if (written > 0 && ftruncate(journal->fd, journal->size) < 0) {
        close(journal->fd);
        journal->fd = -1;
    }
    errno = cause;
    return false;
}

static void tell(const struct journal *journal, enum ledger_event event, const struct buffer *line)
{
    if (!journal->ledger || line->failed)
        return;
    const struct span text = {line->data, line->length - 1};  // without its end
    journal->ledger->session(journal->ledger->data, journal->session, event, text);
}

static bool append_entry(struct journal *journal, enum ledger_event event, struct buffer *line)
{
    buffer_append_text(line, "}\n");
    tell(journal, event, line);
    bool was_failed = journal->failed;
    errno = EFBIG;
    journal->failed = line->failed || !append(journal, buffer_span(line));
    return !journal->failed || was_failed;
}

// --- entries -------------------------------------------------------------------------------------

static void begin(struct buffer *line, int64_t evaluation, const char *event)
{
    buffer_init(line, LINE_MAX_BYTES);
    buffer_append_format(line, "{\"evaluation\":%" PRId64 ",\"event\":\"%s\",\"time\":%" PRId64,
                         evaluation, event, clock_unix_seconds());
}

bool journal_started(struct journal *journal, const struct journal_entry *entry)
{
    CLEANUP_BUFFER struct buffer line;
    begin(&line, entry->evaluation, "started");
    buffer_append_format(&line, ",\"parent\":%" PRId64 ",\"client\":", entry->parent);
    json_write_string(&line, span_from(entry->client ? entry->client : ""));
    buffer_append_text(&line, ",\"package\":");
    json_write_string(&line, entry->package);
    buffer_append_text(&line, ",\"request\":");
    buffer_append_span(&line, entry->request);
    return append_entry(journal, LEDGER_STARTED, &line);
}

bool journal_completed(struct journal *journal, int64_t evaluation, bool ok, struct span outcome,
                       int64_t elapsed_us)
{
    CLEANUP_BUFFER struct buffer line;
    begin(&line, evaluation, "completed");
    buffer_append_format(&line, ",\"ok\":%s,\"us\":%" PRId64 ",\"outcome\":", ok ? "true" : "false",
                         elapsed_us);
    outcome.length = utf8_offset(outcome.data, outcome.length, OUTCOME_MAX);
    json_write_string(&line, outcome);
    return append_entry(journal, LEDGER_ENTRY, &line);
}

bool journal_moved(struct journal *journal, const char *event, int64_t evaluation)
{
    CLEANUP_BUFFER struct buffer line;
    begin(&line, evaluation, event);
    return append_entry(journal, LEDGER_ENTRY, &line);
}

int journal_take_sync(struct journal *journal)
{
    if (!journal->dirty || journal->fd < 0)
        return -1;
    journal->dirty = false;
    return fcntl(journal->fd, F_DUPFD_CLOEXEC, 3);
}
