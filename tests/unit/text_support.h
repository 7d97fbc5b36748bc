// What the tests of values as text share: a region for each test, reading and writing.
#pragma once

#include <criterion/criterion.h>

#include "base/buffer.h"
#include "value/text/json.h"
#include "value/text/print.h"

static struct region *region;

static inline void set_up(void)
{
    region = region_new(SIZE_MAX);
}

static inline void tear_down(void)
{
    region_free(region);
}

static inline value read_with(const char *text, const struct json_options *options)
{
    value v;
    struct error error = {0};
    cr_assert(json_read(region, span_from(text), options, &v, &error), "%s: %s", text,
              error.message);
    return v;
}

static inline value read(const char *text)
{
    return read_with(text, NULL);
}

static inline const char *written(value v, unsigned flags)
{
    static struct buffer text = {.limit = BUFFER_DEFAULT_LIMIT};
    buffer_clear(&text);
    json_write(&text, v, flags, NULL);
    return buffer_text(&text);
}

static inline const char *printed(value v)
{
    static struct buffer text = {.limit = BUFFER_DEFAULT_LIMIT};
    buffer_clear(&text);
    value_print(&text, v);
    return buffer_text(&text);
}
