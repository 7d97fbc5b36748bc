#include "session/image/image_codec.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>
#include <zstd.h>

#include "base/descriptor.h"
#include "base/memory.h"

// A part lies within the window together with its prefix. Two parts for two processors: with more of
// them the base is indexed more often than is gained.
enum {
    LEVEL = 1,
    WINDOW_LOG = 27,
    OUTPUT_SIZE = 1 << 20,
    PART_MAX = 64 << 20,
    PARTS_MIN = 2,
    PARTS_MAX = 4096,
};

// --- packing -------------------------------------------------------------------------------------

static bool compress_part(int fd, const char *data, size_t size, const struct mapping *base)
{
    ZSTD_CCtx *context = ZSTD_createCCtx();
    char *bytes = memory_alloc(OUTPUT_SIZE);
    ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, LEVEL);
    ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, WINDOW_LOG);
    ZSTD_CCtx_setParameter(context, ZSTD_c_enableLongDistanceMatching, 1);
    ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
    ZSTD_CCtx_setPledgedSrcSize(context, size);
    ZSTD_CCtx_refPrefix(context, base->data, base->size);
    ZSTD_inBuffer input = {data, size, 0};
    size_t left = 1;
    while (left > 0) {
        ZSTD_outBuffer output = {bytes, OUTPUT_SIZE, 0};
        left = ZSTD_compressStream2(context, &output, &input, ZSTD_e_end);
        errno = ENOMEM;
        if (ZSTD_isError(left) || !descriptor_write(fd, bytes, output.pos))
            break;
    }
    int cause = errno;
    memory_free(bytes);
    ZSTD_freeCCtx(context);
    errno = cause;
    return left == 0;
}

bool image_compress(int fd, const struct mapping *core, const struct mapping *base)
{
    size_t parts = (core->size + PART_MAX - 1) / PART_MAX;
    if (parts < PARTS_MIN)
        parts = PARTS_MIN;
    size_t each = core->size / parts + 1;
    for (size_t at = 0; at < core->size; at += each) {
        size_t size = core->size - at < each ? core->size - at : each;
        if (!compress_part(fd, (const char *)core->data + at, size, base))
            return false;
    }
    return true;
}

// --- unpacking -----------------------------------------------------------------------------------

struct part {
    const char *frame;
    size_t frame_size;
    size_t at, size;  // in the core
};

// Threads take one part after the other.
struct unpacking {
    struct part *parts;
    size_t count;
    size_t next;
    int fd;
    const struct mapping *base;
    int failure;  // -1: none; 0: damaged; errno
};

static bool write_at(int fd, const char *data, size_t length, off_t at)
{
    for (size_t done = 0; done < length;) {
        ssize_t n = pwrite(fd, data + done, length - done, at + (off_t)done);
        if (n < 0 && errno != EINTR)
            return false;
        done += n > 0 ? (size_t)n : 0;
    }
    return true;
}

// -1: done; 0: damaged; else errno.
static int unpack_part(const struct unpacking *all, const struct part *part)
{
    char *bytes =
        mmap(NULL, part->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (bytes == MAP_FAILED)
        return ENOMEM;
    madvise(bytes, part->size, MADV_HUGEPAGE);
    ZSTD_DCtx *context = ZSTD_createDCtx();
    ZSTD_DCtx_refPrefix(context, all->base->data, all->base->size);
    size_t made = ZSTD_decompressDCtx(context, bytes, part->size, part->frame, part->frame_size);
    ZSTD_freeDCtx(context);
    int failure = made == part->size ? -1 : 0;
    if (failure < 0 && !write_at(all->fd, bytes, part->size, (off_t)part->at))
        failure = errno;
    munmap(bytes, part->size);
    return failure;
}

static void *unpack_parts(void *data)
{
    struct unpacking *all = data;
    size_t index;
    while ((index = __atomic_fetch_add(&all->next, 1, __ATOMIC_RELAXED)) < all->count) {
        int failure = unpack_part(all, &all->parts[index]);
        if (failure >= 0)
            __atomic_store_n(&all->failure, failure, __ATOMIC_RELAXED);
    }
    return NULL;
}

// 0: they are damaged, or some are missing.
static size_t find_parts(struct mapping frames, size_t core_size, struct part parts[PARTS_MAX])
{
    size_t count = 0, total = 0;
    const char *at = frames.data;
    for (size_t left = frames.size; left > 0; count++) {
        size_t length = ZSTD_findFrameCompressedSize(at, left);
        unsigned long long size = ZSTD_getFrameContentSize(at, left);
        // An unknown size, or none because of an error, is a very large one.
        if (count == PARTS_MAX || ZSTD_isError(length) || size == 0 || size > core_size - total)
            return 0;
        parts[count] = (struct part){at, length, total, (size_t)size};
        total += (size_t)size;
        at += length;
        left -= length;
    }
    return total == core_size ? count : 0;
}

bool image_decompress(int fd, struct mapping frames, const struct mapping *base, size_t core_size)
{
    struct part *parts = memory_alloc(PARTS_MAX * sizeof(*parts));
    struct unpacking all = {.parts = parts, .fd = fd, .base = base, .failure = -1};
    all.count = find_parts(frames, core_size, parts);
    if (all.count == 0)
        all.failure = 0;
    pthread_t other;
    bool has_other = all.count > 1 && pthread_create(&other, NULL, unpack_parts, &all) == 0;
    unpack_parts(&all);
    if (has_other)
        pthread_join(other, NULL);
    memory_free(parts);
    errno = all.failure > 0 ? all.failure : 0;
    return all.failure < 0;
}
