#include "cli/options.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool option_integer(const char *name, const char *text, int64_t low, int64_t high,
                    int64_t *ret_number)
{
    char *end;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    if (errno || end == text || *end || number < low || number > high) {
        fprintf(stderr,
                "cadre: %s takes a whole number from %" PRId64 " to %" PRId64 "; got '%s'\n", name,
                low, high, text);
        return false;
    }
    *ret_number = number;
    return true;
}

bool option_address(const char *name, const char *text, char *ret_host, size_t size,
                    uint16_t *ret_port)
{
    const char *colon = strrchr(text, ':');
    const char *port = colon ? colon + 1 : text;
    size_t length = colon ? (size_t)(colon - text) : 0;
    if (length >= 2 && text[0] == '[' && text[length - 1] == ']') {
        text++;
        length -= 2;
    }
    int64_t number;
    if (length >= size || !option_integer(name, port, 0, 65535, &number))
        return false;
    snprintf(ret_host, size, "%.*s", (int)length, text);
    if (length == 0 || strcmp(ret_host, "localhost") == 0)
        snprintf(ret_host, size, "127.0.0.1");
    *ret_port = (uint16_t)number;
    return true;
}

static bool read_all(int descriptor, const char *name, struct buffer *content)
{
    int failed = buffer_append_descriptor(content, descriptor);
    if (failed < 0)
        fprintf(stderr, "cadre: cannot read %s: %s\n", name, strerror(-failed));
    else if (content->failed)
        fprintf(stderr, "cadre: %s is larger than %zu bytes\n", name, content->limit);
    return failed == 0 && !content->failed;
}

bool option_read_file(const char *path, size_t limit, struct buffer *ret_content)
{
    bool standard = strcmp(path, "-") == 0;
    int descriptor = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) {
        fprintf(stderr, "cadre: cannot open %s: %s\n", path, strerror(errno));
        return false;
    }
    buffer_init(ret_content, limit);
    bool done = read_all(descriptor, standard ? "standard input" : path, ret_content);
    if (!standard)
        close(descriptor);
    if (!done)
        buffer_release(ret_content);
    return done;
}
