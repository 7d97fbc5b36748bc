// Rendering a signature is a fixed point of parsing, and its JSON Schemas can be read back.
#include "base/assert.h"
#include "fuzz.h"
#include "signature/signature.h"
#include "value/text/json.h"

enum { ARENA_LIMIT = 64 << 20, REGION_LIMIT = 256 << 20 };

static const struct signature *parse(struct arena *arena, struct span text)
{
    const struct signature *signature = NULL;
    struct error error = {0};
    if (signature_parse(arena, text, &signature, &error))
        return signature;
    CHECK(error.code == ERROR_SYNTAX || error.code == ERROR_LIMIT || error.code == ERROR_ENCODING);
    CHECK(error.message[0]);
    return NULL;
}

static void render_round_trip(struct arena *arena, const struct signature *signature)
{
    CLEANUP_BUFFER struct buffer first;
    CLEANUP_BUFFER struct buffer second;
    buffer_init(&first, BUFFER_DEFAULT_LIMIT);
    buffer_init(&second, BUFFER_DEFAULT_LIMIT);
    signature_render(&first, signature);
    const struct signature *again = parse(arena, buffer_span(&first));
    // The canonical text may be longer than what was parsed, so it may be too long to parse.
    if (!again) {
        CHECK(first.length > SIGNATURE_MAX_BYTES);
        return;
    }
    signature_render(&second, again);
    CHECK(span_equal(buffer_span(&first), buffer_span(&second)));
}

static void schema_round_trip(struct arena *arena, const struct signature *signature)
{
    struct region *region = region_new(REGION_LIMIT);
    value input = signature_input_schema(signature, region);
    value output = signature_output_schema(signature, region);
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, BUFFER_DEFAULT_LIMIT);
    json_write(&text, input, JSON_SORTED, NULL);
    json_write(&text, output, JSON_SORTED, NULL);
    CHECK(!text.failed);
    const struct signature *again;
    struct error error;
    value lost;
    CHECK(signature_from_schema(arena, region, input, output, &again, &lost, &error));
    region_free(region);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena;
    arena_init(&arena, ARENA_LIMIT);
    const struct signature *signature = parse(&arena, (struct span){(const char *)data, size});
    if (signature) {
        render_round_trip(&arena, signature);
        schema_round_trip(&arena, signature);
    }
    arena_release(&arena);
    return 0;
}
