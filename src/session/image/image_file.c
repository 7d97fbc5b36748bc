#include "session/image/image_file.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/path.h"
#include "value/text/json.h"

static uint32_t read_u32(const unsigned char *bytes)
{
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
           (uint32_t)bytes[3] << 24;
}

static bool read_header(int fd, struct region *region, value *ret_description)
{
    enum { SKIPPABLE = 0x184D2A50 };
    unsigned char head[8];
    if (pread(fd, head, sizeof(head), 0) != sizeof(head) || read_u32(head) != SKIPPABLE)
        return false;
    size_t length = read_u32(head + 4);
    if (length > IMAGE_HEADER_MAX)
        return false;
    char *text = region_alloc(region, length + 1);
    struct error error;
    return pread(fd, text, length, sizeof(head)) == (ssize_t)length &&
           json_read(region, (struct span){text, length}, NULL, ret_description, &error) &&
           value_is_map(*ret_description) &&
           map_get_integer(*ret_description, "format", 0) == IMAGE_FORMAT;
}

bool image_describe(struct region *region, const char *path, value *ret_description)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return false;
    bool ok = read_header(fd, region, ret_description);
    close(fd);
    return ok;
}

// Hashes and ids are names of files: nothing else may come from a description.
static bool is_hexadecimal(struct span text)
{
    if (text.length == 0 || text.length > 64)
        return false;
    for (size_t i = 0; i < text.length; i++)
        if (!strchr("0123456789abcdef", text.data[i]))
            return false;
    return true;
}

static char *named(char *(*home)(const char *), const char *format, struct span name)
{
    if (!is_hexadecimal(name))
        return NULL;
    CLEANUP_FREE char *text = memory_copy_text(name.data, name.length);
    CLEANUP_BUFFER struct buffer path;
    buffer_init(&path, 1024);
    for (const char *c = format; *c; c++)
        if (*c == '*')
            buffer_append_text(&path, text);
        else
            buffer_append_byte(&path, *c);
    return home(buffer_text(&path));
}

char *image_base_path(struct span hash)
{
    return named(path_in_state, "bases/*.core", hash);
}

char *image_runtime_path(struct span hash)
{
    return named(path_in_state, "runtimes/*", hash);
}

// A file that was not synced may be damaged after a crash of the machine, so its name is different
// after each boot.
char *image_core_path(struct span id)
{
    char boot[9] = "unknown";
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        if (read(fd, boot, 8) != 8)
            memcpy(boot, "unknown", 8);
        close(fd);
    }
    CLEANUP_FREE char *format = memory_format("images/*-%s.core", boot);
    return named(path_in_cache, format, id);
}
