// Assertions that stay in release builds: a broken invariant must stop the process, never run on.
#pragma once

_Noreturn void assert_failed(const char *condition, const char *file, int line);

#define CHECK(condition) \
    (__builtin_expect(!!(condition), 1) ? (void)0 : assert_failed(#condition, __FILE__, __LINE__))
#define UNREACHABLE() assert_failed("unreachable", __FILE__, __LINE__)
