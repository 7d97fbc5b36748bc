// What the tests of the MCP library share: a region for each test, and messages read into it.
#pragma once

#include <criterion/criterion.h>

#include "mcp/jsonrpc.h"

static struct region *region;

static inline void set_up(void)
{
    region = region_new(16 << 20);
}

static inline void tear_down(void)
{
    region_free(region);
}

static inline value parse(const char *text)
{
    value parsed;
    struct error error;
    cr_assert(jsonrpc_read(region, span_from(text), &parsed, &error), "%s: %s", text,
              error.message);
    return parsed;
}
