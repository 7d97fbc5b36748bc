#include "session/workspace/trust.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/private.h"
#include "base/utf8.h"
#include "value/text/json.h"

enum { HASH_TEXT_SIZE = 2 * crypto_generichash_BYTES + 1, LIST_LIMIT = 16 << 20 };

static const char *const single_files[] = {".cadre/config.json", ".cadre/init.lisp", ".mcp.json"};
static const char programs[] = ".cadre/programs";

const char *trust_name(enum trust trust)
{
    static const char *const names[] = {[TRUST_ABSENT] = "absent",
                                        [TRUST_NEVER] = "not trusted",
                                        [TRUST_CHANGED] = "changed since it was trusted",
                                        [TRUST_GIVEN] = "trusted"};
    return names[trust];
}

// --- files of the workspace ----------------------------------------------------------------------

static int open_root(const char *workspace)
{
    int descriptor = open(workspace, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return descriptor < 0 ? -errno : descriptor;
}

// Opens `name` below the workspace, no part of it through a symbolic link. A descriptor or negative
// errno.
static int open_beneath(const char *workspace, const char *name, int flags)
{
    int directory = open_root(workspace);
    for (const char *slash; directory >= 0 && (slash = strchr(name, '/')); name = slash + 1) {
        CLEANUP_FREE char *part = memory_copy_text(name, (size_t)(slash - name));
        int next = openat(directory, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        int cause = errno;
        close(directory);
        directory = next < 0 ? -cause : next;
    }
    if (directory < 0)
        return directory;
    int descriptor =
        openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | flags);
    int cause = errno;
    close(directory);
    return descriptor < 0 ? -cause : descriptor;
}

static bool cannot_read(struct error *error, const char *directory, const char *name, int cause)
{
    return error_set(error, ERROR_SYSTEM, "cannot read %s/%s: %s", directory, name,
                     cause == ELOOP ? "a symbolic link" : strerror(cause));
}

// *ret_exists is false, and the buffer empty, when there is no such file.
static bool read_beneath(const char *workspace, const char *name, struct buffer *ret_content,
                         bool *ret_exists, struct error *error)
{
    *ret_exists = false;
    int descriptor = open_beneath(workspace, name, 0);
    if (descriptor == -ENOENT)
        return true;
    if (descriptor < 0)
        return cannot_read(error, workspace, name, -descriptor);
    *ret_exists = true;
    struct stat status;
    bool is_file = fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
    int failed = is_file ? buffer_append_descriptor(ret_content, descriptor) : -EINVAL;
    close(descriptor);
    if (!is_file)
        return error_set(error, ERROR_INVALID, "%s/%s is not a file", workspace, name);
    if (failed < 0)
        return cannot_read(error, workspace, name, -failed);
    if (ret_content->failed)
        return error_set(error, ERROR_LIMIT, "%s/%s is larger than %d bytes", workspace, name,
                         TRUST_FILE_LIMIT);
    return true;
}

static int compare_names(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_shown(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

// The files of .cadre/programs, by name.
static bool add_programs(struct region *region, const char *workspace, value *names,
                         struct error *error)
{
    int descriptor = open_beneath(workspace, programs, O_DIRECTORY);
    if (descriptor == -ENOENT)
        return true;
    if (descriptor < 0)
        return cannot_read(error, workspace, programs, -descriptor);
    struct dirent **entries = NULL;
    int count = scandirat(descriptor, ".", &entries, is_shown, compare_names);
    int cause = errno;
    close(descriptor);
    for (int i = 0; i < count; i++) {
        if (i < TRUST_FILES_MAX)
            *names = vector_push(
                region, *names, value_string_format(region, "%s/%s", programs, entries[i]->d_name));
        free(entries[i]);  // foreign: scandirat
    }
    free(entries);  // foreign: scandirat
    if (count < 0)
        return cannot_read(error, workspace, programs, cause);
    if (count > TRUST_FILES_MAX)
        return error_set(error, ERROR_LIMIT, "%s/%s holds more than %d files", workspace, programs,
                         TRUST_FILES_MAX);
    return true;
}

bool trust_files(struct region *region, const char *workspace, value *ret_names,
                 struct error *error)
{
    value names = vector_new(region, COUNT_OF(single_files));
    for (size_t i = 0; i < COUNT_OF(single_files); i++) {
        int descriptor = open_beneath(workspace, single_files[i], 0);
        if (descriptor == -ENOENT)
            continue;
        if (descriptor < 0)
            return cannot_read(error, workspace, single_files[i], -descriptor);
        close(descriptor);
        names = vector_push(region, names, value_string_text(region, single_files[i]));
    }
    if (!add_programs(region, workspace, &names, error))
        return false;
    *ret_names = names;
    return true;
}

// --- the list of what is trusted -----------------------------------------------------------------

static void hash_text(struct span content, char text[HASH_TEXT_SIZE])
{
    unsigned char hash[crypto_generichash_BYTES];
    crypto_generichash(hash, sizeof(hash), (const unsigned char *)content.data, content.length,
                       NULL, 0);
    sodium_bin2hex(text, HASH_TEXT_SIZE, hash, sizeof(hash));
}

static char *list_path(struct error *error)
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

static bool parse_list(struct region *region, const char *path, struct span text,
                       value *ret_workspaces, struct error *error)
{
    value list;
    struct error cause;
    if (!json_read(region, text, NULL, &list, &cause))
        return error_set(error, ERROR_SYNTAX, "%s: %s; remove it to begin anew", path,
                         cause.message);
    value workspaces = map_get(list, "workspaces");
    *ret_workspaces = value_is_map(workspaces) ? value_retain(workspaces) : map_new(region);
    return true;
}

bool trust_list(struct region *region, value *ret_workspaces, struct error *error)
{
    CLEANUP_FREE char *path = list_path(error);
    if (!path)
        return false;
    int descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0 && errno == ENOENT) {
        *ret_workspaces = map_new(region);
        return true;
    }
    if (descriptor < 0)
        return error_set(error, ERROR_SYSTEM, "cannot read %s: %s", path, strerror(errno));
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, LIST_LIMIT);
    bool owned = check_owner(descriptor, path, error);
    int failed = owned ? buffer_append_descriptor(&text, descriptor) : 0;
    close(descriptor);
    if (failed < 0 || text.failed)
        return error_set(error, ERROR_SYSTEM, "cannot read %s: %s", path,
                         failed < 0 ? strerror(-failed) : "too large");
    return owned && parse_list(region, path, buffer_span(&text), ret_workspaces, error);
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

static bool save_list(struct region *region, value workspaces, struct error *error)
{
    CLEANUP_FREE char *path = list_path(error);
    if (!path)
        return false;
    CLEANUP_FREE char *temporary = memory_format("%s.%d", path, (int)getpid());
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, LIST_LIMIT);
    json_write(&text, map_put_text(region, map_new(region), "workspaces", workspaces),
               JSON_PRETTY | JSON_SORTED, NULL);
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

// --- changing it ---------------------------------------------------------------------------------

// One change at a time: the lock lasts until the descriptor is closed. Negative with a message.
static int lock_list(struct error *error)
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

static bool hash_files(struct region *region, const char *workspace, value names, value *ret_hashes,
                       struct error *error)
{
    value hashes = map_new(region);
    for (size_t i = 0; i < vector_count(names); i++) {
        struct span name = value_text(vector_at(names, i));
        CLEANUP_FREE char *path = memory_copy_text(name.data, name.length);
        CLEANUP_BUFFER struct buffer content;
        buffer_init(&content, TRUST_FILE_LIMIT);
        bool exists;
        if (!read_beneath(workspace, path, &content, &exists, error))
            return false;
        char text[HASH_TEXT_SIZE];
        hash_text(buffer_span(&content), text);
        if (exists)
            hashes = map_put_text(region, hashes, path, value_string_text(region, text));
    }
    *ret_hashes = hashes;
    return true;
}

static bool add(struct region *region, const char *workspace, size_t *ret_count,
                struct error *error)
{
    value names = value_nil(), hashes = value_nil(), workspaces = value_nil();
    if (!trust_files(region, workspace, &names, error) ||
        !hash_files(region, workspace, names, &hashes, error) ||
        !trust_list(region, &workspaces, error))
        return false;
    *ret_count = map_count(hashes);
    if (*ret_count == 0)
        return true;
    return save_list(region, map_put_text(region, workspaces, workspace, hashes), error);
}

bool trust_add(const char *workspace, size_t *ret_count, struct error *error)
{
    if (!utf8_is_valid(workspace, strlen(workspace)))
        return error_set(error, ERROR_ENCODING, "the name of the directory is not UTF-8");
    int lock = lock_list(error);
    if (lock < 0)
        return false;
    struct region *region = region_new(SIZE_MAX);
    bool ok = add(region, workspace, ret_count, error);
    region_free(region);
    close(lock);
    return ok;
}

static bool remove_from_list(struct region *region, const char *workspace, bool *ret_found,
                             struct error *error)
{
    value workspaces = value_nil(), found;
    if (!trust_list(region, &workspaces, error))
        return false;
    *ret_found = map_find_text(workspaces, workspace, &found);
    if (!*ret_found)
        return true;
    return save_list(region, map_remove(region, workspaces, value_string_text(region, workspace)),
                     error);
}

bool trust_remove(const char *workspace, bool *ret_found, struct error *error)
{
    int lock = lock_list(error);
    if (lock < 0)
        return false;
    struct region *region = region_new(SIZE_MAX);
    bool ok = remove_from_list(region, workspace, ret_found, error);
    region_free(region);
    close(lock);
    return ok;
}

// --- asking --------------------------------------------------------------------------------------

static bool compare_hash(struct region *region, const char *workspace, const char *name,
                         struct span content, enum trust *ret_trust, struct error *error)
{
    value workspaces = value_nil();
    if (!trust_list(region, &workspaces, error))
        return false;
    struct span expected = map_get_string(map_get(workspaces, workspace), name);
    char text[HASH_TEXT_SIZE];
    hash_text(content, text);
    *ret_trust = expected.length == 0              ? TRUST_NEVER
                 : span_equal_text(expected, text) ? TRUST_GIVEN
                                                   : TRUST_CHANGED;
    return true;
}

bool trust_read(const char *workspace, const char *name, struct buffer *ret_content,
                enum trust *ret_trust, struct error *error)
{
    buffer_init(ret_content, TRUST_FILE_LIMIT);
    bool exists;
    if (!read_beneath(workspace, name, ret_content, &exists, error))
        return false;
    if (!exists) {
        *ret_trust = TRUST_ABSENT;
        return true;
    }
    struct region *region = region_new(SIZE_MAX);
    bool ok = compare_hash(region, workspace, name, buffer_span(ret_content), ret_trust, error);
    region_free(region);
    return ok;
}
