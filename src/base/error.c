#include "base/error.h"

#include <stdio.h>

#include "base/utf8.h"

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
