// What the tests of signatures share.
#pragma once

#include <criterion/criterion.h>
#include <stdio.h>

#include "signature/signature.h"
#include "value/text/json.h"

enum { TEST_LIMIT = 256 << 20 };

struct signature_test {
    struct arena arena;
    struct region *region;
};

static inline struct signature_test signature_test_start(void)
{
    struct signature_test test = {.region = region_new(TEST_LIMIT)};
    arena_init(&test.arena, TEST_LIMIT);
    return test;
}

static inline void signature_test_end(struct signature_test *test)
{
    arena_release(&test->arena);
    region_free(test->region);
}

static inline const struct signature *parse(struct signature_test *test, const char *text)
{
    const struct signature *signature = NULL;
    struct error error = {0};
    bool parsed = signature_parse(&test->arena, span_from(text), &signature, &error);
    cr_assert(parsed, "%s: %s (line %u, column %u)", text, error.message, error.line, error.column);
    return signature;
}

// JSON, but strings that begin with a colon are keywords, as values and as keys.
static inline value with_keywords(struct region *region, value v)
{
    if (value_is_string(v) && value_text(v).length > 1 && value_text(v).data[0] == ':') {
        struct span text = value_text(v);
        return value_keyword(region, (struct span){text.data + 1, text.length - 1});
    }
    if (value_is_vector(v)) {
        value copy = vector_new(region, 0);
        for (size_t i = 0; i < vector_count(v); i++)
            copy = vector_push(region, copy, with_keywords(region, vector_at(v, i)));
        return copy;
    }
    if (value_is_map(v)) {
        value copy = map_new(region);
        struct map_cursor cursor = map_iterate(v);
        value key;
        value item;
        while (map_next(&cursor, &key, &item))
            copy = map_put(region, copy, with_keywords(region, key), with_keywords(region, item));
        return copy;
    }
    return value_retain(v);
}

static inline value read_value(struct region *region, const char *json)
{
    value v;
    struct error error = {0};
    bool read = json_read(region, span_from(json), NULL, &v, &error);
    cr_assert(read, "%s: %s", json, error.message);
    return with_keywords(region, v);
}

static inline char *json_text(value v)
{
    static struct buffer buffers[4];
    static size_t next;
    struct buffer *buffer = &buffers[next++ % 4];
    buffer_release(buffer);
    buffer_init(buffer, BUFFER_DEFAULT_LIMIT);
    json_write(buffer, v, 0, NULL);
    return buffer->data;
}

static inline const char *render(const struct signature *signature)
{
    static struct buffer buffers[4];
    static size_t next;
    struct buffer *buffer = &buffers[next++ % 4];
    buffer_release(buffer);
    buffer_init(buffer, BUFFER_DEFAULT_LIMIT);
    signature_render(buffer, signature);
    return buffer_text(buffer);
}
