#include "base/log.h"

#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"

static enum log_level current_level = LOG_LEVEL_WARNING;

static const char *const level_names[] = {"error", "warning", "info", "debug"};

void log_set_level(enum log_level level)
{
    current_level = level;
}

bool log_parse_level(const char *name, enum log_level *ret_level)
{
    for (unsigned i = 0; i < COUNT_OF(level_names); i++)
        if (strcmp(name, level_names[i]) == 0) {
            *ret_level = (enum log_level)i;
            return true;
        }
    return false;
}

__attribute__((format(printf, 2, 0))) static void write_line(const char *beginning,
                                                             const char *format, va_list arguments)
{
    char line[1024];
    int used = snprintf(line, sizeof(line), "cadre: %s", beginning);
    vsnprintf(line + used, sizeof(line) - (size_t)used - 1, format, arguments);
    size_t length = strlen(line);
    line[length++] = '\n';
    // One write per line keeps lines of several processes apart. A lost diagnostic is no failure, a
    // server that waits for a reader of its diagnostics is one: when a pipe is full, the line is dropped.
    struct pollfd output = {.fd = STDERR_FILENO, .events = POLLOUT};
    if (poll(&output, 1, 0) == 1)
        (void)!write(STDERR_FILENO, line, length);
}

void log_write(enum log_level level, const char *format, ...)
{
    if (level > current_level)
        return;
    char beginning[16];
    snprintf(beginning, sizeof(beginning), "%s: ", level_names[level]);
    va_list arguments;
    va_start(arguments, format);
    write_line(beginning, format, arguments);
    va_end(arguments);
}

void log_progress(const char *format, ...)
{
    if (current_level < LOG_LEVEL_WARNING)
        return;
    va_list arguments;
    va_start(arguments, format);
    write_line("", format, arguments);
    va_end(arguments);
}
