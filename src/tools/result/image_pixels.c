#include "tools/result/image_pixels.h"

#define ZLIB_CONST
#include <zlib.h>

#include "base/assert.h"
#include "base/memory.h"

// --- PNG -----------------------------------------------------------------------------------------

enum { INFLATED_BYTES = 16384, FILTER_MAX = 4 };

// Rows of one pass of an interlaced picture; the only pass of others.
struct png_pass {
    uint32_t rows;
    size_t row_bytes;
};

struct png_pixels {
    z_stream stream;
    struct png_pass passes[PNG_PASSES_MAX];
    size_t pass_count, pass;  // those there are, and the one that is read
    uint32_t row;             // in the pass
    size_t in_row;            // bytes still to come; 0: the next byte is a row's filter
    bool ended;               // the compressed data
};

static void *zlib_alloc(void *data, unsigned count, unsigned size)
{
    (void)data;
    return memory_alloc_zero((size_t)count * size);
}

static void zlib_free(void *data, void *pointer)
{
    (void)data;
    memory_free(pointer);
}

static uint32_t read_big(const unsigned char *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

// Bits of a pixel; 0: no picture has this depth with this kind of colour.
static unsigned png_pixel_bits(unsigned depth, unsigned colour)
{
    static const struct {
        unsigned channels, depths;  // a bit for each depth
    } kinds[] = {[0] = {1, 1 | 2 | 4 | 8 | 16},
                 [2] = {3, 8 | 16},
                 [3] = {1, 1 | 2 | 4 | 8},
                 [4] = {2, 8 | 16},
                 [6] = {4, 8 | 16}};
    bool is_power = depth > 0 && (depth & (depth - 1)) == 0;
    if (colour >= sizeof(kinds) / sizeof(*kinds) || !is_power || !(kinds[colour].depths & depth))
        return 0;
    return kinds[colour].channels * depth;
}

static void add_pass(struct png_pixels *pixels, uint32_t columns, uint32_t rows, unsigned bits)
{
    if (columns == 0 || rows == 0)
        return;
    pixels->passes[pixels->pass_count++] =
        (struct png_pass){rows, (size_t)(((uint64_t)columns * bits + 7) / 8)};
}

// Every how many columns and rows a pass of Adam7 has a pixel, and from which one on.
static void add_interlaced_passes(struct png_pixels *pixels, uint32_t width, uint32_t height,
                                  unsigned bits)
{
    static const struct {
        uint32_t column, columns, row, rows;
    } adam7[PNG_PASSES_MAX] = {{0, 8, 0, 8}, {4, 8, 0, 8}, {0, 4, 4, 8}, {2, 4, 0, 4},
                               {0, 2, 2, 4}, {1, 2, 0, 2}, {0, 1, 1, 2}};
    for (size_t i = 0; i < PNG_PASSES_MAX; i++)
        add_pass(pixels, (width - adam7[i].column + adam7[i].columns - 1) / adam7[i].columns,
                 (height - adam7[i].row + adam7[i].rows - 1) / adam7[i].rows, bits);
}

struct png_pixels *png_pixels_new(const unsigned char header[PNG_HEADER_BYTES])
{
    uint32_t width = read_big(header), height = read_big(header + 4);
    unsigned bits = png_pixel_bits(header[8], header[9]), interlaced = header[12];
    if (bits == 0 || header[10] != 0 || header[11] != 0 || interlaced > 1 || width > INT32_MAX ||
        height > INT32_MAX)
        return NULL;
    struct png_pixels *pixels = memory_alloc_zero(sizeof(*pixels));
    pixels->stream.zalloc = zlib_alloc;
    pixels->stream.zfree = zlib_free;
    CHECK(inflateInit(&pixels->stream) == Z_OK);
    if (interlaced)
        add_interlaced_passes(pixels, width, height, bits);
    else
        add_pass(pixels, width, height, bits);
    return pixels;
}

void png_pixels_free(struct png_pixels *pixels)
{
    if (!pixels)
        return;
    inflateEnd(&pixels->stream);
    memory_free(pixels);
}

// Counts off bytes of rows; false: there are more than the picture has, or no such filter.
static bool take_rows(struct png_pixels *pixels, const unsigned char *bytes, size_t count)
{
    while (count > 0) {
        if (pixels->pass == pixels->pass_count)
            return false;
        const struct png_pass *pass = &pixels->passes[pixels->pass];
        size_t taken = 1;
        if (pixels->in_row == 0) {
            if (*bytes > FILTER_MAX)
                return false;
            pixels->in_row = pass->row_bytes;
        } else {
            taken = count < pixels->in_row ? count : pixels->in_row;
            pixels->in_row -= taken;
            if (pixels->in_row == 0 && ++pixels->row == pass->rows) {
                pixels->pass++;
                pixels->row = 0;
            }
        }
        bytes += taken;
        count -= taken;
    }
    return true;
}

bool png_pixels_feed(struct png_pixels *pixels, const unsigned char *bytes, size_t count)
{
    unsigned char inflated[INFLATED_BYTES];
    z_stream *stream = &pixels->stream;
    stream->next_in = bytes;
    stream->avail_in = (unsigned)count;
    do {
        stream->next_out = inflated;
        stream->avail_out = sizeof(inflated);
        int result = pixels->ended ? Z_STREAM_END : inflate(stream, Z_NO_FLUSH);
        if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR)
            return false;
        pixels->ended = result == Z_STREAM_END;
        if (!take_rows(pixels, inflated, sizeof(inflated) - stream->avail_out))
            return false;
    } while (!pixels->ended && stream->avail_out == 0);
    return true;
}

bool png_pixels_complete(const struct png_pixels *pixels)
{
    return pixels->ended && pixels->pass_count > 0 && pixels->pass == pixels->pass_count;
}

// --- GIF -----------------------------------------------------------------------------------------

static unsigned clear_code(const struct gif_pixels *pixels)
{
    return 1U << (pixels->initial_bits - 1);
}

static void clear_codes(struct gif_pixels *pixels)
{
    pixels->bits = pixels->initial_bits;
    pixels->next = clear_code(pixels) + 2;
    pixels->previous = -1;
}

void gif_pixels_begin(struct gif_pixels *pixels, unsigned bits, uint64_t count)
{
    *pixels = (struct gif_pixels){.left = count, .failed = bits < 1 || bits > 11 || count == 0};
    if (pixels->failed)
        return;
    pixels->initial_bits = bits + 1;
    for (unsigned i = 0; i < clear_code(pixels); i++)
        pixels->lengths[i] = 1;
    clear_codes(pixels);
}

// The code after the previous one stands for that one's pixels and one more.
static void add_code(struct gif_pixels *pixels)
{
    if (pixels->previous < 0 || pixels->next == GIF_CODES_MAX)
        return;
    pixels->lengths[pixels->next++] = pixels->lengths[pixels->previous] + 1;
    if (pixels->next == 1U << pixels->bits && pixels->bits < 12)
        pixels->bits++;
}

static void take_code(struct gif_pixels *pixels, unsigned code)
{
    if (code == clear_code(pixels)) {
        clear_codes(pixels);
    } else if (code == clear_code(pixels) + 1) {
        pixels->ended = true;
    } else if (code > pixels->next || (code == pixels->next && pixels->previous < 0)) {
        pixels->failed = true;
    } else {
        add_code(pixels);
        pixels->failed = code >= pixels->next;  // it stands for what the table has no room for
        uint32_t length = pixels->failed ? 0 : pixels->lengths[code];
        pixels->left -= length < pixels->left ? length : pixels->left;
        pixels->previous = (int)code;
    }
}

void gif_pixels_feed(struct gif_pixels *pixels, const unsigned char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        pixels->waiting |= (uint32_t)bytes[i] << pixels->waiting_bits;
        pixels->waiting_bits += 8;
        while (!pixels->failed && !pixels->ended && pixels->left > 0 &&
               pixels->waiting_bits >= pixels->bits) {
            unsigned code = pixels->waiting & ((1U << pixels->bits) - 1), bits = pixels->bits;
            pixels->waiting >>= bits;
            pixels->waiting_bits -= bits;
            take_code(pixels, code);
        }
        if (pixels->failed || pixels->ended || pixels->left == 0)
            return;  // what follows the last pixel means nothing
    }
}

bool gif_pixels_complete(const struct gif_pixels *pixels)
{
    return !pixels->failed && pixels->left == 0;
}
