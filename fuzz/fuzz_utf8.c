// Validation, decoding, counting and cutting must tell the same story about any bytes.
#include "base/assert.h"
#include "base/utf8.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    size_t valid = utf8_valid_prefix(text, size);
    CHECK(valid <= size);

    size_t count = 0;
    size_t at = 0;
    for (; at < size; count++) {
        uint32_t code;
        size_t taken = utf8_decode(text + at, size - at, &code);
        CHECK(taken >= 1 && taken <= size - at && taken <= UTF8_MAX_BYTES);
        if (at < valid) {
            char bytes[UTF8_MAX_BYTES];
            CHECK(utf8_encode(code, bytes) == taken);
            CHECK(__builtin_memcmp(bytes, text + at, taken) == 0);
            CHECK(utf8_offset(text, valid, count) == at);
        } else if (at == valid) {
            CHECK(code == UTF8_REPLACEMENT);
            CHECK(utf8_count(text, valid) == count);
        }
        at += taken;
    }
    CHECK(at == size);
    for (size_t limit = 0; limit <= valid; limit++) {
        size_t cut = utf8_cut(text, limit);
        CHECK(cut <= limit && limit - cut < UTF8_MAX_BYTES);
        CHECK(utf8_valid_prefix(text, cut) == cut);
    }
    CHECK(!utf8_is_ascii(text, size) || valid == size);
    return 0;
}
