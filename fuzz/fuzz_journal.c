// The journal of a session, as it lies on disk: reading it, what is exported from it, and the
// journal of a fork that begins with it. Input: the file.
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/buffer.h"
#include "base/memory.h"
#include "fuzz.h"
#include "session/journal/journal.h"
#include "session/journal/journal_export.h"

static char directory[] = "/tmp/cadre-fuzz-journal-XXXXXX";

static void remove_directory(void)
{
    static const char *const names[] = {"journal.jsonl", "fork/journal.jsonl", "fork"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        CLEANUP_FREE char *path = memory_format("%s/%s", directory, names[i]);
        if (unlink(path) < 0)
            rmdir(path);
    }
    rmdir(directory);
}

static void write_journal(const uint8_t *data, size_t size)
{
    CLEANUP_FREE char *path = memory_format("%s/journal.jsonl", directory);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    CHECK(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    close(fd);
}

static void export_all(struct region *region, value entries)
{
    CLEANUP_BUFFER struct buffer lisp, transcript, code;
    value skipped;
    buffer_init(&lisp, 64 << 20);
    buffer_init(&transcript, 64 << 20);
    buffer_init(&code, 64 << 20);
    export_lisp(&lisp, "fuzz", entries);
    export_transcript(&transcript, "fuzz", entries);
    export_definitions(&code, region, entries, -1, true, &skipped);
    CHECK(vector_count(skipped) <= vector_count(entries));
}

// All its lines are there, and it can be read as the other one.
static void fork_journal(size_t count)
{
    CLEANUP_FREE char *path = memory_format("%s/fork", directory);
    struct journal journal;
    journal_init(&journal, path);
    CHECK(journal_begin_as_copy(&journal, directory, INT64_MAX));
    struct region *region = region_new(SIZE_MAX);
    CHECK(vector_count(journal_read(region, path, JOURNAL_MAX)) <= count);
    region_free(region);
    journal_release(&journal);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool is_made;
    if (!is_made) {
        CHECK(mkdtemp(directory));
        atexit(remove_directory);
        is_made = true;
    }
    if (size > JOURNAL_TAIL)
        return 0;
    write_journal(data, size);
    struct region *region = region_new(SIZE_MAX);
    value entries = journal_read(region, directory, JOURNAL_MAX);
    int64_t last = journal_last_evaluation(directory);
    for (size_t i = 0; i < vector_count(entries); i++)
        CHECK(map_get_integer(vector_at(entries, i), "evaluation", 0) <= last || last == 0);
    export_all(region, entries);
    fork_journal(vector_count(entries));
    region_free(region);
    return 0;
}
