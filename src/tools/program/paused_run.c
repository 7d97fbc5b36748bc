#include "tools/program/paused_run.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/descriptor.h"
#include "base/memory.h"
#include "base/private.h"
#include "process/background.h"

enum { ID_DIGITS = 32, DIGEST_DIGITS = 32 };

struct paused_run {
    char *directory;
    char token[PAUSED_TOKEN_SIZE];
    struct buffer text;
    struct error failure;
    paused_run_fn *done;
    void *data;
};

void paused_run_digest(struct span text, char digits[33])
{
    unsigned char hash[crypto_hash_sha256_BYTES];
    crypto_hash_sha256(hash, (const unsigned char *)text.data, text.length);
    sodium_bin2hex(digits, DIGEST_DIGITS + 1, hash, DIGEST_DIGITS / 2);
}

static char *path_of(const struct paused_run *run)
{
    return memory_format("%s/%.*s.json", run->directory, ID_DIGITS, run->token);
}

static bool system_error(struct paused_run *run, const char *what, const char *path)
{
    return error_set(&run->failure, ERROR_SYSTEM, "cannot %s %s: %s", what, path, strerror(errno));
}

// --- in the background ---------------------------------------------------------------------------

// Removes what is too old; then, when there is no room, the oldest.
static void make_room(const struct paused_run *run)
{
    DIR *directory = opendir(run->directory);
    size_t count = 0;
    char oldest[ID_DIGITS + 8] = "";
    time_t oldest_time = 0, now = time(NULL);
    const struct dirent *entry;
    while (directory && (entry = readdir(directory))) {
        struct stat status;
        size_t length = strlen(entry->d_name);
        if (length != ID_DIGITS + 5 || strcmp(entry->d_name + ID_DIGITS, ".json") != 0 ||
            fstatat(dirfd(directory), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        if (now - status.st_mtime > (time_t)PAUSED_DAYS * 86400) {
            unlinkat(dirfd(directory), entry->d_name, 0);
            continue;
        }
        count++;
        if (!oldest[0] || status.st_mtime < oldest_time) {
            oldest_time = status.st_mtime;
            memcpy(oldest, entry->d_name, length + 1);
        }
    }
    if (directory && count >= PAUSED_RUNS_MAX)
        unlinkat(dirfd(directory), oldest, 0);
    if (directory)
        closedir(directory);
}

static void run_store(void *data)
{
    struct paused_run *run = data;
    CLEANUP_FREE char *path = path_of(run);
    struct private_file file;
    bool made;
    if (!private_make_parent(path, &run->failure))
        return;
    make_room(run);
    if (!private_create(path, &file, &run->failure))
        return;
    if (descriptor_write(file.descriptor, run->text.data, run->text.length)) {
        private_create_commit(&file, true, &made, &run->failure);
        return;
    }
    system_error(run, "write", path);
    private_create_abandon(&file);
}

static bool refuse(struct paused_run *run, const char *why)
{
    return error_set(&run->failure, ERROR_INVALID, "%s", why);
}

static bool read_run(struct paused_run *run, const char *path)
{
    static const char gone[] = "there is no such paused run here, or it was resumed already";
    int descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (descriptor < 0)
        return errno == ENOENT ? refuse(run, gone) : system_error(run, "open", path);
    struct stat status;
    bool ok = fstat(descriptor, &status) == 0 && private_check_file(path, &run->failure);
    int failed = ok ? buffer_append_descriptor(&run->text, descriptor) : 0;
    close(descriptor);
    if (!ok)
        return false;
    if (failed < 0 || run->text.failed)
        return refuse(run, "the paused run cannot be read");
    if (time(NULL) - status.st_mtime > (time_t)PAUSED_DAYS * 86400)
        return refuse(run, "the paused run is older than 7 days");
    char digits[DIGEST_DIGITS + 1];
    paused_run_digest(buffer_span(&run->text), digits);
    return strcmp(digits, run->token + ID_DIGITS + 1) == 0 ||
           refuse(run, "the token does not fit the paused run");
}

// Whoever renames the file has the run.
static void run_claim(void *data)
{
    struct paused_run *run = data;
    CLEANUP_FREE char *path = path_of(run);
    CLEANUP_FREE char *claimed = memory_format("%s.claimed", path);
    if (!read_run(run, path))
        return;
    if (rename(path, claimed) < 0)
        refuse(run, "the run was resumed already");
    else
        unlink(claimed);
}

// --- in the loop ---------------------------------------------------------------------------------

static void on_done(void *data)
{
    struct paused_run *run = data;
    bool ok = run->failure.code == 0;
    run->done(run->data, run->token, ok ? buffer_span(&run->text) : (struct span){0},
              ok ? NULL : &run->failure);
    buffer_release(&run->text);
    memory_free(run->directory);
    memory_free(run);
}

static bool submit(struct background *background, struct paused_run *run, background_fn *work,
                   struct error *error)
{
    int failed = background_submit(background, work, on_done, run);
    if (failed == 0)
        return true;
    buffer_release(&run->text);
    memory_free(run->directory);
    memory_free(run);
    return error_set(error, ERROR_BUSY, "too much work waits for the disk: %s", strerror(-failed));
}

static struct paused_run *run_new(const char *directory, paused_run_fn *done, void *data)
{
    CHECK(sodium_init() >= 0);
    struct paused_run *run = memory_alloc_zero(sizeof(*run));
    *run =
        (struct paused_run){.directory = memory_copy_string(directory), .done = done, .data = data};
    buffer_init(&run->text, PAUSED_FILE_MAX);
    return run;
}

bool paused_run_store(struct background *background, const char *directory, struct buffer *text,
                      paused_run_fn *done, void *data, struct error *error)
{
    struct paused_run *run = run_new(directory, done, data);
    unsigned char id[ID_DIGITS / 2];
    randombytes_buf(id, sizeof(id));
    sodium_bin2hex(run->token, ID_DIGITS + 1, id, sizeof(id));
    run->token[ID_DIGITS] = '-';
    paused_run_digest(buffer_span(text), run->token + ID_DIGITS + 1);
    run->text = *text;
    *text = (struct buffer){0};
    return submit(background, run, run_store, error);
}

static bool is_token(struct span token)
{
    if (token.length != PAUSED_TOKEN_SIZE - 1)
        return false;
    for (size_t i = 0; i < token.length; i++) {
        bool digit = (token.data[i] >= '0' && token.data[i] <= '9') ||
                     (token.data[i] >= 'a' && token.data[i] <= 'f');
        if (i == ID_DIGITS ? token.data[i] != '-' : !digit)
            return false;
    }
    return true;
}

bool paused_run_claim(struct background *background, const char *directory, struct span token,
                      paused_run_fn *done, void *data, struct error *error)
{
    if (!is_token(token))
        return error_set(error, ERROR_INVALID, "this is not the token of a paused run");
    struct paused_run *run = run_new(directory, done, data);
    memcpy(run->token, token.data, token.length);
    return submit(background, run, run_claim, error);
}
