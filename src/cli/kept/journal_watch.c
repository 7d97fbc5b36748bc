#include "cli/kept/journal_watch.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "value/text/json.h"

enum { STEP_MS = 100, LINES_MAX = 64 << 20 };

// The file that is read; another one takes its place when the journal is rotated.
struct watched {
    const char *path;
    int fd;              // -1: there is none yet
    struct buffer text;  // what was read of a line
};

static void print_entry(value entry)
{
    struct span event = map_get_string(entry, "event");
    value request = map_get(entry, "request");
    struct span text = map_get_string(entry, "outcome"), client = map_get_string(entry, "client");
    if (span_equal_text(event, "started"))
        text = map_get_string(request, map_get_string(request, "code").length ? "code" : "op");
    printf("%lld %.*s%s%.*s\n%.*s\n", (long long)map_get_integer(entry, "evaluation", 0),
           (int)event.length, event.data, client.length ? " by " : "", (int)client.length,
           client.data, (int)text.length, text.data);
}

static void print_line(struct span line)
{
    struct region *region = region_new(SIZE_MAX);
    struct error error;
    value entry;
    if (json_read(region, line, NULL, &entry, &error) && value_is_map(entry))
        print_entry(entry);
    region_free(region);
}

static void print_lines(struct buffer *text)
{
    size_t start = 0;
    const char *newline;
    while (start < text->length &&
           (newline = memchr(text->data + start, '\n', text->length - start))) {
        size_t end = (size_t)(newline - text->data);
        print_line((struct span){text->data + start, end - start});
        start = end + 1;
    }
    buffer_consume(text, start);
    fflush(stdout);
}

static bool is_replaced(const struct watched *watched)
{
    struct stat open_file, named;
    return stat(watched->path, &named) == 0 &&
           (watched->fd < 0 || fstat(watched->fd, &open_file) < 0 ||
            named.st_ino != open_file.st_ino);
}

static void open_again(struct watched *watched)
{
    if (watched->fd >= 0)
        close(watched->fd);
    watched->fd = open(watched->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    buffer_clear(&watched->text);
}

// What was written before a file was replaced is read first.
static bool step(struct watched *watched)
{
    bool replaced = is_replaced(watched);
    if (watched->fd >= 0)
        buffer_append_descriptor(&watched->text, watched->fd);
    print_lines(&watched->text);
    if (replaced)
        open_again(watched);
    else
        poll(NULL, 0, STEP_MS);
    return !ferror(stdout) && !watched->text.failed;
}

int sessions_watch(const char *place)
{
    CLEANUP_FREE char *path = memory_format("%s/journal.jsonl", place);
    struct watched watched = {.path = path, .fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)};
    buffer_init(&watched.text, LINES_MAX);
    if (watched.fd >= 0 && lseek(watched.fd, 0, SEEK_END) < 0)
        perror(path);
    bool ok = true;
    while (ok && access(place, F_OK) == 0)
        ok = step(&watched);
    if (watched.fd >= 0)
        close(watched.fd);
    buffer_release(&watched.text);
    if (ok)
        fputs("cadre sessions: the session was removed\n", stderr);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
