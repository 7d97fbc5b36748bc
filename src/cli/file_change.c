#include "cli/file_change.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/path.h"

enum { FILE_LIMIT = 64 << 20, CONTEXT_LINES = 3, BACKUPS_MAX = 100 };

bool file_change_read(const char *path, struct buffer *ret_text, bool *ret_exists,
                      struct error *error)
{
    buffer_init(ret_text, FILE_LIMIT);
    *ret_exists = false;
    int descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0 && errno == ENOENT)
        return true;
    if (descriptor < 0)
        return error_set(error, ERROR_SYSTEM, "cannot read %s: %s", path, strerror(errno));
    *ret_exists = true;
    int failed = buffer_append_descriptor(ret_text, descriptor);
    close(descriptor);
    if (failed == 0 && !ret_text->failed)
        return true;
    return error_set(error, ERROR_SYSTEM, "cannot read %s: %s", path,
                     failed < 0 ? strerror(-failed) : "too large");
}

// --- showing -------------------------------------------------------------------------------------

static size_t line_length(struct span text, size_t at)
{
    const char *end = memchr(text.data + at, '\n', text.length - at);
    return end ? (size_t)(end - text.data) - at + 1 : text.length - at;
}

// Bytes of whole lines with which both begin.
static size_t common_start(struct span a, struct span b)
{
    size_t at = 0;
    while (at < a.length && at < b.length) {
        size_t length = line_length(a, at);
        if (length != line_length(b, at) || memcmp(a.data + at, b.data + at, length) != 0)
            break;
        at += length;
    }
    return at;
}

static size_t last_line_length(struct span text)
{
    size_t length = 1;
    while (length < text.length && text.data[text.length - length - 1] != '\n')
        length++;
    return text.length ? length : 0;
}

static size_t common_end(struct span a, struct span b)
{
    size_t taken = 0;
    while (a.length > 0 && b.length > 0) {
        size_t length = last_line_length(a);
        if (length != last_line_length(b) ||
            memcmp(a.data + a.length - length, b.data + b.length - length, length) != 0)
            break;
        a.length -= length;
        b.length -= length;
        taken += length;
    }
    return taken;
}

static void print_lines(FILE *out, char mark, struct span text)
{
    for (size_t at = 0; at < text.length;) {
        size_t length = line_length(text, at);
        bool ended = text.data[at + length - 1] == '\n';
        fprintf(out, "%c %.*s\n", mark, (int)(length - ended), text.data + at);
        at += length;
    }
}

// The last lines of a text.
static struct span last_lines(struct span text, unsigned count)
{
    struct span rest = text;
    for (unsigned i = 0; i < count; i++)
        rest.length -= last_line_length(rest);
    return (struct span){text.data + rest.length, text.length - rest.length};
}

static struct span first_lines(struct span text, unsigned count)
{
    size_t at = 0;
    for (unsigned i = 0; i < count && at < text.length; i++)
        at += line_length(text, at);
    return (struct span){text.data, at};
}

void file_change_print(FILE *out, const char *path, struct span old_text, struct span new_text)
{
    size_t start = common_start(old_text, new_text);
    struct span old_rest = {old_text.data + start, old_text.length - start};
    struct span new_rest = {new_text.data + start, new_text.length - start};
    size_t end = common_end(old_rest, new_rest);
    fprintf(out, "%s\n", path);
    print_lines(out, ' ', last_lines((struct span){old_text.data, start}, CONTEXT_LINES));
    print_lines(out, '-', (struct span){old_rest.data, old_rest.length - end});
    print_lines(out, '+', (struct span){new_rest.data, new_rest.length - end});
    print_lines(
        out, ' ',
        first_lines((struct span){old_rest.data + old_rest.length - end, end}, CONTEXT_LINES));
}

// --- writing -------------------------------------------------------------------------------------

static bool write_new(const char *path, struct span text, unsigned mode)
{
    int descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (descriptor < 0)
        return false;
    bool ok = true;
    for (size_t done = 0; ok && done < text.length;) {
        ssize_t written = write(descriptor, text.data + done, text.length - done);
        ok = written > 0 || (written < 0 && errno == EINTR);
        done += written > 0 ? (size_t)written : 0;
    }
    ok = ok && fchmod(descriptor, mode & 0777) == 0 && fsync(descriptor) == 0;
    int cause = errno;
    close(descriptor);
    if (!ok)
        unlink(path);
    errno = cause;
    return ok;
}

// A copy beside the file, with a name of its own.
static char *make_backup(const char *path, struct span text, unsigned mode, struct error *error)
{
    char stamp[32];
    time_t now = time(NULL);
    struct tm calendar;
    localtime_r(&now, &calendar);
    strftime(stamp, sizeof(stamp), "%Y%m%d-%H%M%S", &calendar);
    for (unsigned i = 0; i < BACKUPS_MAX; i++) {
        char *backup = i ? memory_format("%s.%s-%u.bak", path, stamp, i)
                         : memory_format("%s.%s.bak", path, stamp);
        if (write_new(backup, text, mode))
            return backup;
        int cause = errno;
        memory_free(backup);
        if (cause != EEXIST) {
            error_set(error, ERROR_SYSTEM, "cannot make a backup of %s: %s", path, strerror(cause));
            return NULL;
        }
    }
    error_set(error, ERROR_SYSTEM, "cannot make a backup of %s: too many", path);
    return NULL;
}

static bool replace(const char *path, struct span text, unsigned mode, struct error *error)
{
    CLEANUP_FREE char *temporary = memory_format("%s.%d.new", path, (int)getpid());
    if (write_new(temporary, text, mode) && rename(temporary, path) == 0)
        return true;
    int cause = errno;
    unlink(temporary);
    return error_set(error, ERROR_SYSTEM, "cannot write %s: %s", path, strerror(cause));
}

static bool write_file(const char *path, const char *target, struct span new_text, unsigned mode,
                       char **ret_backup, struct error *error)
{
    struct stat status;
    bool exists = stat(target, &status) == 0;
    if (exists && !S_ISREG(status.st_mode))
        return error_set(error, ERROR_INVALID, "%s is not a file", path);
    int failed = exists ? 0 : path_make_parents(path);
    if (failed < 0)
        return error_set(error, ERROR_SYSTEM, "cannot make the directory of %s: %s", path,
                         strerror(-failed));
    if (!exists || !ret_backup)
        return replace(target, new_text, exists ? status.st_mode : mode, error);
    CLEANUP_BUFFER struct buffer old_text;
    if (!file_change_read(target, &old_text, &exists, error))
        return false;
    *ret_backup = make_backup(target, buffer_span(&old_text), status.st_mode, error);
    return *ret_backup && replace(target, new_text, status.st_mode, error);
}

bool file_change_write(const char *path, struct span new_text, unsigned mode, char **ret_backup,
                       struct error *error)
{
    char real[PATH_MAX];
    if (ret_backup)
        *ret_backup = NULL;
    return write_file(path, realpath(path, real) ? real : path, new_text, mode, ret_backup, error);
}
