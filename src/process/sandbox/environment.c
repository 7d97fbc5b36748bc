#include "process/sandbox/environment.h"

#include <stdint.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/array.h"
#include "base/memory.h"

static bool is_secret_word(const char *word, size_t length)
{
    static const char *const words[] = {"TOKEN",  "KEY",         "SECRET", "PASSWORD",
                                        "PASSWD", "CREDENTIALS", "AUTH"};
    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (strlen(words[i]) == length && strncasecmp(words[i], word, length) == 0)
            return true;
    return false;
}

static size_t name_length(const char *entry)
{
    return strcspn(entry, "=");
}

static bool has_name(const char *entry, const char *other)
{
    size_t length = name_length(entry);
    return length == name_length(other) && strncmp(entry, other, length) == 0;
}

bool environment_is_secret(const char *entry)
{
    size_t end = name_length(entry);
    for (size_t start = 0; start <= end;) {
        size_t length = strcspn(entry + start, "_=");
        if (is_secret_word(entry + start, length))
            return true;
        start += length + 1;
    }
    return false;
}

static bool is_listed(const char *entry, const char *const *names)
{
    for (size_t i = 0; names && names[i]; i++)
        if (has_name(entry, names[i]))
            return true;
    return false;
}

static bool is_passed(const char *entry, const char *const *pass)
{
    if (has_name(entry, "CADRE_TOKEN"))
        return false;
    return !environment_is_secret(entry) || is_listed(entry, pass);
}

char **environment_new(const char *const *pass, const char *const *set)
{
    return environment_new_from(environ, pass, set);
}

char **environment_new_from(char *const *environment, const char *const *pass,
                            const char *const *set)
{
    size_t count = 0, added = 0;
    if (!environment)
        environment = environ;
    while (environment && environment[count])
        count++;
    while (set && set[added])
        added++;
    char **result = memory_alloc((count + added + 1) * sizeof(*result));
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (is_passed(environment[i], pass) && !is_listed(environment[i], set))
            result[kept++] = environment[i];
    for (size_t i = 0; i < added; i++)
        if (strchr(set[i], '='))
            result[kept++] = (char *)(uintptr_t)set[i];
    result[kept] = NULL;
    return result;
}
