#include "context/metadata.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/array.h"
#include "base/ascii.h"
#include "base/buffer.h"
#include "value/text/json.h"

static const struct {
    const char *name;
    const char *squashed;
    const char *aliases;  // squashed forms of other names for the same thing, each between spaces
} standard_keys[] = {
    {"filename", "filename", " file path filepath fname sourcefile "},
    {"start_line", "startline",
     " start line lineno linenumber fromline firstline beginline linestart "},
    {"end_line", "endline", " end toline lastline lineend "},
    {"package", "package", " pkg packagename inpackage "},
};

enum { STANDARD_KEY_COUNT = COUNT_OF(standard_keys) };

// --- checks --------------------------------------------------------------------------------------

static bool check_string(value metadata, const char *name, struct context_error *error)
{
    value item;
    if (!map_find_text(metadata, name, &item) || value_is_string(item))
        return true;
    char got[CONTEXT_GOT_SIZE];
    return context_fail(error, CONTEXT_INVALID_METADATA, "metadata.%s must be a string; got %s",
                        name, context_got(&item, got));
}

static bool check_line(value metadata, const char *name, int64_t *ret_line,
                       struct context_error *error)
{
    value item;
    if (!map_find_text(metadata, name, &item))
        return true;
    if (item.tag != VALUE_INTEGER || item.integer < 1) {
        char got[CONTEXT_GOT_SIZE];
        return context_fail(error, CONTEXT_INVALID_METADATA,
                            "metadata.%s must be an integer >= 1; got %s", name,
                            context_got(&item, got));
    }
    *ret_line = item.integer;
    return true;
}

bool metadata_check(value metadata, struct context_error *error)
{
    int64_t start = 0;
    int64_t end = 0;
    if (!check_string(metadata, "filename", error) ||
        !check_line(metadata, "start_line", &start, error) ||
        !check_line(metadata, "end_line", &end, error) || !check_string(metadata, "package", error))
        return false;
    if (start > 0 && end > 0 && end < start)
        return context_fail(error, CONTEXT_INVALID_METADATA,
                            "metadata.end_line %" PRId64 " is before start_line %" PRId64, end,
                            start);
    return true;
}

// --- near-misses ---------------------------------------------------------------------------------

enum { SQUASHED_SIZE = 32 };  // longer keys are near to nothing

// Lower case, without a leading colon and without - _ . and spaces.
static bool squash(struct span key, char squashed[SQUASHED_SIZE])
{
    size_t length = 0;
    for (size_t i = 0; i < key.length; i++) {
        char byte = key.data[i];
        if ((i == 0 && byte == ':') || byte == '-' || byte == '_' || byte == '.' || byte == ' ')
            continue;
        if (length + 1 == SQUASHED_SIZE || byte == '\0')
            return false;
        squashed[length++] = ascii_to_lower(byte);
    }
    squashed[length] = '\0';
    return length > 0;
}

// Equal, or one insertion, deletion, substitution or swap of neighbours apart.
static bool is_near(const char *a, const char *b)
{
    while (*a && *a == *b) {
        a++;
        b++;
    }
    if (strcmp(a, b) == 0)
        return true;
    if (*a && strcmp(a + 1, b) == 0)
        return true;
    if (*b && strcmp(a, b + 1) == 0)
        return true;
    if (!*a || !*b)
        return false;
    return strcmp(a + 1, b + 1) == 0 || (a[0] == b[1] && a[1] == b[0] && strcmp(a + 2, b + 2) == 0);
}

static bool is_alias(const char *squashed, const char *aliases)
{
    char between[SQUASHED_SIZE + 2];
    snprintf(between, sizeof(between), " %s ", squashed);
    return !strchr(squashed, ' ') && strstr(aliases, between);
}

// The standard key that `key` was probably meant to be, or NULL.
static const char *expected_key(struct span key)
{
    char squashed[SQUASHED_SIZE];
    for (size_t i = 0; i < STANDARD_KEY_COUNT; i++) {
        if (span_equal_text(key, standard_keys[i].name))
            return NULL;
    }
    if (!squash(key, squashed))
        return NULL;
    for (size_t i = 0; i < STANDARD_KEY_COUNT; i++) {
        if (is_near(squashed, standard_keys[i].squashed) ||
            is_alias(squashed, standard_keys[i].aliases))
            return standard_keys[i].name;
    }
    return NULL;
}

static value near_miss(struct region *region, struct span key, const char *expected)
{
    CLEANUP_BUFFER struct buffer quoted;
    buffer_init(&quoted, BUFFER_DEFAULT_LIMIT);
    json_write_string(&quoted, key);
    value warning = map_new(region);
    warning =
        map_put_text(region, warning, "code", value_string_text(region, "metadata-near-miss"));
    warning = map_put_text(region, warning, "key", value_string(region, key));
    warning = map_put_text(region, warning, "expected", value_string_text(region, expected));
    return map_put_text(region, warning, "message",
                        value_string_format(region,
                                            "metadata key %s looks like \"%s\"; kept as given",
                                            buffer_text(&quoted), expected));
}

value metadata_warnings(struct region *region, value metadata, value warnings)
{
    struct map_cursor cursor = map_iterate(metadata);
    value key;
    value item;
    while (map_next(&cursor, &key, &item)) {
        const char *expected = value_is_string(key) ? expected_key(value_text(key)) : NULL;
        if (expected && !map_find_text(metadata, expected, &item))
            warnings = vector_push(region, warnings, near_miss(region, value_text(key), expected));
    }
    if (map_find_text(metadata, "end_line", &item) && !map_find_text(metadata, "start_line", &item))
        warnings =
            vector_push(region, warnings,
                        context_warning(region, "incomplete-range",
                                        "metadata.end_line without start_line is not shown"));
    return warnings;
}
