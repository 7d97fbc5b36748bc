// Reader and analyzer on any text: a program, or a diagnostic with a kind, a message and a position
// inside the text. Both never run anything.
#include <string.h>

#include "base/assert.h"
#include "base/utf8.h"
#include "fuzz.h"
#include "program/program.h"
#include "program/run/step.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct run_limits limits;
    run_limits_default(&limits);
    struct compile_options options = {.source = {(const char *)data, size}, .limits = &limits};
    struct diagnostic diagnostic = {0};
    struct program *program = program_compile(&options, &diagnostic);
    bool complete = program && program_check_names(program, value_nil(), &diagnostic);
    if (!complete) {
        CHECK(diagnostic.kind != FAILURE_NONE);
        CHECK(diagnostic.message[0]);
        CHECK(utf8_is_valid(diagnostic.message, strlen(diagnostic.message)));
        struct step step;
        step_fail(&step, region_new(SIZE_MAX), value_nil(), options.source, &diagnostic);
        CLEANUP_BUFFER struct buffer text;
        buffer_init(&text, BUFFER_DEFAULT_LIMIT);
        step_write_json(&step, &text, NULL);
        CHECK(!text.failed && utf8_is_valid(text.data, text.length));
        step_write_failure(&step, &text);
        step_release(&step);
    }
    program_release(program);
    return 0;
}
