#include "cli/context/context_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/array.h"
#include "base/ascii.h"
#include "base/memory.h"

void context_file_release(struct context_file *file)
{
    memory_free(file->name);
    buffer_release(&file->data);
}

static size_t digits_before(const char *text, size_t end)
{
    size_t start = end;
    while (start > 0 && ascii_is_digit(text[start - 1]))
        start--;
    return end - start;
}

static int64_t number_at(const char *text, size_t length)
{
    enum { MAX_DIGITS = 15 };
    int64_t number = 0;
    for (size_t i = 0; i < length && i <= MAX_DIGITS; i++)
        number = number * 10 + (text[i] - '0');
    return number;
}

// "name:A" or "name:A-B": the length of the name, or 0 when the argument ends in no range.
static size_t split_range(const char *argument, int64_t *ret_start, int64_t *ret_end)
{
    size_t length = strlen(argument);
    size_t last = digits_before(argument, length);
    if (last == 0 || last == length)
        return 0;
    size_t before = length - last - 1;
    *ret_end = number_at(argument + before + 1, last);
    *ret_start = *ret_end;
    if (argument[before] == '-') {
        size_t first = digits_before(argument, before);
        if (first == 0 || first == before)
            return 0;
        *ret_start = number_at(argument + before - first, first);
        before -= first + 1;
    }
    return argument[before] == ':' ? before : 0;
}

static bool read_all(struct context_file *file, size_t limit, struct context_error *error)
{
    int descriptor = open(file->name, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
        return context_fail(error, CONTEXT_INVALID_ARGUMENT, "cannot open %s: %s", file->name,
                            strerror(errno));
    buffer_init(&file->data, limit);
    int failed = buffer_append_descriptor(&file->data, descriptor);
    close(descriptor);
    if (failed < 0)
        return context_fail(error, CONTEXT_INVALID_ARGUMENT, "cannot read %s: %s", file->name,
                            strerror(-failed));
    if (file->data.failed)
        return context_fail(error, CONTEXT_TOO_LARGE, "%s has more than %zu bytes", file->name,
                            limit);
    file->content = buffer_span(&file->data);
    return true;
}

// The offset where line `line` (from 1) begins; the length of the text when there is no such line.
static size_t line_offset(struct span text, int64_t line)
{
    size_t offset = 0;
    for (; line > 1 && offset < text.length; line--) {
        const char *end = memchr(text.data + offset, '\n', text.length - offset);
        offset = end ? (size_t)(end - text.data) + 1 : text.length;
    }
    return offset;
}

static int64_t count_lines(struct span text)
{
    int64_t lines = 0;
    for (size_t offset = 0; offset < text.length; lines++) {
        const char *end = memchr(text.data + offset, '\n', text.length - offset);
        offset = end ? (size_t)(end - text.data) + 1 : text.length;
    }
    return lines;
}

static bool cut_lines(struct context_file *file, struct context_error *error)
{
    int64_t lines = count_lines(file->content);
    if (file->start_line < 1 || file->end_line < file->start_line)
        return context_fail(error, CONTEXT_INVALID_ARGUMENT,
                            "lines %" PRId64 "-%" PRId64 " are no range", file->start_line,
                            file->end_line);
    if (file->start_line > lines)
        return context_fail(error, CONTEXT_INVALID_ARGUMENT,
                            "%s has %" PRId64 " lines; there is no line %" PRId64, file->name,
                            lines, file->start_line);
    if (file->end_line > lines) {
        snprintf(file->message, sizeof(file->message),
                 "%s has %" PRId64 " lines; the range %" PRId64 "-%" PRId64 " ends there",
                 file->name, lines, file->start_line, file->end_line);
        file->clamped = true;
        file->end_line = lines;
    }
    size_t start = line_offset(file->content, file->start_line);
    size_t end = line_offset(file->content, file->end_line + 1);
    if (end > start && file->content.data[end - 1] == '\n')
        end--;
    file->content = (struct span){file->content.data + start, end - start};
    return true;
}

bool context_file_read(const char *argument, size_t limit, struct context_file *ret_file,
                       struct context_error *error)
{
    int64_t start = 0;
    int64_t end = 0;
    bool literal = access(argument, F_OK) == 0;
    size_t name = literal ? 0 : split_range(argument, &start, &end);
    ret_file->name = memory_copy_text(argument, name > 0 ? name : strlen(argument));
    if (!read_all(ret_file, limit, error))
        return false;
    if (name == 0)
        return true;
    ret_file->start_line = start;
    ret_file->end_line = end;
    return cut_lines(ret_file, error);
}

bool context_name_is_prose(struct span name)
{
    static const char *const endings[] = {".md", ".txt", ".log", ".rst", ".org", ".adoc", ".tex"};
    for (size_t i = 0; i < COUNT_OF(endings); i++) {
        size_t length = strlen(endings[i]);
        if (name.length > length &&
            strncasecmp(name.data + name.length - length, endings[i], length) == 0)
            return true;
    }
    return false;
}

bool context_text_has(struct span text, struct span wanted)
{
    for (size_t i = 0; i + wanted.length <= text.length; i++)
        if (strncasecmp(text.data + i, wanted.data, wanted.length) == 0)
            return true;
    return false;
}
