// Images: sessions on disk. image.zst in the directory of a session is
//
//   a skippable frame of zstd with the description, a JSON object;
//   frames of zstd with checksums: the saved core, compressed with the base core as their prefix
//   (image_codec.h).
//
// One file, so that it is replaced in one step: it is complete or not there. The one before is kept
// as image.previous.zst. The base core and the runtime that an image needs are kept by their hash in
// the state directory (bases/HASH.core, runtimes/HASH) as long as an image needs them. image.json is
// the description again, for people and other programs.
//
// The work on them is done by processes of their own (image_worker.c): it takes a second of processor
// time, and what they read may be damaged.
//
// Description: format (1), id (16 hexadecimal digits), session, evaluation (the state it is), saved
// (unix seconds), sbcl, protocol, heap_mb, threads [names], files (open files that are not saved), systems [names],
// directories [texts], base, runtime (hashes), core_bytes.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "value/value.h"

enum { IMAGE_FORMAT = 1, IMAGE_HEADER_MAX = 1 << 20 };

#define IMAGE_FILE "image.zst"
#define IMAGE_PREVIOUS "image.previous.zst"

// Exit statuses of the worker.
enum image_exit {
    IMAGE_DONE = 0,
    IMAGE_FAILED = 1,         // what it says is on standard error
    IMAGE_DAMAGED = 3,        // the image cannot be read
    IMAGE_OTHER_RUNTIME = 4,  // unpacked; it needs the runtime that was kept
};

// --- image_file.c --------------------------------------------------------------------------------

// The description of the image in `path`, a map. False: there is none, or it is damaged.
bool image_describe(struct region *region, const char *path, value *ret_description);
// "HOME-OF-STATE/bases/HASH.core" and relatives; NULL without a state directory.
char *image_base_path(struct span hash);
char *image_runtime_path(struct span hash);
// Where the unpacked core of an image is, as long as it is in the cache; NULL without a cache.
char *image_core_path(struct span id);

// --- image_worker.c: `cadre image-worker` --------------------------------------------------------

// pack DIRECTORY BASE RUNTIME DESCRIPTION: the core is descriptor IMAGE_CORE_FD.
// unpack IMAGE RUNTIME CORE: makes the file CORE.
enum { IMAGE_CORE_FD = 3 };
int image_worker_main(int argc, char **argv);
