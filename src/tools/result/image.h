// Images that a session wants to show: is it a whole PNG, JPEG, GIF or WebP file, and how large is
// the picture? Clients send images on to a model's provider, which refuses the whole conversation for
// a broken one.
#pragma once

#include <stdint.h>

#include "base/error.h"
#include "base/span.h"

enum { IMAGE_SIDE_MAX = 2000 };  // pixels

struct image {
    const char *mime_type;
    uint32_t width, height;
};

// How far it is looked at. Decoding takes long, and is the work of a process of its own
// (tools/picture/picture_worker.h).
enum image_depth { IMAGE_STRUCTURE, IMAGE_PIXELS };

// Walks through the file's structure from its beginning to its end, and decodes its pixels if they are
// wanted. False with a message that begins with what the bytes are.
bool image_check(struct span bytes, enum image_depth depth, struct image *ret_image,
                 struct error *error);
