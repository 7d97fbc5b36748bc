// What the reader takes, the writer gives back: reading the written text gives an equal value, and
// writing that one gives the same text. Borrowing strings, a small region or shapes learned from earlier
// texts must not change the story.
#include "base/assert.h"
#include "base/utf8.h"
#include "fuzz.h"
#include "value/text/json.h"

enum { REGION_LIMIT = 256 << 20, SMALL_REGION_LIMIT = 4096 };

static void text_write(struct buffer *buffer, value v, unsigned flags)
{
    buffer_init(buffer, BUFFER_DEFAULT_LIMIT);
    json_write(buffer, v, flags, NULL);
    CHECK(!buffer->failed);
    CHECK(utf8_is_valid(buffer->data, buffer->length));
}

static void round_trip(value v, unsigned flags)
{
    struct region *region = region_new(REGION_LIMIT);
    CLEANUP_BUFFER struct buffer first;
    CLEANUP_BUFFER struct buffer second;
    struct error error;
    value again;
    text_write(&first, v, flags);
    CHECK(json_read(region, buffer_span(&first), &(struct json_options){0}, &again, &error));
    CHECK(value_identical(v, again));
    text_write(&second, again, flags);
    CHECK(span_equal(buffer_span(&first), buffer_span(&second)));
    region_free(region);
}

static void small_region(struct span text, bool readable)
{
    struct region *region = region_new(SMALL_REGION_LIMIT);
    struct error error;
    value v;
    if (json_read(region, text, &(struct json_options){0}, &v, &error))
        CHECK(readable);
    else
        CHECK(!readable || error.code == ERROR_MEMORY);
    region_free(region);
}

// Twice, so that the second reading finds what the first has learned.
static void sharing_region(struct span text, value expected)
{
    static struct region *shared;
    static unsigned uses;
    if (uses++ % 64 == 0) {  // there is an end to what it learns
        region_free(shared);
        shared = region_new(REGION_LIMIT);
    }
    struct region *region = region_new(REGION_LIMIT);
    for (int round = 0; round < 2; round++) {
        struct error error;
        value v;
        region_clear(region);
        shapes_share(region, shared);
        CHECK(json_read(region, text, &(struct json_options){0}, &v, &error));
        CHECK(value_identical(v, expected));
    }
    region_free(region);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct span text = {(const char *)data, size};
    struct region *region = region_new(REGION_LIMIT);
    struct error error = {0};
    value v;
    bool readable = json_read(region, text, &(struct json_options){0}, &v, &error);
    if (readable) {
        value borrowed;
        CHECK(json_read(region, text, &(struct json_options){.borrow = true}, &borrowed, &error));
        CHECK(value_identical(v, borrowed));
        CHECK(value_hash(v) == value_hash(borrowed));
        round_trip(v, JSON_SORTED);
        round_trip(borrowed, 0);
        round_trip(v, JSON_PRETTY);
        sharing_region(text, v);
    } else {
        CHECK(error.code == ERROR_SYNTAX || error.code == ERROR_ENCODING ||
              error.code == ERROR_LIMIT);
        CHECK(error.line >= 1 && error.column >= 1 && error.message[0]);
    }
    small_region(text, readable);
    region_free(region);
    return 0;
}
