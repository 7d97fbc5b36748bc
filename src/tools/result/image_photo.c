#include "tools/result/image_photo.h"

#include <setjmp.h>
#include <stdio.h>  // jpeglib.h needs it

#include <jerror.h>
#include <jpeglib.h>
#include <webp/decode.h>

#include "base/memory.h"

// --- JPEG ----------------------------------------------------------------------------------------

// libjpeg knows these by their first members.
struct jpeg_errors {
    struct jpeg_error_mgr base;
    jmp_buf leave;
    struct jpeg_progress_mgr progress;
};

static _Noreturn void on_error(j_common_ptr info)
{
    struct jpeg_errors *errors = (struct jpeg_errors *)info->err;
    longjmp(errors->leave, 1);
}

// A warning is damage that libjpeg fills up with grey, but for bytes and headers that mean nothing.
static void on_message(j_common_ptr info, int level)
{
    int code = info->err->msg_code;
    if (level < 0 && code != JWRN_EXTRANEOUS_DATA && code != JWRN_JFIF_MAJOR &&
        code != JWRN_ADOBE_XFORM)
        on_error(info);
}

static void on_progress(j_common_ptr info)
{
    if (info->is_decompressor && ((j_decompress_ptr)info)->input_scan_number > JPEG_SCANS_MAX)
        on_error(info);
}

// longjmp() leaves it: whatever the caller frees is not a local variable of here.
static void decode(struct jpeg_decompress_struct *info, JSAMPROW row)
{
    while (info->output_scanline < info->output_height)
        jpeg_read_scanlines(info, &row, 1);
    jpeg_finish_decompress(info);
}

bool jpeg_decodes(struct span bytes, uint32_t width, uint32_t height)
{
    struct jpeg_decompress_struct info = {0};
    struct jpeg_errors errors = {.progress = {.progress_monitor = on_progress}};
    JSAMPROW volatile row = NULL;
    bool volatile is_whole = false;
    info.err = jpeg_std_error(&errors.base);
    errors.base.error_exit = on_error;
    errors.base.emit_message = on_message;
    if (setjmp(errors.leave) == 0) {
        jpeg_create_decompress(&info);
        info.progress = &errors.progress;
        jpeg_mem_src(&info, (const unsigned char *)bytes.data, bytes.length);
        jpeg_read_header(&info, TRUE);
        if (info.image_width != width || info.image_height != height)
            longjmp(errors.leave, 1);
        jpeg_start_decompress(&info);
        row = memory_alloc_zero((size_t)info.output_width * (size_t)info.output_components);
        decode(&info, row);
        is_whole = true;
    }
    jpeg_destroy_decompress(&info);
    memory_free(row);
    return is_whole;
}

// --- WebP ----------------------------------------------------------------------------------------

bool webp_decodes(struct span bytes, uint32_t width, uint32_t height)
{
    const uint8_t *data = (const uint8_t *)bytes.data;
    int found_width, found_height;
    if (!WebPGetInfo(data, bytes.length, &found_width, &found_height) ||
        (uint32_t)found_width != width || (uint32_t)found_height != height)
        return false;
    uint8_t *pixels = WebPDecodeRGBA(data, bytes.length, &found_width, &found_height);
    WebPFree(pixels);
    return pixels != NULL;
}
