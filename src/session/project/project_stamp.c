// Stamps and hashes of what a project core was made from.
#include <dirent.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/memory.h"
#include "session/project/project_core.h"

enum { HASH_BYTES = 16, NAMES_MAX = 100000 };

void project_stamp(const char *path, const char *kind, struct buffer *ret_stamp)
{
    struct stat status;
    if (stat(path, &status) < 0)
        buffer_append_text(ret_stamp, "absent");
    else if (S_ISDIR(status.st_mode) && strcmp(kind, "file") == 0)
        buffer_append_text(ret_stamp, "directory");
    else
        buffer_append_format(ret_stamp, "%lld.%09ld %lld.%09ld %lld %llu",
                             (long long)status.st_mtim.tv_sec, status.st_mtim.tv_nsec,
                             (long long)status.st_ctim.tv_sec, status.st_ctim.tv_nsec,
                             (long long)status.st_size, (unsigned long long)status.st_ino);
}

static void append_hash(crypto_generichash_state *state, struct buffer *ret_hash)
{
    unsigned char hash[HASH_BYTES];
    char text[2 * HASH_BYTES + 1];
    crypto_generichash_final(state, hash, sizeof(hash));
    sodium_bin2hex(text, sizeof(text), hash, sizeof(hash));
    buffer_append_text(ret_hash, text);
}

static void hash_file(const char *path, struct buffer *ret_hash)
{
    char piece[1 << 14];
    struct stat status;
    crypto_generichash_state state;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return;
    ssize_t length = fstat(fd, &status) == 0 && S_ISREG(status.st_mode) ? 1 : -1;
    crypto_generichash_init(&state, NULL, 0, HASH_BYTES);
    while (length > 0 && (length = read(fd, piece, sizeof(piece))) > 0)
        crypto_generichash_update(&state, (unsigned char *)piece, (size_t)length);
    close(fd);
    if (length == 0)
        append_hash(&state, ret_hash);
}

// Editors put files of their own beside those that are edited; compiled files follow from others.
static bool counts(const char *name)
{
    size_t length = strlen(name);
    return name[0] != '.' && name[0] != '#' && name[length - 1] != '~' &&
           !(length > 5 && strcmp(name + length - 5, ".fasl") == 0);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

// Where systems are looked for only files that define some count, and directories.
static bool may_have_system(DIR *directory, const struct dirent *entry)
{
    struct stat status;
    size_t length = strlen(entry->d_name);
    if (length > 4 && strcmp(entry->d_name + length - 4, ".asd") == 0)
        return true;
    if (entry->d_type != DT_LNK && entry->d_type != DT_UNKNOWN)
        return entry->d_type == DT_DIR;
    return fstatat(dirfd(directory), entry->d_name, &status, 0) == 0 && S_ISDIR(status.st_mode);
}

static void hash_names(const char *path, bool systems, struct buffer *ret_hash)
{
    crypto_generichash_state state;
    DIR *directory = opendir(path);
    if (!directory)
        return;
    char **names = NULL;
    size_t count = 0, room = 0;
    for (struct dirent *entry; count < NAMES_MAX && (entry = readdir(directory));) {
        if (!counts(entry->d_name) || (systems && !may_have_system(directory, entry)))
            continue;
        if (count == room)
            names = memory_resize(names, (room = room ? 2 * room : 64) * sizeof(*names));
        names[count++] = memory_copy_string(entry->d_name);
    }
    closedir(directory);
    if (count > 0)
        qsort(names, count, sizeof(*names), compare_names);
    crypto_generichash_init(&state, NULL, 0, HASH_BYTES);
    for (size_t i = 0; i < count; i++) {
        crypto_generichash_update(&state, (unsigned char *)names[i], strlen(names[i]) + 1);
        memory_free(names[i]);
    }
    memory_free(names);
    append_hash(&state, ret_hash);
}

void project_hash(const char *path, const char *kind, struct buffer *ret_hash)
{
    bool systems = strcmp(kind, "systems") == 0;
    if (systems || strcmp(kind, "directory") == 0)
        hash_names(path, systems, ret_hash);
    else
        hash_file(path, ret_hash);
}
