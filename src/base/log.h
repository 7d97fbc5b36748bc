// Diagnostics on standard error, one line each; standard output belongs to protocols and results. A
// line that would have to wait for its reader is dropped.
#pragma once

#include <stdbool.h>

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARNING, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

void log_set_level(enum log_level level);
bool log_parse_level(const char *name, enum log_level *ret_level);  // "error" … "debug"

void log_write(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

// A line for who waits, without a level's name; shown unless only errors are.
void log_progress(const char *format, ...) __attribute__((format(printf, 1, 2)));

#define log_error(...) log_write(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warning(...) log_write(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_info(...) log_write(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...) log_write(LOG_LEVEL_DEBUG, __VA_ARGS__)
