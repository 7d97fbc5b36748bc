// Decodes JPEG and WebP images by libjpeg and libwebp. No picture is kept. Memory and time are bounded by
// the size of the picture, which the caller has checked (image.h), and by the number of scans and the
// pixels of all frames: a small file may have thousands of them.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"

enum {
    JPEG_SCANS_MAX = 100,        // those of a progressive picture; 10 are usual
    WEBP_PIXELS_MAX = 16000000,  // of all frames of an animation together
};

// Of this size, as the structure of the file has it; another picture than that is none.
bool jpeg_decodes(struct span bytes, uint32_t width, uint32_t height);
// A whole file, or the content of a frame: an optional chunk of transparency, and one with the picture.
bool webp_decodes(struct span bytes, uint32_t width, uint32_t height);
