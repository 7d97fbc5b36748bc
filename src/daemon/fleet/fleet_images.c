// Images of a workspace's sessions in the cluster, and the cores and runtimes that they need: stored
// after each save, fetched when a node becomes the owner. One at a time.
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/private.h"
#include "daemon/fleet/fleet_internal.h"
#include "session/image/image_file.h"
#include "value/text/json.h"

enum { HASH_MAX = 64 };

// What is stored or fetched, in this order to store; to fetch the image comes first.
enum image_part { PART_BASE, PART_RUNTIME, PART_IMAGE, PART_COUNT };

struct fleet_images {
    struct fleet_workspace *workspace;
    bool fetches;
    struct fleet_session *session;  // the one that is worked on; NULL: none
    enum image_part part;
    bool checks;  // whether the cluster has the part already
    bool is_there;
    struct object_transfer *transfer;
    char hashes[2][HASH_MAX + 1];  // of base and runtime
    char *about;
};

static void next_session(struct fleet_images *images);
static void begin_part(struct fleet_images *images);

static char *image_path(const struct fleet_images *images, const char *name)
{
    return memory_format("%s/%s/%s", images->workspace->store, images->session->name, name);
}

// A session's name as a token of a subject.
static char *token_of(const char *name)
{
    char *token = memory_copy_string(name);
    for (char *at = token; *at; at++)
        if (*at == '.')
            *at = '=';
    return token;
}

static bool read_description(struct fleet_images *images, struct region *region, value *ret_map)
{
    static const char *const members[] = {"base", "runtime"};
    CLEANUP_FREE char *path = image_path(images, IMAGE_FILE);
    if (!image_describe(region, path, ret_map))
        return false;
    for (size_t i = 0; i < 2; i++) {
        struct span hash = map_get_string(*ret_map, members[i]);
        if (hash.length == 0 || hash.length > HASH_MAX)
            return false;
        memcpy(images->hashes[i], hash.data, hash.length);
        images->hashes[i][hash.length] = '\0';
    }
    return true;
}

static char *part_path(const struct fleet_images *images)
{
    switch (images->part) {
    case PART_BASE: return image_base_path(span_from(images->hashes[0]));
    case PART_RUNTIME: return image_runtime_path(span_from(images->hashes[1]));
    default: return image_path(images, IMAGE_FILE);
    }
}

static void end_session(struct fleet_images *images, const char *why)
{
    struct fleet_workspace *workspace = images->workspace;
    if (why)
        log_warning("workspace %s, session %s: its image cannot be %s: %s", workspace->name,
                    images->session->name, images->fetches ? "fetched" : "stored", why);
    else if (!images->fetches)
        workspace->image_count++;
    images->session = NULL;
    next_session(images);
}

static void next_part(struct fleet_images *images)
{
    // To fetch: image, base, runtime. To store: base, runtime, image.
    bool is_last = images->part == (images->fetches ? PART_RUNTIME : PART_IMAGE);
    if (is_last) {
        end_session(images, NULL);
        return;
    }
    images->part = images->part == PART_IMAGE ? PART_BASE : images->part + 1;
    images->checks = !images->fetches && images->part != PART_IMAGE;
    begin_part(images);
}

// --- one part ------------------------------------------------------------------------------------

static bool note_that_it_is_there(void *data, value about)
{
    (void)about;
    ((struct fleet_images *)data)->is_there = true;
    return false;
}

// An image that is here already, or older than what the session was made into, is not wanted.
static bool wants_image(void *data, value about)
{
    struct fleet_images *images = data;
    value map;
    if (images->part != PART_IMAGE)
        return true;
    uint64_t journal = (uint64_t)map_get_integer(about, "journal", 0);
    if (journal < images->session->unsaved)
        return false;
    images->is_there = true;
    struct region *region = region_new(SIZE_MAX);
    CLEANUP_FREE char *path = image_path(images, IMAGE_FILE);
    bool has_it = image_describe(region, path, &map) &&
                  span_equal(map_get_string(map, "id"), map_get_string(about, "id"));
    region_free(region);
    return !has_it;
}

// What is on this disk is of an earlier time: the next start of the session must not find it.
static void drop_files(const struct fleet_images *images)
{
    static const char *const names[] = {IMAGE_FILE, IMAGE_PREVIOUS, "image.json"};
    for (size_t i = images->is_there ? 1 : 0; i < 3; i++) {
        CLEANUP_FREE char *path = image_path(images, names[i]);
        unlink(path);
    }
}

static void on_fetched_image(struct fleet_images *images)
{
    value map;
    drop_files(images);
    struct region *region = region_new(SIZE_MAX);
    bool goes_on = images->is_there && read_description(images, region, &map);
    region_free(region);
    if (goes_on)
        next_part(images);
    else
        end_session(images, NULL);
}

static void on_done(void *data, enum object_result result, const char *why)
{
    struct fleet_images *images = data;
    images->transfer = NULL;
    if (result == OBJECT_FAILED) {
        if (images->fetches && images->part == PART_IMAGE) {
            images->is_there = false;
            drop_files(images);
        }
        end_session(images, why);
    } else if (images->checks) {
        images->checks = false;
        if (images->is_there)
            next_part(images);
        else
            begin_part(images);
    } else if (images->fetches && images->part == PART_IMAGE) {
        on_fetched_image(images);
    } else {
        next_part(images);
    }
}

static void begin_part(struct fleet_images *images)
{
    static const char *const owners[] = {"=base", "=runtime"};
    struct fleet *fleet = images->workspace->fleet;
    bool is_image = images->part == PART_IMAGE;
    CLEANUP_FREE char *path = part_path(images);
    CLEANUP_FREE char *name = is_image ? token_of(images->session->name)
                                       : memory_copy_string(images->hashes[images->part]);
    images->is_there = false;
    if (!path || (images->fetches && !is_image && access(path, F_OK) == 0)) {
        next_part(images);
        return;
    }
    const struct object_setup setup = {
        .jetstream = fleet->jetstream,
        .background = fleet->background,
        .owner = is_image ? images->workspace->name : owners[images->part],
        .name = name,
        .path = path,
        .about = is_image && images->about ? span_from(images->about) : SPAN("{}"),
        .wants = images->checks ? note_that_it_is_there : wants_image,
        .done = on_done,
        .data = images};
    bool stores = !images->fetches && !images->checks;
    images->transfer = stores ? object_store(&setup) : object_fetch(&setup);
    if (!images->transfer)
        end_session(images, strerror(errno));
}

// --- sessions ------------------------------------------------------------------------------------

// An image is of no use before all is stored that it is made of.
static bool is_all_stored(const struct fleet_workspace *workspace)
{
    return record_log_stored(workspace->log) == record_log_appended(workspace->log);
}

static void begin_upload(struct fleet_images *images)
{
    value map;
    struct region *region = region_new(SIZE_MAX);
    images->session->wants_upload = false;
    bool ok = read_description(images, region, &map);
    if (ok) {
        struct span id = map_get_string(map, "id");
        memory_free(images->about);
        images->about =
            memory_format("{\"id\":\"%.*s\",\"evaluation\":%lld,\"journal\":%llu,\"epoch\":%llu}",
                          (int)id.length, id.data, (long long)map_get_integer(map, "evaluation", 0),
                          (unsigned long long)record_log_sequence(images->workspace->log),
                          (unsigned long long)lease_epoch(images->workspace->lease));
    }
    region_free(region);
    images->part = PART_BASE;
    images->checks = true;
    if (ok)
        begin_part(images);
    else
        end_session(images, "it cannot be read");
}

static void next_upload(struct fleet_images *images)
{
    struct fleet_workspace *workspace = images->workspace;
    struct fleet_session *session;
    if (images->session || !is_all_stored(workspace))
        return;
    TAILQ_FOREACH (session, &workspace->sessions, link)
        if (session->wants_upload)
            break;
    images->session = session;
    if (session)
        begin_upload(images);
}

static void next_fetch(struct fleet_images *images)
{
    struct fleet_workspace *workspace = images->workspace;
    struct fleet_session *session;
    TAILQ_FOREACH (session, &workspace->sessions, link)
        if (session->wants_upload)  // here: was not looked at yet
            break;
    images->session = session;
    if (!session) {
        images->fetches = false;
        fleet_workspace_use_images(workspace);
        return;
    }
    session->wants_upload = false;
    images->part = PART_IMAGE;
    images->checks = false;
    begin_part(images);
}

static void next_session(struct fleet_images *images)
{
    if (images->fetches)
        next_fetch(images);
    else
        next_upload(images);
}

static struct fleet_images *obtain(struct fleet_workspace *workspace)
{
    if (!workspace->images) {
        workspace->images = memory_alloc_zero(sizeof(*workspace->images));
        workspace->images->workspace = workspace;
    }
    return workspace->images;
}

void fleet_images_fetch(struct fleet_workspace *workspace)
{
    struct fleet_images *images = obtain(workspace);
    struct fleet_session *session;
    TAILQ_FOREACH (session, &workspace->sessions, link)
        session->wants_upload = true;
    images->fetches = true;
    next_session(images);
}

void fleet_images_upload(struct fleet_workspace *workspace)
{
    next_upload(obtain(workspace));
}

bool fleet_images_are_idle(const struct fleet_workspace *workspace)
{
    const struct fleet_session *session;
    TAILQ_FOREACH (session, &workspace->sessions, link)
        if (session->wants_upload)
            return false;
    return !workspace->images || !workspace->images->session;
}

void fleet_images_forget(struct fleet_workspace *workspace, const struct fleet_session *session)
{
    struct fleet_images *images = workspace->images;
    if (!images || images->session != session)
        return;
    object_drop(images->transfer);
    images->transfer = NULL;
    images->session = NULL;
}

void fleet_images_free(struct fleet_workspace *workspace)
{
    if (!workspace->images)
        return;
    object_drop(workspace->images->transfer);
    memory_free(workspace->images->about);
    memory_free(workspace->images);
    workspace->images = NULL;
}
