#include "base/error.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/utf8.h"

void assert_failed(const char *condition, const char *file, int line)
{
    fprintf(stderr, "cadre: internal error: %s (%s:%d)\n", condition, file, line);
    abort();
}

const char *error_code_name(enum error_code code)
{
    static const char *const names[ERROR_CODE_COUNT] = {
        [ERROR_NONE] = "none",           [ERROR_SYNTAX] = "syntax", [ERROR_ENCODING] = "encoding",
        [ERROR_LIMIT] = "limit",         [ERROR_MEMORY] = "memory", [ERROR_INVALID] = "invalid",
        [ERROR_NOT_FOUND] = "not-found", [ERROR_BUSY] = "busy",     [ERROR_SYSTEM] = "system",
    };
    CHECK((unsigned)code < ERROR_CODE_COUNT);
    return names[code];
}

static bool error_fill(struct error *error, enum error_code code, unsigned line, unsigned column,
                       const char *format, va_list arguments)
{
    if (!error)
        return false;
    error->code = code;
    error->line = line;
    error->column = column;
    int length = vsnprintf(error->message, sizeof(error->message), format, arguments);
    // A cut message must not end inside a character.
    if (length >= (int)sizeof(error->message))
        error->message[utf8_cut(error->message, sizeof(error->message) - 1)] = '\0';
    return false;
}

bool error_set(struct error *error, enum error_code code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    error_fill(error, code, 0, 0, format, arguments);
    va_end(arguments);
    return false;
}

bool error_set_at(struct error *error, enum error_code code, unsigned line, unsigned column,
                  const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    error_fill(error, code, line, column, format, arguments);
    va_end(arguments);
    return false;
}
