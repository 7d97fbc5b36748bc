#include "cluster/object_store.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "base/private.h"
#include "process/background.h"
#include "value/text/json.h"

enum { TRIES = 20, HASH_BYTES = 32, HASH_TEXT = 2 * HASH_BYTES + 1, OBJECT_MAX_CHUNKS = 1 << 16 };

struct object_transfer {
    struct jetstream *jetstream;
    struct background *background;
    char *subject, *manifest, *path, *temporary;
    char *about;
    object_wants_fn *wants;
    object_done_fn *done;
    void *data;
    bool stores;

    struct jetstream_request *request;
    bool is_working;  // the thread has it
    bool is_dropped;
    unsigned tries;
    int fd;
    uint64_t revision;     // of the manifest
    uint64_t first, next;  // chunks
    uint64_t count;
    uint64_t first_sequence;
    uint64_t bytes;
    char hash[HASH_TEXT];  // to fetch: as it must be
    crypto_generichash_state hashing;
    unsigned char *chunk;
    size_t length;
    int failed;  // in the thread: an errno
};

static void release(struct object_transfer *transfer)
{
    jetstream_drop(transfer->request);
    if (transfer->fd >= 0)
        close(transfer->fd);
    if (transfer->temporary)
        unlink(transfer->temporary);
    memory_free(transfer->subject);
    memory_free(transfer->manifest);
    memory_free(transfer->path);
    memory_free(transfer->temporary);
    memory_free(transfer->about);
    memory_free(transfer->chunk);
    memory_free(transfer);
}

void object_drop(struct object_transfer *transfer)
{
    if (!transfer)
        return;
    transfer->is_dropped = true;
    if (!transfer->is_working)
        release(transfer);
}

static void finish(struct object_transfer *transfer, enum object_result result, const char *why)
{
    object_done_fn *done = transfer->done;
    void *data = transfer->data;
    object_drop(transfer);
    done(data, result, why);
}

static char *chunk_subject(const struct object_transfer *transfer, uint64_t number)
{
    return memory_format("%s.%" PRIu64, transfer->subject, number);
}

// Whether it is worth to ask again; else it has ended.
static bool tries_again(struct object_transfer *transfer, const struct jetstream_answer *answer)
{
    if (answer->status == JETSTREAM_SILENT && ++transfer->tries < TRIES)
        return true;
    finish(transfer, OBJECT_FAILED,
           answer->status == JETSTREAM_REFUSED && answer->text ? answer->text
           : answer->status == JETSTREAM_CONFLICT              ? "another node has stored it"
                                                               : "the NATS servers do not answer");
    return false;
}

// --- the thread ----------------------------------------------------------------------------------

static void run_read(void *data)
{
    struct object_transfer *transfer = data;
    transfer->length = 0;
    transfer->failed = 0;
    while (transfer->length < BUS_PIECE_MAX) {
        ssize_t n = read(transfer->fd, transfer->chunk + transfer->length,
                         BUS_PIECE_MAX - transfer->length);
        if (n < 0 && errno != EINTR)
            transfer->failed = errno;
        if (n == 0 || (n < 0 && errno != EINTR))
            return;
        transfer->length += n > 0 ? (size_t)n : 0;
    }
}

static void run_write(void *data)
{
    struct object_transfer *transfer = data;
    size_t written = 0;
    transfer->failed = 0;
    while (written < transfer->length) {
        ssize_t n = write(transfer->fd, transfer->chunk + written, transfer->length - written);
        if (n < 0 && errno != EINTR) {
            transfer->failed = errno;
            return;
        }
        written += n > 0 ? (size_t)n : 0;
    }
}

static void run_replace(void *data)
{
    struct object_transfer *transfer = data;
    transfer->failed = 0;
    if (fsync(transfer->fd) < 0 || rename(transfer->temporary, transfer->path) < 0)
        transfer->failed = errno;
}

static void work(struct object_transfer *transfer, background_fn *run, background_fn *done)
{
    int failed = background_submit(transfer->background, run, done, transfer);
    transfer->is_working = failed == 0;
    if (failed < 0)
        finish(transfer, OBJECT_FAILED, strerror(-failed));
}

// After the thread. False: it has ended.
static bool has_worked(struct object_transfer *transfer)
{
    transfer->is_working = false;
    if (transfer->is_dropped)
        release(transfer);
    else if (transfer->failed)
        finish(transfer, OBJECT_FAILED, strerror(transfer->failed));
    else
        return true;
    return false;
}

// --- to store ------------------------------------------------------------------------------------

static void on_read(void *data);

static void on_purged(void *data, const struct jetstream_answer *answer)
{
    (void)answer;  // what is left is removed by the next one
    struct object_transfer *transfer = data;
    transfer->request = NULL;
    finish(transfer, OBJECT_DONE, NULL);
}

static void store_manifest(struct object_transfer *transfer);

static void on_manifest_stored(void *data, const struct jetstream_answer *answer)
{
    struct object_transfer *transfer = data;
    transfer->request = NULL;
    if (answer->status != JETSTREAM_DONE) {
        if (tries_again(transfer, answer))
            store_manifest(transfer);
        return;
    }
    if (transfer->first == 1) {  // to NATS 2.9, to purge before the first message is to purge all
        finish(transfer, OBJECT_DONE, NULL);
        return;
    }
    CLEANUP_FREE char *subject = memory_format("%s.*", transfer->subject);
    transfer->request = jetstream_purge(transfer->jetstream, IMAGES_STREAM, subject,
                                        transfer->first_sequence, on_purged, transfer);
}

static void store_manifest(struct object_transfer *transfer)
{
    CLEANUP_FREE char *text = memory_format("{\"first\":%" PRIu64 ",\"count\":%" PRIu64
                                            ",\"bytes\":%" PRIu64 ",\"hash\":\"%s\",\"about\":%s}",
                                            transfer->first, transfer->next - transfer->first,
                                            transfer->bytes, transfer->hash, transfer->about);
    CLEANUP_FREE char *id = memory_format("%s.%s", transfer->subject, transfer->hash);
    const struct jetstream_message message = {.subject = transfer->manifest,
                                              .body = span_from(text),
                                              .expected = (int64_t)transfer->revision,
                                              .id = id};
    transfer->request =
        jetstream_publish(transfer->jetstream, &message, on_manifest_stored, transfer);
}

static void end_hash(struct object_transfer *transfer, char text[HASH_TEXT])
{
    unsigned char bytes[HASH_BYTES];
    crypto_generichash_final(&transfer->hashing, bytes, sizeof(bytes));
    sodium_bin2hex(text, HASH_TEXT, bytes, sizeof(bytes));
}

static void store_chunk(struct object_transfer *transfer);

static void on_chunk_stored(void *data, const struct jetstream_answer *answer)
{
    struct object_transfer *transfer = data;
    transfer->request = NULL;
    if (answer->status != JETSTREAM_DONE) {
        if (tries_again(transfer, answer))
            store_chunk(transfer);
        return;
    }
    if (transfer->next == transfer->first)
        transfer->first_sequence = answer->sequence;
    transfer->tries = 0;
    transfer->next++;
    work(transfer, run_read, on_read);
}

static void store_chunk(struct object_transfer *transfer)
{
    CLEANUP_FREE char *subject = chunk_subject(transfer, transfer->next);
    const struct jetstream_message message = {.subject = subject,
                                              .body = {(char *)transfer->chunk, transfer->length},
                                              .expected = JETSTREAM_ANY};
    transfer->request = jetstream_publish(transfer->jetstream, &message, on_chunk_stored, transfer);
}

static void on_read(void *data)
{
    struct object_transfer *transfer = data;
    if (!has_worked(transfer))
        return;
    if (transfer->length == 0) {
        end_hash(transfer, transfer->hash);
        store_manifest(transfer);
        return;
    }
    transfer->bytes += transfer->length;
    crypto_generichash_update(&transfer->hashing, transfer->chunk, transfer->length);
    store_chunk(transfer);
}

// --- to fetch ------------------------------------------------------------------------------------

static void fetch_chunk(struct object_transfer *transfer);

static void on_replaced(void *data)
{
    struct object_transfer *transfer = data;
    if (!has_worked(transfer))
        return;
    memory_free(transfer->temporary);
    transfer->temporary = NULL;
    finish(transfer, OBJECT_DONE, NULL);
}

static void on_written(void *data)
{
    struct object_transfer *transfer = data;
    char hash[HASH_TEXT];
    if (!has_worked(transfer))
        return;
    if (++transfer->next < transfer->first + transfer->count) {
        fetch_chunk(transfer);
        return;
    }
    end_hash(transfer, hash);
    if (strcmp(hash, transfer->hash) == 0)
        work(transfer, run_replace, on_replaced);
    else
        finish(transfer, OBJECT_FAILED, "it is damaged");
}

static void on_chunk(void *data, const struct jetstream_answer *answer)
{
    struct object_transfer *transfer = data;
    transfer->request = NULL;
    if (answer->status == JETSTREAM_NONE || answer->body.length > BUS_PIECE_MAX) {
        finish(transfer, OBJECT_FAILED, "a part of it is missing");
        return;
    }
    if (answer->status != JETSTREAM_DONE) {
        if (tries_again(transfer, answer))
            fetch_chunk(transfer);
        return;
    }
    transfer->tries = 0;
    transfer->length = answer->body.length;
    memcpy(transfer->chunk, answer->body.data, transfer->length);
    crypto_generichash_update(&transfer->hashing, transfer->chunk, transfer->length);
    work(transfer, run_write, on_written);
}

static void fetch_chunk(struct object_transfer *transfer)
{
    CLEANUP_FREE char *subject = chunk_subject(transfer, transfer->next);
    transfer->request =
        jetstream_get_last(transfer->jetstream, IMAGES_STREAM, subject, on_chunk, transfer);
}

static void begin_fetch(struct object_transfer *transfer)
{
    struct error error;
    transfer->temporary = memory_format("%s.fetched", transfer->path);
    if (!private_make_parent(transfer->path, &error)) {
        finish(transfer, OBJECT_FAILED, error.message);
        return;
    }
    transfer->fd =
        open(transfer->temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0700);
    if (transfer->fd < 0)
        finish(transfer, OBJECT_FAILED, strerror(errno));
    else
        fetch_chunk(transfer);
}

// --- the manifest --------------------------------------------------------------------------------

static bool read_manifest(struct object_transfer *transfer, struct region *region, struct span text,
                          value *ret_about)
{
    struct error error;
    value map;
    if (!json_read(region, text, NULL, &map, &error) || !value_is_map(map))
        return false;
    int64_t first = map_get_integer(map, "first", 0), count = map_get_integer(map, "count", 0);
    struct span hash = map_get_string(map, "hash");
    if (first < 1 || count < 0 || count > OBJECT_MAX_CHUNKS || hash.length != HASH_TEXT - 1)
        return false;
    transfer->first = (uint64_t)first;
    transfer->count = (uint64_t)count;
    memcpy(transfer->hash, hash.data, hash.length);
    *ret_about = map_get(map, "about");
    return true;
}

static void ask_manifest(struct object_transfer *transfer);

static void use_manifest(struct object_transfer *transfer, struct region *region, struct span text)
{
    value about = value_nil();
    bool is_there = text.length > 0 && read_manifest(transfer, region, text, &about);
    if (transfer->stores) {
        transfer->first = is_there ? transfer->first + transfer->count : 1;
        transfer->next = transfer->first;
        work(transfer, run_read, on_read);
    } else if (!is_there || (transfer->wants && !transfer->wants(transfer->data, about))) {
        finish(transfer, OBJECT_NONE, NULL);
    } else {
        transfer->next = transfer->first;
        begin_fetch(transfer);
    }
}

static void on_manifest(void *data, const struct jetstream_answer *answer)
{
    struct object_transfer *transfer = data;
    transfer->request = NULL;
    if (answer->status != JETSTREAM_DONE && answer->status != JETSTREAM_NONE) {
        if (tries_again(transfer, answer))
            ask_manifest(transfer);
        return;
    }
    transfer->tries = 0;
    transfer->revision = answer->status == JETSTREAM_DONE ? answer->sequence : 0;
    struct region *region = region_new(1 << 22);
    use_manifest(transfer, region, answer->status == JETSTREAM_DONE ? answer->body : SPAN(""));
    region_free(region);
}

static void ask_manifest(struct object_transfer *transfer)
{
    transfer->request = jetstream_get_last(transfer->jetstream, MANIFESTS_STREAM,
                                           transfer->manifest, on_manifest, transfer);
}

// --- life ----------------------------------------------------------------------------------------

static struct object_transfer *new_transfer(const struct object_setup *setup, bool stores)
{
    struct object_transfer *transfer = memory_alloc_zero(sizeof(*transfer));
    *transfer = (struct object_transfer){
        .jetstream = setup->jetstream,
        .background = setup->background,
        .subject = memory_format(IMAGES_SUBJECT "%s.%s", setup->owner, setup->name),
        .manifest = memory_format(MANIFESTS_SUBJECT "%s.%s", setup->owner, setup->name),
        .path = memory_copy_string(setup->path),
        .about = memory_copy_text(setup->about.data ? setup->about.data : "", setup->about.length),
        .wants = setup->wants,
        .done = setup->done,
        .data = setup->data,
        .stores = stores,
        .fd = -1,
        .chunk = memory_alloc(BUS_PIECE_MAX)};
    crypto_generichash_init(&transfer->hashing, NULL, 0, HASH_BYTES);
    return transfer;
}

struct object_transfer *object_store(const struct object_setup *setup)
{
    struct object_transfer *transfer = new_transfer(setup, true);
    // What replaces the file meanwhile does not change what is read.
    transfer->fd = open(setup->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (transfer->fd < 0) {
        release(transfer);
        return NULL;
    }
    ask_manifest(transfer);
    return transfer;
}

struct object_transfer *object_fetch(const struct object_setup *setup)
{
    struct object_transfer *transfer = new_transfer(setup, false);
    ask_manifest(transfer);
    return transfer;
}
