// Errors of the data layers: a function returns false and fills a struct error.
// The caller owns the struct; it holds no pointers, so it may be copied and dropped freely.
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

enum error_code {
    ERROR_NONE,
    ERROR_SYNTAX,    // text that does not follow its grammar
    ERROR_ENCODING,  // bytes that are not UTF-8
    ERROR_LIMIT,     // a documented limit was reached
    ERROR_MEMORY,    // the memory budget of the operation was reached
    ERROR_INVALID,   // well-formed, but not acceptable
    ERROR_NOT_FOUND,
    ERROR_BUSY,
    ERROR_SYSTEM,  // the operating system or a library refused
};

enum { ERROR_MESSAGE_SIZE = 512 };

struct error {
    enum error_code code;
    unsigned line;    // 1-based, 0 when there is no position
    unsigned column;  // 1-based, counts code points
    char message[ERROR_MESSAGE_SIZE];
};

// Fills *error (which may be NULL) and returns false, so that callers can write `return error_set(…)`.
bool error_set(struct error *error, enum error_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool error_set_at(struct error *error, enum error_code code, unsigned line, unsigned column,
                  const char *format, ...) __attribute__((format(printf, 5, 6)));
