#include "tools/result/image.h"

#include <criterion/criterion.h>
#include <string.h>

#include "base/array.h"

// The smallest files of each format, of one pixel.
static const unsigned char png[] = {
    0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0x00, 0x00, 0x00, 0x0D, 0x49, 0x48,
    0x44, 0x52, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x01, 0x08, 0x00, 0x00, 0x00,
    0x00, 0x3A, 0x7E, 0x9B, 0x55, 0x00, 0x00, 0x00, 0x0A, 0x49, 0x44, 0x41, 0x54, 0x78,
    0x9C, 0x63, 0x60, 0x00, 0x00, 0x00, 0x02, 0x00, 0x01, 0x48, 0xAF, 0xA4, 0x71, 0x00,
    0x00, 0x00, 0x00, 0x49, 0x45, 0x4E, 0x44, 0xAE, 0x42, 0x60, 0x82};
static const unsigned char jpeg[] = {
    0xFF, 0xD8, 0xFF, 0xE0, 0x00, 0x10, 0x4A, 0x46, 0x49, 0x46, 0x00, 0x01, 0x01, 0x00, 0x00, 0x01,
    0x00, 0x01, 0x00, 0x00, 0xFF, 0xDB, 0x00, 0x43, 0x00, 0x50, 0x37, 0x3C, 0x46, 0x3C, 0x32, 0x50,
    0x46, 0x41, 0x46, 0x5A, 0x55, 0x50, 0x5F, 0x78, 0xC8, 0x82, 0x78, 0x6E, 0x6E, 0x78, 0xF5, 0xAF,
    0xB9, 0x91, 0xC8, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
    0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
    0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xC0, 0x00, 0x0B, 0x08, 0x00, 0x01,
    0x00, 0x02, 0x01, 0x01, 0x11, 0x00, 0xFF, 0xC4, 0x00, 0x14, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x04, 0xFF, 0xC4, 0x00, 0x14,
    0x10, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0xFF, 0xDA, 0x00, 0x08, 0x01, 0x01, 0x00, 0x00, 0x3F, 0x00, 0x1B, 0xFF, 0xD9,
};
// Its structure is that of a JPEG file; its pixels are none.
static const unsigned char jpeg_structure[] = {
    0xFF, 0xD8, 0xFF, 0xE0, 0,    4,    'J',  'F',  0xFF, 0xFF, 0xC0, 0,    11,   8,
    0,    1,    0,    2,    1,    1,    0x11, 0,    0xFF, 0xDA, 0,    8,    1,    1,
    0,    0,    0x3F, 0,    0xD2, 0xFF, 0,    0x11, 0xFF, 0xD0, 0x22, 0xFF, 0xD9,
};
static const unsigned char gif[] = {
    'G', 'I', 'F', '8', '9', 'a', 1,    0, 1, 0, 0x80, 0, 0, 0, 0, 0, 255, 255, 255,  0x21, 0xF9,
    4,   1,   0,   0,   0,   0,   0x2C, 0, 0, 0, 0,    1, 0, 1, 0, 0, 2,   1,   0x44, 0,    0x3B,
};
static const unsigned char webp_lossy[] = {
    'R', 'I', 'F',  'F',  0x22, 0,    0,    0, 'W', 'E',  'B', 'P',  'V', 'P',
    '8', ' ', 0x16, 0,    0,    0,    0x30, 1, 0,   0x9D, 1,   0x2A, 1,   0,
    1,   0,   0x0E, 0xC0, 0xFE, 0x25, 0xA4, 0, 3,   0x70, 0,   0,    0,   0,
};
static const unsigned char webp_lossless[] = {
    0x52, 0x49, 0x46, 0x46, 0x36, 0x00, 0x00, 0x00, 0x57, 0x45, 0x42, 0x50, 0x56, 0x50, 0x38, 0x4C,
    0x2A, 0x00, 0x00, 0x00, 0x2F, 0x04, 0x40, 0x00, 0x00, 0x4F, 0x30, 0x03, 0x43, 0x21, 0x20, 0x49,
    0xC2, 0xFF, 0x97, 0x83, 0xF9, 0x0F, 0x3A, 0xF3, 0xE6, 0xCD, 0xBC, 0x81, 0x9A, 0x46, 0x52, 0xE0,
    0xEC, 0x1D, 0x3F, 0x1D, 0x5A, 0xF0, 0x84, 0x16, 0x22, 0xFA, 0x1F, 0xB3, 0x76, 0xDF,
};
static const unsigned char webp_animated[] = {
    0x52, 0x49, 0x46, 0x46, 0x82, 0x00, 0x00, 0x00, 0x57, 0x45, 0x42, 0x50, 0x56, 0x50, 0x38, 0x58,
    0x0A, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0x03, 0x00, 0x00, 0x03, 0x00, 0x00, 0x41, 0x4E,
    0x49, 0x4D, 0x06, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x41, 0x4E, 0x4D, 0x46,
    0x26, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x03, 0x00, 0x00, 0x03, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x02, 0x56, 0x50, 0x38, 0x4C, 0x0E, 0x00, 0x00, 0x00, 0x2F, 0x03, 0xC0, 0x00,
    0x00, 0x07, 0x10, 0x11, 0xFD, 0x0F, 0x44, 0x44, 0xFF, 0x03, 0x41, 0x4E, 0x4D, 0x46, 0x28, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x03, 0x00, 0x00, 0x03, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x56, 0x50, 0x38, 0x4C, 0x0F, 0x00, 0x00, 0x00, 0x2F, 0x03, 0xC0, 0x00, 0x00, 0x07,
    0x10, 0x45, 0x8E, 0xFE, 0x07, 0x22, 0xA2, 0xFF, 0x01, 0x00,
};
// A file with an animation's canvas and the type of a frame; its length follows.
static const unsigned char webp_frame_start[] = {
    'R', 'I', 'F', 'F', 0, 0, 0, 0, 'W', 'E', 'B', 'P', 'V', 'P', '8', 'X', 10, 0, 0,
    0,   2,   0,   0,   0, 3, 0, 0, 3,   0,   0,   'A', 'N', 'M', 'F', 0,   0,  0, 0,
};

static const struct {
    const char *mime_type;
    const unsigned char *bytes;
    size_t length;
    uint32_t width, height;
} samples[] = {
    {"image/png", png, sizeof(png), 1, 1},
    {"image/jpeg", jpeg, sizeof(jpeg), 2, 1},
    {"image/gif", gif, sizeof(gif), 1, 1},
    {"image/webp", webp_lossy, sizeof(webp_lossy), 1, 1},
    {"image/webp", webp_lossless, sizeof(webp_lossless), 5, 2},
    {"image/webp", webp_animated, sizeof(webp_animated), 4, 4},
};

static bool check(const unsigned char *bytes, size_t length, struct image *image,
                  struct error *error)
{
    return image_check((struct span){(const char *)bytes, length}, IMAGE_PIXELS, image, error);
}

Test(image, knows_type_and_size)
{
    for (size_t i = 0; i < COUNT_OF(samples); i++) {
        struct image image;
        struct error error = {0};
        cr_assert(check(samples[i].bytes, samples[i].length, &image, &error), "%zu: %s", i,
                  error.message);
        cr_assert_str_eq(image.mime_type, samples[i].mime_type);
        cr_assert_eq(image.width, samples[i].width, "%zu: %u", i, image.width);
        cr_assert_eq(image.height, samples[i].height, "%zu: %u", i, image.height);
    }
}

// Exactly as long as the bytes, so that the sanitizer sees a read beyond them.
Test(image, refuses_every_beginning)
{
    for (size_t i = 0; i < COUNT_OF(samples); i++) {
        for (size_t length = 0; length < samples[i].length; length++) {
            unsigned char *copy = malloc(length ? length : 1);
            memcpy(copy, samples[i].bytes, length);
            struct image image;
            struct error error;
            cr_assert_not(check(copy, length, &image, &error), "%zu: %zu bytes", i, length);
            free(copy);
        }
    }
}

// A frame of an animation that ends within its own header, at the end of the file.
Test(image, refuses_a_frame_without_a_header)
{
    for (size_t length = 0; length < 16; length++) {
        size_t header = sizeof(webp_frame_start), total = header + length;
        unsigned char *copy = calloc(1, total);
        memcpy(copy, webp_frame_start, header);
        copy[4] = (unsigned char)(total - 8);
        copy[header - 4] = (unsigned char)length;
        struct image image;
        struct error error;
        cr_assert_not(check(copy, total, &image, &error), "%zu bytes", length);
        free(copy);
    }
}

// Any byte may change: no read beyond the end, and never more pixels than allowed.
Test(image, survives_any_changed_byte)
{
    for (size_t i = 0; i < COUNT_OF(samples); i++) {
        unsigned char *copy = malloc(samples[i].length);
        for (size_t at = 0; at < samples[i].length; at++) {
            for (unsigned byte = 0; byte < 256; byte++) {
                memcpy(copy, samples[i].bytes, samples[i].length);
                copy[at] = (unsigned char)byte;
                struct image image;
                struct error error;
                if (check(copy, samples[i].length, &image, &error))
                    cr_assert(image.width <= IMAGE_SIDE_MAX && image.height <= IMAGE_SIDE_MAX);
            }
        }
        free(copy);
    }
}

Test(image, finds_damage_in_a_png)
{
    unsigned char copy[sizeof(png)];
    memcpy(copy, png, sizeof(png));
    copy[45] ^= 1;  // inside the pixels: only their sum knows
    struct image image;
    struct error error;
    cr_assert_not(check(copy, sizeof(copy), &image, &error));
    cr_assert_str_eq(error.message, "The PNG image is cut off or damaged");
}

// The structure of these files is whole; their pixels are not.
Test(image, decodes_photos)
{
    unsigned char scanless[sizeof(jpeg)];
    unsigned char cut_lossy[sizeof(webp_lossy)], cut_lossless[26], cut_frame[sizeof(webp_animated)];
    struct image image;
    struct error error;
    memcpy(scanless, jpeg, sizeof(jpeg));
    memcpy(scanless + sizeof(jpeg) - 3, "\xff\xd9", 3);  // a byte less of the only scan
    memcpy(cut_lossy, webp_lossy, sizeof(webp_lossy));
    cut_lossy[21] = 0x21;  // the first partition is longer than the file
    cr_assert_not(check(jpeg_structure, sizeof(jpeg_structure), &image, &error));
    cr_assert_str_eq(error.message, "The JPEG image is cut off or damaged");
    cr_assert_not(check(scanless, sizeof(scanless) - 1, &image, &error));
    cr_assert_not(check(cut_lossy, sizeof(cut_lossy), &image, &error));
    cr_assert_str_eq(error.message, "The WebP image is cut off or damaged");
    memcpy(cut_lossless, webp_lossless, sizeof(cut_lossless));
    cut_lossless[4] = 18, cut_lossless[16] = 6;  // the lengths of the file and of its chunk
    cr_assert_not(check(cut_lossless, sizeof(cut_lossless), &image, &error));
    memcpy(cut_frame, webp_animated, sizeof(cut_frame));
    unsigned char *frame = memmem(cut_frame, sizeof(cut_frame), "ANMF", 4);
    frame[8 + 6] = 9;  // another width than that of its picture
    cr_assert_not(check(cut_frame, sizeof(cut_frame), &image, &error));
}

Test(image, limits_the_sides)
{
    unsigned char copy[sizeof(gif)];
    struct image image;
    struct error error;
    memcpy(copy, gif, sizeof(gif));
    copy[6] = IMAGE_SIDE_MAX & 0xFF, copy[7] = IMAGE_SIDE_MAX >> 8;
    cr_assert(check(copy, sizeof(copy), &image, &error));
    cr_assert_eq(image.width, IMAGE_SIDE_MAX);
    copy[6]++;
    cr_assert_not(check(copy, sizeof(copy), &image, &error));
    cr_assert_str_eq(error.message,
                     "The image is 2001 × 1 pixels, and a side may have 2000 at most");
    copy[6] = copy[7] = 0;
    cr_assert_not(check(copy, sizeof(copy), &image, &error));
    cr_assert_str_eq(error.message, "The image has no pixels");
}

Test(image, refuses_what_is_no_image)
{
    static const char *const texts[] = {"", "x", "<svg/>", "%PDF-1.7", "RIFF....WAVE", "BM......"};
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        struct image image;
        struct error error;
        cr_assert_not(image_check(span_from(texts[i]), IMAGE_PIXELS, &image, &error));
        cr_assert_str_eq(error.message, "The bytes are no PNG, JPEG, GIF or WebP image");
    }
}
