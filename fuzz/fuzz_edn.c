// Canonical text reads back as the same value and prints as the same text; a copy in another region and
// its hash agree; a region that is too small gives the error for it and nothing else.
#include "base/assert.h"
#include "base/utf8.h"
#include "fuzz.h"
#include "value/text/edn.h"
#include "value/text/print.h"

enum { REGION_LIMIT = 64 << 20, SMALL_REGION_LIMIT = 2000 };

static void print(struct buffer *buffer, value v)
{
    buffer_init(buffer, BUFFER_DEFAULT_LIMIT);
    value_print(buffer, v);
    CHECK(!buffer->failed);
    CHECK(utf8_is_valid(buffer->data, buffer->length));
}

static void round_trip(struct region *region, value v)
{
    CLEANUP_BUFFER struct buffer first;
    CLEANUP_BUFFER struct buffer second;
    struct error error;
    value again;
    print(&first, v);
    CHECK(edn_read(region, buffer_span(&first), NULL, &again, &error));
    CHECK(value_identical(v, again));
    CHECK(value_compare_keys(v, again) == 0);
    print(&second, again);
    CHECK(span_equal(buffer_span(&first), buffer_span(&second)));
}

static void copy(value v)
{
    struct region *region = region_new(REGION_LIMIT);
    value copied = value_copy(region, v);
    CHECK(value_identical(v, copied));
    CHECK(value_hash(v) == value_hash(copied));
    value_release(region, copied);
    region_free(region);
}

static void small_region(struct span text, bool readable)
{
    struct region *region = region_new(SMALL_REGION_LIMIT);
    struct error error;
    value v;
    if (edn_read(region, text, NULL, &v, &error))
        CHECK(readable);
    else
        CHECK(!readable || error.code == ERROR_MEMORY);
    region_free(region);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct span text = {(const char *)data, size};
    struct region *region = region_new(REGION_LIMIT);
    struct error error = {0};
    value v;
    bool readable = edn_read(region, text, NULL, &v, &error);
    if (readable) {
        round_trip(region, v);
        copy(v);
        value_release(region, v);
    } else {
        CHECK(error.code == ERROR_SYNTAX || error.code == ERROR_ENCODING ||
              error.code == ERROR_INVALID || error.code == ERROR_LIMIT);
        CHECK(error.line >= 1 && error.column >= 1 && error.message[0]);
    }
    small_region(text, readable);
    region_free(region);
    return 0;
}
