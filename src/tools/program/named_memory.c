#include "tools/program/named_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "base/path.h"
#include "value/text/json.h"

struct named_memory {
    char *path;
    int lock;
};

static bool system_error(struct error *error, const char *what, const char *path, int cause)
{
    return error_set(error, ERROR_SYSTEM, "cannot %s %s: %s", what, path, strerror(cause));
}

// A file of its own holds the lock: the data file is replaced with every save.
static bool acquire_lock(struct named_memory *memory, const char *name, struct error *error)
{
    CLEANUP_FREE char *path = memory_format("%s.lock", memory->path);
    memory->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (memory->lock < 0)
        return system_error(error, "open", path, errno);
    if (flock(memory->lock, LOCK_EX | LOCK_NB) == 0)
        return true;
    if (errno != EWOULDBLOCK)
        return system_error(error, "lock", path, errno);
    return error_set(error, ERROR_BUSY, "memory \"%s\" is used by another run", name);
}

static bool read_content(struct named_memory *memory, struct region *region, value *ret_content,
                         struct error *error)
{
    *ret_content = value_nil();
    int descriptor = open(memory->path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
        return errno == ENOENT || system_error(error, "open", memory->path, errno);
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, NAMED_MEMORY_FILE_MAX);
    int failed = buffer_append_descriptor(&text, descriptor);
    close(descriptor);
    if (failed < 0)
        return system_error(error, "read", memory->path, -failed);
    struct error inner;
    if (text.failed || !json_read(region, buffer_span(&text), NULL, ret_content, &inner))
        return error_set(error, ERROR_SYSTEM, "%s is damaged", memory->path);
    return true;
}

bool named_memory_open(const char *name, struct region *region, struct named_memory **ret_memory,
                       value *ret_content, struct error *error)
{
    CLEANUP_FREE char *directory = path_in_state("programs");
    if (!directory)
        return error_set(error, ERROR_SYSTEM,
                         "no directory for memories: set HOME or XDG_STATE_HOME");
    int failed = path_make_directories(directory);
    if (failed < 0)
        return error_set(error, ERROR_SYSTEM, "cannot create %s: %s", directory, strerror(-failed));
    struct named_memory *memory = memory_alloc_zero(sizeof(*memory));
    *memory =
        (struct named_memory){.path = memory_format("%s/%s.json", directory, name), .lock = -1};
    if (!acquire_lock(memory, name, error) || !read_content(memory, region, ret_content, error)) {
        named_memory_close(memory);
        return false;
    }
    *ret_memory = memory;
    return true;
}

static bool write_file(const char *path, struct span text)
{
    int descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (descriptor < 0)
        return false;
    bool ok = true;
    for (size_t done = 0; ok && done < text.length;) {
        ssize_t written = write(descriptor, text.data + done, text.length - done);
        ok = written >= 0 || errno == EINTR;
        done += written > 0 ? (size_t)written : 0;
    }
    ok = ok && fsync(descriptor) == 0;
    return close(descriptor) == 0 && ok;
}

bool named_memory_save(struct named_memory *memory, value content, struct error *error)
{
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, NAMED_MEMORY_FILE_MAX);
    json_write(&text, content, 0, NULL);
    if (text.failed)
        return error_set(error, ERROR_LIMIT, "the memory is larger than %d bytes",
                         NAMED_MEMORY_FILE_MAX);
    CLEANUP_FREE char *temporary = memory_format("%s.new", memory->path);
    if (write_file(temporary, buffer_span(&text)) && rename(temporary, memory->path) == 0)
        return true;
    system_error(error, "write", memory->path, errno);
    unlink(temporary);
    return false;
}

void named_memory_close(struct named_memory *memory)
{
    if (!memory)
        return;
    if (memory->lock >= 0) {
        // Closing is not enough: a process that is being started holds the descriptor, and with it
        // the lock, until it becomes another program.
        flock(memory->lock, LOCK_UN);
        close(memory->lock);
    }
    memory_free(memory->path);
    memory_free(memory);
}
