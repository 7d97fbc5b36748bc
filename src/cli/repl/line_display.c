#include "cli/repl/line_display.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

#include "base/utf8.h"

static void screen_size(size_t *ret_rows, size_t *ret_columns)
{
    struct winsize size = {0};
    ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
    *ret_rows = size.ws_row > 0 ? size.ws_row : 24;
    *ret_columns = size.ws_col > 0 ? size.ws_col : 80;
}

bool line_display_works(void)
{
    const char *terminal = getenv("TERM");
    return isatty(STDOUT_FILENO) && terminal && *terminal && strcmp(terminal, "dumb") != 0;
}

// Bytes of the longest beginning that takes at most `columns`, and how many it takes.
static size_t measure(struct span text, size_t columns, size_t *ret_width)
{
    size_t offset = 0;
    *ret_width = 0;
    while (offset < text.length) {
        uint32_t code_point;
        size_t length = utf8_decode(text.data + offset, text.length - offset, &code_point);
        int width = wcwidth((wchar_t)code_point);
        size_t added = width > 0 ? (size_t)width : 0;
        if (*ret_width + added > columns)
            break;
        *ret_width += added;
        offset += length;
    }
    return offset;
}

static size_t text_width(const char *start, const char *end)
{
    size_t width;
    measure((struct span){start, (size_t)(end - start)}, SIZE_MAX, &width);
    return width;
}

struct line_place line_display_locate(struct span text, size_t offset, size_t prompt_width)
{
    size_t rows, columns, row = 0, cursor_row = 0;
    struct line_place place = {0};
    screen_size(&rows, &columns);
    const char *end = text.data + text.length, *wanted = text.data + offset;
    for (const char *line = text.data; line <= end;) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        const char *line_end = newline ? newline : end;
        if (wanted >= line && wanted < line_end) {
            size_t at = prompt_width + text_width(line, wanted);
            place.rows_up = row + at / columns;  // from the top, for now
            place.column = at % columns;
        }
        cursor_row = row + (prompt_width + text_width(line, line_end)) / columns;
        row = cursor_row + 1;
        line = line_end + 1;
    }
    place.rows_up = cursor_row - place.rows_up;
    place.visible = place.rows_up + 1 < rows;
    return place;
}

void line_display_character(const struct line_place *place, char character, bool marked)
{
    fputs("\0337", stdout);
    if (place->rows_up > 0)
        printf("\033[%zuA", place->rows_up);
    printf("\033[%zuG%s%c\033[0m\0338", place->column + 1, marked ? "\033[7m" : "", character);
    fflush(stdout);
}

// Down and up again first: on the last row of the screen that makes room.
void line_display_hint(struct span text)
{
    size_t rows, columns, width;
    screen_size(&rows, &columns);
    const char *newline = memchr(text.data, '\n', text.length);
    if (newline)
        text.length = (size_t)(newline - text.data);
    text.length = measure(text, columns - 1, &width);
    printf("\033D\033M\0337\033D\r\033[J\033[2m%.*s\033[0m\0338", (int)text.length, text.data);
    fflush(stdout);
}

void line_display_clear_below(void)
{
    fputs("\033[J", stdout);
    fflush(stdout);
}
