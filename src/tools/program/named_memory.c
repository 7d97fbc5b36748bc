#include "tools/program/named_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "base/private.h"
#include "process/background.h"
#include "value/text/json.h"

struct named_memory {
    struct background *background;
    char *name;
    char *path;
    char *lock_path;  // a file of its own: the data file is replaced with every save
    int lock;
    bool has_file;
    struct buffer text;  // of the file: read, or to be written
    struct error failure;
    named_memory_done_fn *done;
    void *data;
};

static bool system_error(struct error *error, const char *what, const char *path, int cause)
{
    return error_set(error, ERROR_SYSTEM, "cannot %s %s: %s", what, path, strerror(cause));
}

// --- in the background ---------------------------------------------------------------------------

static bool make_directory(struct named_memory *memory)
{
    return private_make_parent(memory->path, &memory->failure);
}

static bool acquire_lock(struct named_memory *memory)
{
    memory->lock = open(memory->lock_path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (memory->lock < 0)
        return system_error(&memory->failure, "open", memory->lock_path, errno);
    if (flock(memory->lock, LOCK_EX | LOCK_NB) == 0)
        return true;
    if (errno != EWOULDBLOCK)
        return system_error(&memory->failure, "lock", memory->lock_path, errno);
    return error_set(&memory->failure, ERROR_BUSY, "memory \"%s\" is used by another run",
                     memory->name);
}

static bool read_file(struct named_memory *memory)
{
    int descriptor = open(memory->path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (descriptor < 0)
        return errno == ENOENT || system_error(&memory->failure, "open", memory->path, errno);
    memory->has_file = true;
    int failed = buffer_append_descriptor(&memory->text, descriptor);
    close(descriptor);
    return failed == 0 || system_error(&memory->failure, "read", memory->path, -failed);
}

static void run_open(void *data)
{
    struct named_memory *memory = data;
    if (make_directory(memory) && acquire_lock(memory))
        read_file(memory);
}

static bool write_text(int descriptor, struct span text)
{
    bool ok = true;
    for (size_t done = 0; ok && done < text.length;) {
        ssize_t written = write(descriptor, text.data + done, text.length - done);
        ok = written >= 0 || errno == EINTR;
        done += written > 0 ? (size_t)written : 0;
    }
    return ok;
}

static void run_save(void *data)
{
    struct named_memory *memory = data;
    struct private_file file;
    bool made;
    if (!private_create(memory->path, &file, &memory->failure))
        return;
    if (write_text(file.descriptor, buffer_span(&memory->text))) {
        private_create_commit(&file, true, &made, &memory->failure);
        return;
    }
    system_error(&memory->failure, "write", memory->path, errno);
    private_create_abandon(&file);
}

// --- in the loop ---------------------------------------------------------------------------------

static void on_done(void *data)
{
    struct named_memory *memory = data;
    memory->done(memory->data, memory->failure.code ? &memory->failure : NULL);
}

static bool submit(struct named_memory *memory, background_fn *run, const char *what,
                   struct error *error)
{
    int failed = background_submit(memory->background, run, on_done, memory);
    return failed == 0 || system_error(error, what, memory->path, -failed);
}

struct named_memory *named_memory_open(struct background *background, const char *directory,
                                       const char *name, named_memory_done_fn *done, void *data,
                                       struct error *error)
{
    if (!directory) {
        error_set(error, ERROR_SYSTEM, "no directory for memories: set HOME or XDG_STATE_HOME");
        return NULL;
    }
    struct named_memory *memory = memory_alloc_zero(sizeof(*memory));
    *memory = (struct named_memory){
        .background = background,
        .name = memory_copy_string(name),
        .path = memory_format("%s/%s.json", directory, name),
        .lock_path = memory_format("%s/%s.json.lock", directory, name),
        .lock = -1,
        .done = done,
        .data = data,
    };
    buffer_init(&memory->text, NAMED_MEMORY_FILE_MAX);
    if (submit(memory, run_open, "open", error))
        return memory;
    named_memory_close(memory);
    return NULL;
}

bool named_memory_content(struct named_memory *memory, struct region *region, value *ret_content,
                          struct error *error)
{
    *ret_content = value_nil();
    struct error inner;
    bool ok = !memory->has_file ||
              (!memory->text.failed &&
               json_read(region, buffer_span(&memory->text), NULL, ret_content, &inner));
    buffer_release(&memory->text);
    return ok || error_set(error, ERROR_SYSTEM, "%s is damaged", memory->path);
}

bool named_memory_save(struct named_memory *memory, value content, named_memory_done_fn *done,
                       void *data, struct error *error)
{
    memory->done = done;
    memory->data = data;
    json_write(&memory->text, content, 0, NULL);
    if (memory->text.failed)
        return error_set(error, ERROR_LIMIT, "the memory is larger than %d bytes",
                         NAMED_MEMORY_FILE_MAX);
    return submit(memory, run_save, "write", error);
}

void named_memory_tell(const struct named_memory *memory, const struct ledger *ledger)
{
    if (ledger)
        ledger->memory(ledger->data, memory->name, buffer_span(&memory->text));
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
    buffer_release(&memory->text);
    memory_free(memory->name);
    memory_free(memory->path);
    memory_free(memory->lock_path);
    memory_free(memory);
}
