#include "base/descriptor.h"

#include <errno.h>
#include <unistd.h>

bool descriptor_write(int descriptor, const void *data, size_t length)
{
    for (const char *at = data; length > 0;) {
        ssize_t written = write(descriptor, at, length);
        if (written < 0 && errno != EINTR)
            return false;
        if (written > 0) {
            at += written;
            length -= (size_t)written;
        }
    }
    return true;
}
