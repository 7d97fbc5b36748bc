#include "session/workspace/trust.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "session/workspace/trust_record.h"

enum { HASH_TEXT_SIZE = 2 * crypto_generichash_BYTES + 1 };

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

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

// A repository can have any number of files there.
static size_t read_names(DIR *directory, char *names[TRUST_FILES_MAX + 1])
{
    size_t count = 0;
    for (struct dirent *entry; count <= TRUST_FILES_MAX && (entry = readdir(directory));)
        if (entry->d_name[0] != '.')
            names[count++] = memory_copy_string(entry->d_name);
    qsort(names, count, sizeof(*names), compare_names);
    return count;
}

// The files of .cadre/programs, by name.
static bool add_programs(struct region *region, const char *workspace, value *names,
                         struct error *error)
{
    int descriptor = open_beneath(workspace, programs, O_DIRECTORY);
    if (descriptor == -ENOENT)
        return true;
    DIR *directory = descriptor < 0 ? NULL : fdopendir(descriptor);
    if (!directory) {
        int cause = descriptor < 0 ? -descriptor : errno;
        if (descriptor >= 0)
            close(descriptor);
        return cannot_read(error, workspace, programs, cause);
    }
    CLEANUP_FREE char **found = memory_alloc((TRUST_FILES_MAX + 1) * sizeof(*found));
    size_t count = read_names(directory, found);
    closedir(directory);
    for (size_t i = 0; i < count; i++) {
        *names =
            vector_push(region, *names, value_string_format(region, "%s/%s", programs, found[i]));
        memory_free(found[i]);
    }
    return count <= TRUST_FILES_MAX ||
           error_set(error, ERROR_LIMIT, "%s/%s holds more than %d files", workspace, programs,
                     TRUST_FILES_MAX);
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

// --- hashes --------------------------------------------------------------------------------------

static void hash_text(struct span content, char text[HASH_TEXT_SIZE])
{
    unsigned char hash[crypto_generichash_BYTES];
    crypto_generichash(hash, sizeof(hash), (const unsigned char *)content.data, content.length,
                       NULL, 0);
    sodium_bin2hex(text, HASH_TEXT_SIZE, hash, sizeof(hash));
}

bool trust_hash_files(struct region *region, const char *workspace, value names, value *ret_hashes,
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

// --- changing what is trusted --------------------------------------------------------------------

static bool add(struct region *region, const char *workspace, size_t *ret_count,
                struct error *error)
{
    value names = value_nil(), hashes = value_nil();
    struct trust_record record;
    if (!trust_files(region, workspace, &names, error) ||
        !trust_hash_files(region, workspace, names, &hashes, error) ||
        !trust_record_read(region, &record, error))
        return false;
    *ret_count = map_count(hashes);
    if (*ret_count == 0)
        return true;
    record.trusted = map_put_text(region, record.trusted, workspace, hashes);
    return trust_record_write(region, &record, error);
}

bool trust_add(const char *workspace, size_t *ret_count, struct error *error)
{
    if (!utf8_is_valid(workspace, strlen(workspace)))
        return error_set(error, ERROR_ENCODING, "the name of the directory is not UTF-8");
    int lock = trust_record_lock(error);
    if (lock < 0)
        return false;
    struct region *region = region_new(SIZE_MAX);
    bool ok = add(region, workspace, ret_count, error);
    region_free(region);
    close(lock);
    return ok;
}

static bool add_file(struct region *region, const char *workspace, const char *name,
                     struct span content, struct error *error)
{
    struct trust_record record;
    if (!trust_record_read(region, &record, error))
        return false;
    char text[HASH_TEXT_SIZE];
    hash_text(content, text);
    value files = map_get(record.trusted, workspace);
    files = value_is_map(files) ? value_retain(files) : map_new(region);
    files = map_put_text(region, files, name, value_string_text(region, text));
    record.trusted = map_put_text(region, record.trusted, workspace, files);
    return trust_record_write(region, &record, error);
}

bool trust_add_file(const char *workspace, const char *name, struct span content,
                    struct error *error)
{
    if (!utf8_is_valid(workspace, strlen(workspace)))
        return error_set(error, ERROR_ENCODING, "the name of the directory is not UTF-8");
    int lock = trust_record_lock(error);
    if (lock < 0)
        return false;
    struct region *region = region_new(SIZE_MAX);
    bool ok = add_file(region, workspace, name, content, error);
    region_free(region);
    close(lock);
    return ok;
}

// What was declined is forgotten, too, so that the person is asked again.
static bool forget(struct region *region, const char *workspace, bool *ret_found,
                   struct error *error)
{
    struct trust_record record;
    if (!trust_record_read(region, &record, error))
        return false;
    value found, name = value_string_text(region, workspace);
    *ret_found = map_find_text(record.trusted, workspace, &found);
    if (!*ret_found && !map_find_text(record.declined, workspace, &found))
        return true;
    record.trusted = map_remove(region, record.trusted, value_retain(name));
    record.declined = map_remove(region, record.declined, name);
    return trust_record_write(region, &record, error);
}

bool trust_remove(const char *workspace, bool *ret_found, struct error *error)
{
    int lock = trust_record_lock(error);
    if (lock < 0)
        return false;
    struct region *region = region_new(SIZE_MAX);
    bool ok = forget(region, workspace, ret_found, error);
    region_free(region);
    close(lock);
    return ok;
}

// --- asking --------------------------------------------------------------------------------------

bool trust_list(struct region *region, value *ret_workspaces, struct error *error)
{
    struct trust_record record;
    if (!trust_record_read(region, &record, error))
        return false;
    *ret_workspaces = record.trusted;
    return true;
}

static bool compare_hash(struct region *region, const char *workspace, const char *name,
                         struct span content, enum trust *ret_trust, struct error *error)
{
    struct trust_record record;
    if (!trust_record_read(region, &record, error))
        return false;
    struct span expected = map_get_string(map_get(record.trusted, workspace), name);
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
