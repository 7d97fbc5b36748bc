#include "tools/result/image.h"

#include <string.h>

#include "tools/result/image_photo.h"
#include "tools/result/image_pixels.h"

// A place in the bytes; a read beyond their end sets `failed` and gives zeros.
struct reader {
    const unsigned char *data;
    size_t length, at;
    bool failed;
    enum image_depth depth;
};

static const unsigned char *take(struct reader *reader, size_t count)
{
    if (count > reader->length - reader->at) {
        reader->failed = true;
        reader->at = reader->length;
        return NULL;
    }
    const unsigned char *bytes = reader->data + reader->at;
    reader->at += count;
    return bytes;
}

static uint32_t take_big(struct reader *reader, size_t count)
{
    const unsigned char *bytes = take(reader, count);
    uint32_t number = 0;
    for (size_t i = 0; bytes && i < count; i++)
        number = number << 8 | bytes[i];
    return number;
}

static uint32_t take_little(struct reader *reader, size_t count)
{
    const unsigned char *bytes = take(reader, count);
    uint32_t number = 0;
    for (size_t i = count; bytes && i > 0; i--)
        number = number << 8 | bytes[i - 1];
    return number;
}

static bool truncated(struct error *error, const char *format)
{
    return error_set(error, ERROR_SYNTAX, "The %s image is cut off or damaged", format);
}

// Larger ones are refused without a look at their pixels.
static bool is_small(const struct image *image)
{
    return image->width <= IMAGE_SIDE_MAX && image->height <= IMAGE_SIDE_MAX;
}

// --- PNG -----------------------------------------------------------------------------------------

static uint32_t png_crc(const unsigned char *bytes, size_t count)
{
    static uint32_t table[256];
    for (uint32_t i = 0; table[255] == 0 && i < 256; i++) {
        uint32_t crc = i;
        for (int bit = 0; bit < 8; bit++)
            crc = crc & 1 ? 0xEDB88320u ^ crc >> 1 : crc >> 1;
        table[i] = crc;
    }
    uint32_t crc = 0xFFFFFFFFu;
    for (size_t i = 0; i < count; i++)
        crc = table[(crc ^ bytes[i]) & 0xFF] ^ crc >> 8;
    return ~crc;
}

struct png_chunk {
    const unsigned char *type, *content;
    size_t length;
};

static bool is_chunk(const struct png_chunk *chunk, const char *type)
{
    return memcmp(chunk->type, type, 4) == 0;
}

static bool take_chunk(struct reader *reader, struct png_chunk *ret_chunk)
{
    size_t length = take_big(reader, 4);
    const unsigned char *type = take(reader, 4);
    if (!type || length > reader->length - reader->at)
        return false;
    *ret_chunk = (struct png_chunk){type, take(reader, length), length};
    return take_big(reader, 4) == png_crc(type, length + 4) && !reader->failed;
}

// To the end of the file. False: it is cut off or damaged.
static bool read_png(struct reader *reader, struct image *image, struct png_pixels **pixels)
{
    struct png_chunk chunk;
    if (!take_chunk(reader, &chunk) || !is_chunk(&chunk, "IHDR") ||
        chunk.length != PNG_HEADER_BYTES || !(*pixels = png_pixels_new(chunk.content)))
        return false;
    struct reader header = {chunk.content, PNG_HEADER_BYTES, 0, false, reader->depth};
    image->width = take_big(&header, 4);
    image->height = take_big(&header, 4);
    if (!is_small(image))
        return true;
    bool needs_palette = chunk.content[9] == 3;
    while (take_chunk(reader, &chunk) && !is_chunk(&chunk, "IHDR")) {
        if (is_chunk(&chunk, "PLTE"))
            needs_palette = false;
        bool is_data = is_chunk(&chunk, "IDAT");
        if (is_data && needs_palette)
            return false;
        if (is_data && reader->depth == IMAGE_PIXELS &&
            !png_pixels_feed(*pixels, chunk.content, chunk.length))
            return false;
        if (is_chunk(&chunk, "IEND"))
            return reader->depth == IMAGE_STRUCTURE || png_pixels_complete(*pixels);
    }
    return false;
}

static bool check_png(struct reader *reader, struct image *image, struct error *error)
{
    struct png_pixels *pixels = NULL;
    take(reader, 8);
    bool is_whole = read_png(reader, image, &pixels);
    png_pixels_free(pixels);
    return is_whole || truncated(error, "PNG");
}

// --- JPEG ----------------------------------------------------------------------------------------

static bool is_frame_marker(uint32_t marker)
{
    return marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 && marker != 0xCC;
}

// After the header of a scan: to the next marker that is no restart.
static void skip_scan(struct reader *reader)
{
    while (reader->at + 1 < reader->length) {
        unsigned char next = reader->data[reader->at + 1];
        if (reader->data[reader->at] == 0xFF && next != 0 && (next < 0xD0 || next > 0xD7))
            return;
        reader->at++;
    }
    reader->failed = true;
}

static uint32_t take_marker(struct reader *reader)
{
    if (take_big(reader, 1) != 0xFF)
        reader->failed = true;
    uint32_t marker = 0xFF;
    while (marker == 0xFF && !reader->failed)
        marker = take_big(reader, 1);
    return marker;
}

// To the end of the file. False: it is cut off.
static bool read_jpeg(struct reader *reader, struct image *image)
{
    bool has_scan = false;
    take(reader, 2);
    for (;;) {
        uint32_t marker = take_marker(reader);
        if (reader->failed)
            return false;
        if (marker == 0xD9)
            return has_scan && image->width;
        size_t length = take_big(reader, 2), start = reader->at;
        if (length < 2 || reader->failed || !take(reader, length - 2))
            return false;
        if (is_frame_marker(marker)) {
            struct reader frame = {reader->data, start + length - 2, start, false, reader->depth};
            take(&frame, 1);
            image->height = take_big(&frame, 2);
            image->width = take_big(&frame, 2);
        } else if (marker == 0xDA) {
            has_scan = true;
            skip_scan(reader);
        }
    }
}

static bool check_jpeg(struct reader *reader, struct image *image, struct error *error)
{
    struct span bytes = {(const char *)reader->data, reader->length};
    bool is_whole =
        read_jpeg(reader, image) && (!is_small(image) || reader->depth == IMAGE_STRUCTURE ||
                                     jpeg_decodes(bytes, image->width, image->height));
    return is_whole || truncated(error, "JPEG");
}

// --- GIF -----------------------------------------------------------------------------------------

static void skip_blocks(struct reader *reader)
{
    uint32_t length;
    while ((length = take_big(reader, 1)) > 0)
        take(reader, length);
}

static void skip_colours(struct reader *reader, uint32_t flags)
{
    if (flags & 0x80)
        take(reader, (size_t)3 << ((flags & 7) + 1));
}

// A picture of the file. False: it is cut off or damaged.
static bool check_picture(struct reader *reader)
{
    struct gif_pixels pixels;
    take(reader, 4);
    uint64_t width = take_little(reader, 2), height = take_little(reader, 2);
    skip_colours(reader, take_big(reader, 1));
    gif_pixels_begin(&pixels, take_big(reader, 1), width * height);
    uint32_t length;
    while ((length = take_big(reader, 1)) > 0) {
        const unsigned char *block = take(reader, length);
        if (block)
            gif_pixels_feed(&pixels, block, length);
    }
    return gif_pixels_complete(&pixels);
}

static bool check_gif(struct reader *reader, struct image *image, struct error *error)
{
    bool has_picture = false;
    take(reader, 6);
    image->width = take_little(reader, 2);
    image->height = take_little(reader, 2);
    uint32_t flags = take_big(reader, 1);
    take(reader, 2);
    skip_colours(reader, flags);
    while (!reader->failed) {
        uint32_t kind = take_big(reader, 1);
        if (kind == 0x3B && has_picture)
            return true;
        if (kind == 0x2C && check_picture(reader)) {
            has_picture = true;
        } else if (kind == 0x21) {
            take(reader, 1);  // the kind of an extension
            skip_blocks(reader);
        } else {
            break;
        }
    }
    return truncated(error, "GIF");
}

// --- WebP ----------------------------------------------------------------------------------------

static void read_lossy(struct reader *reader, struct image *image)
{
    take(reader, 3);
    if (take_big(reader, 3) != 0x9D012A)
        reader->failed = true;
    image->width = take_little(reader, 2) & 0x3FFF;
    image->height = take_little(reader, 2) & 0x3FFF;
}

static void read_lossless(struct reader *reader, struct image *image)
{
    if (take_big(reader, 1) != 0x2F)
        reader->failed = true;
    uint32_t bits = take_little(reader, 4);
    image->width = (bits & 0x3FFF) + 1;
    image->height = (bits >> 14 & 0x3FFF) + 1;
}

static void read_canvas(struct reader *reader, struct image *image)
{
    take(reader, 4);
    image->width = take_little(reader, 3) + 1;
    image->height = take_little(reader, 3) + 1;
}

// What a file's chunks say so far.
struct webp {
    struct image *image;
    bool has_canvas, has_picture, is_animated;
    uint64_t pixels;  // of the frames of an animation
    enum image_depth depth;
};

// The header of a frame, then a picture like that of a file.
static bool check_frame(struct webp *webp, struct span frame)
{
    struct reader header = {(const unsigned char *)frame.data, frame.length, 0, false, webp->depth};
    take(&header, 6);
    uint32_t width = take_little(&header, 3) + 1, height = take_little(&header, 3) + 1;
    take(&header, 4);
    if (header.failed || width > IMAGE_SIDE_MAX || height > IMAGE_SIDE_MAX)
        return false;
    webp->is_animated = true;
    webp->pixels += (uint64_t)width * height;
    return webp->pixels > WEBP_PIXELS_MAX || webp->depth == IMAGE_STRUCTURE ||
           webp_decodes((struct span){frame.data + header.at, frame.length - header.at}, width,
                        height);
}

static bool read_part(struct webp *webp, const unsigned char *type, struct reader *chunk)
{
    struct image part = {0};
    struct span content = {(const char *)chunk->data + chunk->at, chunk->length - chunk->at};
    bool is_lossy = memcmp(type, "VP8 ", 4) == 0, is_lossless = memcmp(type, "VP8L", 4) == 0;
    bool is_frame = memcmp(type, "ANMF", 4) == 0;
    if (is_lossy)
        read_lossy(chunk, &part);
    else if (is_lossless)
        read_lossless(chunk, &part);
    else if (memcmp(type, "VP8X", 4) == 0)
        read_canvas(chunk, &part);
    if (chunk->failed || (is_frame && !check_frame(webp, content)))
        return false;
    webp->has_picture |= is_lossy || is_lossless || is_frame;
    if (part.width && !webp->has_canvas) {
        webp->image->width = part.width;
        webp->image->height = part.height;
        webp->has_canvas = true;
    }
    return true;
}

// The chunks of a file, to its end. False: it is cut off or damaged.
static bool read_webp(struct reader *reader, struct webp *webp)
{
    take(reader, 4);
    size_t size = take_little(reader, 4);
    if (size > reader->length - reader->at)
        return false;
    reader->length = reader->at + size;
    take(reader, 4);
    while (reader->at < reader->length && !reader->failed) {
        const unsigned char *type = take(reader, 4);
        size_t length = take_little(reader, 4), start = reader->at;
        if (!type || reader->failed || !take(reader, length))
            return false;
        struct reader chunk = {reader->data, start + length, start, false, reader->depth};
        if (!read_part(webp, type, &chunk))
            return false;
        if (length % 2 && reader->at < reader->length)
            take(reader, 1);
    }
    return webp->has_picture && webp->has_canvas;
}

static bool check_webp(struct reader *reader, struct image *image, struct error *error)
{
    struct webp webp = {.image = image, .depth = reader->depth};
    if (!read_webp(reader, &webp))
        return truncated(error, "WebP");
    if (webp.pixels > WEBP_PIXELS_MAX)
        return error_set(error, ERROR_LIMIT,
                         "The frames of the WebP image have more than %d million "
                         "pixels together",
                         WEBP_PIXELS_MAX / 1000000);
    struct span bytes = {(const char *)reader->data, reader->length};
    return webp.is_animated || !is_small(image) || reader->depth == IMAGE_STRUCTURE ||
           webp_decodes(bytes, image->width, image->height) || truncated(error, "WebP");
}

// --- all -----------------------------------------------------------------------------------------

static bool starts_with(struct span bytes, size_t at, const char *prefix, size_t length)
{
    return bytes.length >= at + length && memcmp(bytes.data + at, prefix, length) == 0;
}

bool image_check(struct span bytes, enum image_depth depth, struct image *ret_image,
                 struct error *error)
{
    struct reader reader = {(const unsigned char *)bytes.data, bytes.length, 0, false, depth};
    bool (*check)(struct reader *, struct image *, struct error *) = NULL;
    struct image image = {0};
    if (starts_with(bytes, 0, "\x89PNG\r\n\x1a\n", 8)) {
        image.mime_type = "image/png";
        check = check_png;
    } else if (starts_with(bytes, 0, "\xff\xd8\xff", 3)) {
        image.mime_type = "image/jpeg";
        check = check_jpeg;
    } else if (starts_with(bytes, 0, "GIF87a", 6) || starts_with(bytes, 0, "GIF89a", 6)) {
        image.mime_type = "image/gif";
        check = check_gif;
    } else if (starts_with(bytes, 0, "RIFF", 4) && starts_with(bytes, 8, "WEBP", 4)) {
        image.mime_type = "image/webp";
        check = check_webp;
    }
    if (!check)
        return error_set(error, ERROR_SYNTAX, "The bytes are no PNG, JPEG, GIF or WebP image");
    if (!check(&reader, &image, error))
        return false;
    if (image.width == 0 || image.height == 0)
        return error_set(error, ERROR_SYNTAX, "The image has no pixels");
    if (!is_small(&image))
        return error_set(error, ERROR_LIMIT,
                         "The image is %u × %u pixels, and a side may have %d at most", image.width,
                         image.height, IMAGE_SIDE_MAX);
    *ret_image = image;
    return true;
}
