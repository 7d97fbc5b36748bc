// `cadre image-worker`: packs and unpacks images, in a process of its own.
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zstd.h>

#include "base/buffer.h"
#include "base/descriptor.h"
#include "base/memory.h"
#include "base/private.h"
#include "session/image/image_codec.h"
#include "session/image/image_file.h"
#include "value/text/json.h"

enum { HASH_BYTES = 16 };

static int fail(const char *what, const char *path)
{
    fprintf(stderr, "%s %s: %s\n", what, path, strerror(errno));
    return IMAGE_FAILED;
}

static bool map_descriptor(int fd, struct mapping *ret_mapping)
{
    struct stat status;
    if (fstat(fd, &status) < 0 || status.st_size == 0)
        return false;
    void *data = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED)
        return false;
    *ret_mapping = (struct mapping){data, (size_t)status.st_size};
    return true;
}

static bool map_file(const char *path, struct mapping *ret_mapping)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool ok = map_descriptor(fd, ret_mapping);
    close(fd);
    return ok;
}

static void unmap(struct mapping *mapping)
{
    if (mapping->data)
        munmap(mapping->data, mapping->size);
    *mapping = (struct mapping){0};
}

// --- what an image needs -------------------------------------------------------------------------

static bool hash_file(const char *path, char text[2 * HASH_BYTES + 1])
{
    unsigned char hash[HASH_BYTES];
    struct mapping file;
    if (!map_file(path, &file))
        return false;
    crypto_generichash(hash, sizeof(hash), file.data, file.size, NULL, 0);
    unmap(&file);
    sodium_bin2hex(text, 2 * HASH_BYTES + 1, hash, sizeof(hash));
    return true;
}

static bool copy_file(const char *from, const char *to, mode_t mode)
{
    struct error error;
    struct private_file file;
    struct mapping content;
    bool made;
    if (!map_file(from, &content))
        return false;
    bool ok = private_create(to, &file, &error);
    if (ok && descriptor_write(file.descriptor, content.data, content.size) &&
        fchmod(file.descriptor, mode) == 0)
        ok = private_create_commit(&file, true, &made, &error);
    else if (ok) {
        private_create_abandon(&file);
        ok = false;
    }
    unmap(&content);
    return ok;
}

// A copy, once per version: an upgrade may write over the file itself.
static bool keep_file(const char *from, const char *to, mode_t mode)
{
    struct error error;
    struct stat kept;
    if (stat(to, &kept) == 0) {
        (void)!chmod(to, kept.st_mode & 07777);  // what has changed lately is not pruned
        return true;
    }
    if (!private_make_parent(to, &error))
        return false;
    return copy_file(from, to, mode);
}

// --- packing -------------------------------------------------------------------------------------

static bool write_header(int fd, const struct buffer *description)
{
    unsigned length = (unsigned)description->length;
    unsigned char head[8] = {0x50, 0x2A, 0x4D, 0x18};
    for (int i = 0; i < 4; i++)
        head[4 + i] = (unsigned char)(length >> (8 * i));
    return descriptor_write(fd, head, sizeof(head)) &&
           descriptor_write(fd, description->data, description->length);
}

static bool sync_directory(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool ok = fd >= 0 && fsync(fd) == 0;
    if (fd >= 0)
        close(fd);
    return ok;
}

// After the first rename the image before is the newest one; after the second this one is.
static bool put_in_place(const char *directory, const char *temporary)
{
    CLEANUP_FREE char *image = memory_format("%s/" IMAGE_FILE, directory);
    CLEANUP_FREE char *previous = memory_format("%s/" IMAGE_PREVIOUS, directory);
    if (access(image, F_OK) == 0 && rename(image, previous) < 0)
        return false;
    return rename(temporary, image) == 0 && sync_directory(directory);
}

static void write_description(const char *directory, const struct buffer *description)
{
    CLEANUP_FREE char *path = memory_format("%s/image.json", directory);
    struct private_file file;
    struct error error;
    bool made;
    if (!private_create(path, &file, &error))
        return;  // the image has it, too
    if (descriptor_write(file.descriptor, description->data, description->length))
        private_create_commit(&file, true, &made, &error);
    else
        private_create_abandon(&file);
}

// The description as it was given, with what is known here.
static bool complete_description(const char *given, const char *base_hash, const char *runtime_hash,
                                 size_t core_bytes, struct buffer *description)
{
    size_t length = strlen(given);
    if (length < 3 || given[length - 1] != '}')
        return false;
    buffer_append(description, given, length - 1);
    buffer_append_format(description, ",\"base\":\"%s\",\"runtime\":\"%s\",\"core_bytes\":%zu}",
                         base_hash, runtime_hash, core_bytes);
    return !description->failed && description->length <= IMAGE_HEADER_MAX;
}

static int write_image(const char *directory, const struct mapping *core,
                       const struct mapping *base, const struct buffer *description)
{
    CLEANUP_FREE char *temporary = memory_format("%s/image.new", directory);
    unlink(temporary);  // of a save that was killed
    int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return fail("cannot make", temporary);
    bool ok = write_header(fd, description) && image_compress(fd, core, base) && fsync(fd) == 0;
    int cause = errno;
    ok = close(fd) == 0 && ok && put_in_place(directory, temporary);
    if (ok) {
        write_description(directory, description);
        return IMAGE_DONE;
    }
    errno = cause ? cause : errno;
    fail("cannot write", temporary);
    unlink(temporary);
    return IMAGE_FAILED;
}

// A session that comes back soon does not wait for its core to be unpacked: the one that was saved is
// there, in the place of the one before. Not synced, and not needed.
static void cache_core(const char *directory, const struct mapping *core)
{
    CLEANUP_FREE char *image = memory_format("%s/" IMAGE_FILE, directory);
    CLEANUP_FREE char *previous = memory_format("%s/" IMAGE_PREVIOUS, directory);
    struct region *region = region_new(SIZE_MAX);
    value description;
    CLEANUP_FREE char *path = image_describe(region, image, &description)
                                  ? image_core_path(map_get_string(description, "id"))
                                  : NULL;
    CLEANUP_FREE char *older = image_describe(region, previous, &description)
                                   ? image_core_path(map_get_string(description, "id"))
                                   : NULL;
    region_free(region);
    CLEANUP_FREE char *temporary = path ? memory_format("%s.%d", path, (int)getpid()) : NULL;
    struct error error;
    int fd = temporary && private_make_parent(path, &error)
                 ? open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600)
                 : -1;
    bool ok = fd >= 0 && descriptor_write(fd, core->data, core->size);
    if (fd >= 0 && (close(fd) < 0 || !ok || rename(temporary, path) < 0))
        unlink(temporary);
    if (older)
        unlink(older);
}

static int pack(const char *directory, const char *base, const char *runtime, const char *given)
{
    char base_hash[2 * HASH_BYTES + 1], runtime_hash[2 * HASH_BYTES + 1];
    struct mapping core, base_core;
    CLEANUP_BUFFER struct buffer description;
    buffer_init(&description, IMAGE_HEADER_MAX);
    if (!map_descriptor(IMAGE_CORE_FD, &core))
        return fail("cannot read", "the saved core");
    if (!hash_file(base, base_hash) || !map_file(base, &base_core))
        return fail("cannot read", base);
    if (!hash_file(runtime, runtime_hash))
        return fail("cannot read", runtime);
    CLEANUP_FREE char *kept_base = image_base_path(span_from(base_hash));
    CLEANUP_FREE char *kept_runtime = image_runtime_path(span_from(runtime_hash));
    if (!kept_base || !keep_file(base, kept_base, 0600))
        return fail("cannot keep", base);
    if (!kept_runtime || !keep_file(runtime, kept_runtime, 0700))
        return fail("cannot keep", runtime);
    if (!complete_description(given, base_hash, runtime_hash, core.size, &description))
        return IMAGE_FAILED;
    int status = write_image(directory, &core, &base_core, &description);
    if (status == IMAGE_DONE)
        cache_core(directory, &core);
    return status;
}

// --- unpacking -----------------------------------------------------------------------------------

// Not synced: the name holds for this boot of the machine only (image_core_path()).
static int write_core(const char *path, const struct mapping *image, const struct mapping *base,
                      size_t core_size)
{
    CLEANUP_FREE char *temporary = memory_format("%s.%d", path, (int)getpid());
    struct error error;
    if (!private_make_parent(path, &error)) {
        fprintf(stderr, "%s\n", error.message);
        return IMAGE_FAILED;
    }
    int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return fail("cannot make", temporary);
    errno = 0;
    size_t start = ZSTD_findFrameCompressedSize(image->data, image->size);  // of the core
    if (ZSTD_isError(start))
        start = image->size;
    struct mapping frames = {(char *)image->data + start, image->size - start};
    bool ok = image_decompress(fd, frames, base, core_size);
    int cause = errno;
    if (close(fd) == 0 && ok && rename(temporary, path) == 0)
        return IMAGE_DONE;
    unlink(temporary);
    errno = cause;
    return cause ? fail("cannot write", path) : IMAGE_DAMAGED;
}

// A file that is touched now and then is not pruned; not each time, because that may wait for the
// disk.
static bool is_cached(const char *core)
{
    enum { TOUCH_S = 60 };
    struct stat status;
    if (stat(core, &status) < 0)
        return false;
    if (status.st_mtime < time(NULL) - TOUCH_S)
        (void)!utimensat(AT_FDCWD, core, NULL, 0);
    return true;
}

static int unpack_described(value description, const struct mapping *image, const char *runtime,
                            const char *core)
{
    char hash[2 * HASH_BYTES + 1];
    CLEANUP_FREE char *kept_base = image_base_path(map_get_string(description, "base"));
    if (!is_cached(core)) {
        struct mapping base;
        if (!kept_base || !map_file(kept_base, &base))
            return IMAGE_DAMAGED;
        size_t core_size = (size_t)map_get_integer(description, "core_bytes", 0);
        int status = write_core(core, image, &base, core_size);
        unmap(&base);
        if (status != IMAGE_DONE)
            return status;
    }
    bool is_same =
        hash_file(runtime, hash) && span_equal_text(map_get_string(description, "runtime"), hash);
    return is_same ? IMAGE_DONE : IMAGE_OTHER_RUNTIME;
}

static int unpack(const char *path, const char *runtime, const char *core)
{
    struct mapping image;
    struct region *region = region_new(SIZE_MAX);
    value description;
    int status = IMAGE_DAMAGED;
    if (image_describe(region, path, &description) && map_file(path, &image)) {
        status = unpack_described(description, &image, runtime, core);
        unmap(&image);
    }
    region_free(region);
    return status;
}

int image_worker_main(int argc, char **argv)
{
    if (sodium_init() < 0)
        return IMAGE_FAILED;
    if (argc == 6 && strcmp(argv[1], "pack") == 0)
        return pack(argv[2], argv[3], argv[4], argv[5]);
    if (argc == 5 && strcmp(argv[1], "unpack") == 0)
        return unpack(argv[2], argv[3], argv[4]);
    return IMAGE_FAILED;
}
