// Decodes the pixels of PNG and GIF files as far as it takes to know that they are all there: rows of
// the right number and length, codes that mean something. No picture is kept, so memory is bounded
// (64 KB); time is bounded by the size that the file's header gives.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span.h"

// --- PNG -----------------------------------------------------------------------------------------

enum { PNG_HEADER_BYTES = 13, PNG_PASSES_MAX = 7 };

struct png_pixels;

// From the content of IHDR. NULL: there is no such picture.
struct png_pixels *png_pixels_new(const unsigned char header[PNG_HEADER_BYTES]);
// The content of an IDAT. False: it is damaged.
bool png_pixels_feed(struct png_pixels *pixels, const unsigned char *bytes, size_t count);
bool png_pixels_complete(const struct png_pixels *pixels);
void png_pixels_free(struct png_pixels *pixels);

// --- GIF -----------------------------------------------------------------------------------------

enum { GIF_CODES_MAX = 4096 };

// The codes of one picture. A code stands for a run of pixels; what is known of it is its length.
struct gif_pixels {
    unsigned initial_bits, bits, next;
    uint32_t waiting;  // bits that are no whole code yet
    unsigned waiting_bits;
    int previous;  // code; -1: none since the last clear
    uint64_t left;
    bool ended, failed;
    uint32_t lengths[GIF_CODES_MAX];
};

void gif_pixels_begin(struct gif_pixels *pixels, unsigned bits, uint64_t count);
// One block of data.
void gif_pixels_feed(struct gif_pixels *pixels, const unsigned char *bytes, size_t count);
bool gif_pixels_complete(const struct gif_pixels *pixels);
