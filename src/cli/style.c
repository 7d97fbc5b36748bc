#include "cli/style.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/ascii.h"

bool style_wanted(int descriptor)
{
    const char *none = getenv("NO_COLOR"), *terminal = getenv("TERM");
    return isatty(descriptor) && !(none && *none) && terminal && *terminal &&
           strcmp(terminal, "dumb") != 0;
}

const char *style_sequence(enum style style)
{
    static const char *const sequences[] = {
        [STYLE_PLAIN] = "\033[0m",    [STYLE_VALUE] = "\033[32m",  [STYLE_ERROR] = "\033[31m",
        [STYLE_WARNING] = "\033[33m", [STYLE_HEADING] = "\033[1m", [STYLE_FAINT] = "\033[2m",
    };
    return sequences[style];
}

// "[Backtrace]": a word in brackets alone.
static bool is_heading(struct span line)
{
    if (line.length < 3 || line.data[0] != '[' || line.data[line.length - 1] != ']')
        return false;
    for (size_t i = 1; i + 1 < line.length; i++)
        if (!ascii_is_letter(line.data[i]))
            return false;
    return true;
}

// The style of a line, after a line of style `before`. Values are the last section of an answer; the
// others end with an empty line.
static enum style line_style(struct span line, enum style before)
{
    if (span_starts_with(line, SPAN("=> ")) || before == STYLE_VALUE)
        return STYLE_VALUE;
    if (span_starts_with(line, SPAN("[ERROR] ")))
        return STYLE_ERROR;
    if (span_equal_text(line, "[warnings]"))
        return STYLE_WARNING;
    if (is_heading(line))
        return STYLE_HEADING;
    if (span_starts_with(line, SPAN("; ")))
        return STYLE_FAINT;
    return line.length > 0 && (before == STYLE_ERROR || before == STYLE_WARNING) ? before
                                                                                 : STYLE_PLAIN;
}

void style_answer(struct buffer *out, struct span text)
{
    enum style style = STYLE_PLAIN;
    while (text.length > 0) {
        const char *newline = memchr(text.data, '\n', text.length);
        struct span line = {text.data, newline ? (size_t)(newline - text.data) : text.length};
        style = line_style(line, style);
        if (style != STYLE_PLAIN && line.length > 0)
            buffer_append_text(out, style_sequence(style));
        buffer_append_span(out, line);
        if (style != STYLE_PLAIN && line.length > 0)
            buffer_append_text(out, style_sequence(STYLE_PLAIN));
        if (newline)
            buffer_append_byte(out, '\n');
        size_t taken = line.length + (newline ? 1 : 0);
        text = (struct span){text.data + taken, text.length - taken};
    }
}
