// Files in the cluster: images of sessions, and what these need. A file is chunks of BUS_PIECE_MAX bytes,
// the messages cadre.image.OWNER.NAME.N, and a manifest in a bucket, OWNER.NAME, that says which: stored
// last, by compare-and-set, so that a file is there whole or not at all. Chunks of an older one are
// removed afterwards.
//
// Files are read and written by a thread (process/background.h).
#pragma once

#include "cluster/jetstream.h"

struct background;

#define IMAGES_STREAM "CADRE_IMAGES"
#define IMAGES_SUBJECT "cadre.image."
#define MANIFESTS_BUCKET "cadre-images"
#define MANIFESTS_STREAM "KV_" MANIFESTS_BUCKET
#define MANIFESTS_SUBJECT "$KV." MANIFESTS_BUCKET "."

enum object_result {
    OBJECT_DONE,
    OBJECT_NONE,    // there is none, or it is not wanted
    OBJECT_FAILED,  // `why` says so
};

typedef void object_done_fn(void *data, enum object_result result, const char *why);
// Is shown what was said about the file when it was stored, a map. False: it is not fetched.
typedef bool object_wants_fn(void *data, value about);

struct object_setup {
    struct jetstream *jetstream;
    struct background *background;
    const char *owner, *name;  // tokens of a subject
    const char *path;
    struct span about;       // to store: a JSON object
    object_wants_fn *wants;  // to fetch; NULL: yes
    object_done_fn *done;    // once, unless it is dropped; not from the function that begins
    void *data;
};

struct object_transfer;
// NULL with errno: the file cannot be read.
struct object_transfer *object_store(const struct object_setup *setup);
// Replaces `path`, whole or not at all.
struct object_transfer *object_fetch(const struct object_setup *setup);
void object_drop(struct object_transfer *transfer);
