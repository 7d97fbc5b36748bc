// Reading a journal: what another process wrote, or tore.
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "session/journal/journal.h"
#include "value/text/json.h"

// Of what was appended from `start` on, drops what stands before the first newline.
static void drop_partial_line(struct buffer *text, size_t start)
{
    const char *newline = memchr(text->data + start, '\n', text->length - start);
    size_t dropped = newline ? (size_t)(newline + 1 - text->data) - start : text->length - start;
    memmove(text->data + start, text->data + start + dropped, text->length - start - dropped);
    buffer_truncate(text, text->length - dropped);
}

// The end of a file, from the beginning of a line on. More of it than `max_bytes` where the last line is
// longer.
static void read_end(const char *directory, const char *name, size_t max_bytes, struct buffer *text)
{
    CLEANUP_FREE char *path = memory_format("%s/%s", directory, name);
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    size_t before = text->length;
    bool ok = fd >= 0 && fstat(fd, &status) == 0;
    for (off_t window = (off_t)max_bytes; ok && text->length == before; window *= 2) {
        bool is_cut = status.st_size > window;
        ok = lseek(fd, is_cut ? status.st_size - window : 0, SEEK_SET) >= 0;
        if (ok)
            ok = buffer_append_descriptor(text, fd) == 0 && is_cut;
        if (is_cut && text->length > before)
            drop_partial_line(text, before);
    }
    if (fd >= 0)
        close(fd);
}

typedef void line_fn(void *data, struct span line);

static void visit_lines(struct span text, line_fn *visit, void *data)
{
    while (text.length > 0) {
        const char *newline = memchr(text.data, '\n', text.length);
        size_t length = newline ? (size_t)(newline - text.data) : text.length;
        visit(data, (struct span){text.data, length});
        size_t taken = newline ? length + 1 : length;
        text = (struct span){text.data + taken, text.length - taken};
    }
}

struct reading {
    struct region *region;
    value entries;
};

static void read_entry(void *data, struct span line)
{
    struct reading *reading = data;
    struct error error;
    value entry;
    if (line.length > 0 && json_read(reading->region, line, NULL, &entry, &error) &&
        value_is_map(entry) && map_get(entry, "evaluation").tag == VALUE_INTEGER)
        reading->entries = vector_push(reading->region, reading->entries, entry);
}

value journal_read(struct region *region, const char *directory, size_t max_bytes)
{
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, 2 * (size_t)JOURNAL_MAX + (64 << 20));
    read_end(directory, "journal.1.jsonl", max_bytes, &text);
    read_end(directory, "journal.jsonl", max_bytes, &text);
    struct reading reading = {.region = region, .entries = vector_new(region, 0)};
    visit_lines(buffer_span(&text), read_entry, &reading);
    return reading.entries;
}

int64_t journal_last_evaluation(const char *directory)
{
    struct region *region = region_new(SIZE_MAX);
    value entries = journal_read(region, directory, JOURNAL_TAIL);
    int64_t last = 0;
    for (size_t i = 0; i < vector_count(entries); i++) {
        int64_t number = map_get_integer(vector_at(entries, i), "evaluation", 0);
        last = number > last ? number : last;
    }
    region_free(region);
    return last;
}
