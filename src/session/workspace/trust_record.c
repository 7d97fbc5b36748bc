#include "session/workspace/trust_record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/private.h"
#include "value/text/json.h"

enum { RECORD_LIMIT = 16 << 20 };

static const char trusted_name[] = "workspaces", declined_name[] = "declined";

static char *record_path(struct error *error)
{
    char *path = path_in_state("trust.json");
    if (!path)
        error_set(error, ERROR_SYSTEM, "no state directory: set HOME or XDG_STATE_HOME");
    return path;
}

// A list that others can write would let them decide.
static bool check_owner(int descriptor, const char *path, struct error *error)
{
    struct stat status;
    if (fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
        !(status.st_mode & (S_IWGRP | S_IWOTH)))
        return true;
    return error_set(error, ERROR_INVALID, "%s is not a file that only you can write", path);
}

static value map_member(struct region *region, value list, const char *name)
{
    value member = map_get(list, name);
    return value_is_map(member) ? value_retain(member) : map_new(region);
}

static bool parse(struct region *region, const char *path, struct span text,
                  struct trust_record *ret_record, struct error *error)
{
    value list;
    struct error cause;
    if (!json_read(region, text, NULL, &list, &cause))
        return error_set(error, ERROR_SYNTAX, "%s: %s; remove it to begin anew", path,
                         cause.message);
    ret_record->trusted = map_member(region, list, trusted_name);
    ret_record->declined = map_member(region, list, declined_name);
    return true;
}

bool trust_record_read(struct region *region, struct trust_record *ret_record, struct error *error)
{
    CLEANUP_FREE char *path = record_path(error);
    if (!path)
        return false;
    int descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0 && errno == ENOENT) {
        *ret_record = (struct trust_record){map_new(region), map_new(region)};
        return true;
    }
    if (descriptor < 0)
        return error_set(error, ERROR_SYSTEM, "cannot read %s: %s", path, strerror(errno));
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, RECORD_LIMIT);
    bool owned = check_owner(descriptor, path, error);
    int failed = owned ? buffer_append_descriptor(&text, descriptor) : 0;
    close(descriptor);
    if (failed < 0 || text.failed)
        return error_set(error, ERROR_SYSTEM, "cannot read %s: %s", path,
                         failed < 0 ? strerror(-failed) : "too large");
    return owned && parse(region, path, buffer_span(&text), ret_record, error);
}

static bool write_descriptor(int descriptor, struct span text)
{
    for (size_t done = 0; done < text.length;) {
        ssize_t written = write(descriptor, text.data + done, text.length - done);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        done += (size_t)written;
    }
    return fsync(descriptor) == 0;
}

bool trust_record_write(struct region *region, const struct trust_record *record,
                        struct error *error)
{
    CLEANUP_FREE char *path = record_path(error);
    if (!path)
        return false;
    CLEANUP_FREE char *temporary = memory_format("%s.%d", path, (int)getpid());
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, RECORD_LIMIT);
    value list = map_put_text(region, map_new(region), trusted_name, value_retain(record->trusted));
    if (map_count(record->declined) > 0)
        list = map_put_text(region, list, declined_name, value_retain(record->declined));
    json_write(&text, list, JSON_PRETTY | JSON_SORTED, NULL);
    buffer_append_byte(&text, '\n');
    unlink(temporary);  // of a process that had this number and died
    int descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    bool ok = descriptor >= 0 && !text.failed && write_descriptor(descriptor, buffer_span(&text));
    int cause = errno;
    if (descriptor >= 0)
        close(descriptor);
    if (ok && rename(temporary, path) == 0)
        return true;
    cause = ok ? errno : cause;
    unlink(temporary);
    return error_set(error, ERROR_SYSTEM, "cannot write %s: %s", path, strerror(cause));
}

int trust_record_lock(struct error *error)
{
    CLEANUP_FREE char *path = path_in_state("trust.lock");
    if (!path)
        error_set(error, ERROR_SYSTEM, "cannot lock the state directory: %s", strerror(ENOENT));
    if (!path || !private_make_parent(path, error))
        return -1;
    int descriptor = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (descriptor >= 0 && flock(descriptor, LOCK_EX) == 0)
        return descriptor;
    error_set(error, ERROR_SYSTEM, "cannot lock %s: %s", path, strerror(errno));
    if (descriptor >= 0)
        close(descriptor);
    return -1;
}
