// The journal of a session that begins with the state of another one: what that state is made of.
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/descriptor.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/private.h"
#include "session/journal/journal.h"

static const char *const names[] = {"journal.1.jsonl", "journal.jsonl"};

// Every line begins with its number.
static bool is_wanted(struct span line, int64_t last)
{
    static const char beginning[] = "{\"evaluation\":";
    size_t length = sizeof(beginning) - 1;
    return line.length > length && memcmp(line.data, beginning, length) == 0 &&
           strtoll(line.data + length, NULL, 10) <= last;
}

static void collect(const struct buffer *text, int64_t last, struct buffer *lines)
{
    for (size_t at = 0; at < text->length;) {
        const char *newline = memchr(text->data + at, '\n', text->length - at);
        if (!newline)
            return;  // torn, or being written
        struct span line = {text->data + at, (size_t)(newline + 1 - text->data) - at};
        if (is_wanted(line, last))
            buffer_append_span(lines, line);
        at += line.length;
    }
}

static bool read_lines(const char *directory, const char *name, int64_t last, struct buffer *lines)
{
    CLEANUP_FREE char *path = memory_format("%s/%s", directory, name);
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, 2 * (size_t)JOURNAL_MAX);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return errno == ENOENT;
    int failed = buffer_append_descriptor(&text, fd);
    close(fd);
    errno = EIO;
    collect(&text, last, lines);
    return failed == 0 && !lines->failed;
}

static bool write_file(const char *directory, const char *name, const struct buffer *lines)
{
    CLEANUP_FREE char *path = memory_format("%s/%s", directory, name);
    struct error error;
    if (lines->length == 0)
        return true;
    if (!private_make_parent(path, &error))
        return false;
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return false;
    errno = ENOSPC;
    bool ok = descriptor_write(fd, lines->data, lines->length);
    int cause = errno;
    ok = close(fd) == 0 && ok;
    errno = cause;
    return ok;
}

bool journal_begin_as_copy(const struct journal *journal, const char *directory, int64_t last)
{
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        CLEANUP_BUFFER struct buffer lines;
        buffer_init(&lines, 2 * (size_t)JOURNAL_MAX);
        if (!read_lines(directory, names[i], last, &lines) ||
            !write_file(journal->directory, names[i], &lines))
            return false;
    }
    return true;
}
