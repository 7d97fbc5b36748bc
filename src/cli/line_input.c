#include "cli/line_input.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/utf8.h"

// A line is handed over in parts of at most this size.
enum { READ_SIZE = 65536, LINE_MAX_BYTES = 256 * 1024 };

void line_input_init(struct line_input *input, int fd)
{
    *input = (struct line_input){.fd = fd};
    buffer_init(&input->text, BUFFER_DEFAULT_LIMIT);
}

void line_input_release(struct line_input *input)
{
    buffer_release(&input->text);
}

void line_input_fill(struct line_input *input)
{
    char bytes[READ_SIZE];
    ssize_t length;
    do
        length = read(input->fd, bytes, sizeof(bytes));
    while (length < 0 && errno == EINTR);
    input->ended = length <= 0;
    if (length > 0)
        buffer_append(&input->text, bytes, (size_t)length);
}

bool line_input_take(struct line_input *input, struct buffer *line)
{
    struct span text = buffer_span(&input->text);
    const char *newline = memchr(text.data, '\n', text.length);
    if (newline)
        text.length = (size_t)(newline - text.data) + 1;
    else if (text.length < LINE_MAX_BYTES && (!input->ended || text.length == 0))
        return false;
    if (text.length > LINE_MAX_BYTES)
        text.length = utf8_cut(text.data, LINE_MAX_BYTES);
    utf8_append_repaired(line, text);
    buffer_consume(&input->text, text.length);
    return true;
}
