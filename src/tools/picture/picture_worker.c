#include "tools/picture/picture_worker.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/descriptor.h"
#include "base/memory.h"
#include "process/sandbox/sandbox.h"
#include "tools/result/image.h"
#include "tools/result/result_shown.h"

enum { INPUT_MAX = 2 * SHOWN_BYTES_TOGETHER_MAX };

static void check(struct span text, struct buffer *answers)
{
    struct image image;
    struct error error = {0};
    size_t size = text.length / 4 * 3 + 3, length;
    CLEANUP_FREE unsigned char *bytes = memory_alloc(size);
    if (sodium_base642bin(bytes, size, text.data, text.length, NULL, &length, NULL,
                          sodium_base64_VARIANT_ORIGINAL) != 0)
        buffer_append_text(answers, "The image is no base64");
    else if (!image_check((struct span){(char *)bytes, length}, IMAGE_PIXELS, &image, &error))
        buffer_append_text(answers, error.message);
    buffer_append_byte(answers, '\n');
}

int picture_worker_main(void)
{
    struct sandbox_report report;
    CLEANUP_BUFFER struct buffer input, answers;
    buffer_init(&input, INPUT_MAX);
    buffer_init(&answers, BUFFER_DEFAULT_LIMIT);
    if (sodium_init() < 0 || sandbox_lock((size_t)PICTURE_MEMORY_MB << 20, &report) < 0 ||
        buffer_append_descriptor(&input, STDIN_FILENO) < 0 || input.failed)
        return EXIT_FAILURE;
    struct span rest = buffer_span(&input);
    for (const char *end; (end = memchr(rest.data, '\n', rest.length));) {
        size_t length = (size_t)(end - rest.data);
        check((struct span){rest.data, length}, &answers);
        rest.data += length + 1;
        rest.length -= length + 1;
    }
    // Nothing is left to be done at exit, where LeakSanitizer would look at its own process from another.
    _exit(descriptor_write(STDOUT_FILENO, answers.data, answers.length) ? EXIT_SUCCESS
                                                                        : EXIT_FAILURE);
}
