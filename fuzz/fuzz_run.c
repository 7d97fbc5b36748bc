// Whole runs under small limits, optimised and plain: both end, with the same value or the same kind of
// failure (limits may strike in one and not in the other, since the ways differ in memory and work), and
// the Step is well-formed JSON.
#include "base/assert.h"
#include "base/utf8.h"
#include "fuzz.h"
#include "program/batch.h"
#include "value/text/json.h"
#include "value/text/print.h"

enum { TIMEOUT_MS = 2000, MEMORY = 1 << 20, FUEL = 200000 };

static void run(struct span source, bool plain, struct batch_run *ret_run)
{
    struct region *region = region_new(SIZE_MAX / 2);
    *ret_run = (struct batch_run){0};
    tool_table_init(&ret_run->tools);
    arena_init(&ret_run->arena, 1 << 20);
    struct program_inputs inputs = {.region = region, .source = source, .tools = &ret_run->tools};
    run_options_default(&inputs.options);
    inputs.options.unoptimised = plain;
    inputs.options.limits.timeout_ms = TIMEOUT_MS;
    inputs.options.limits.max_memory = MEMORY;
    inputs.options.limits.max_steps = FUEL;
    value items = vector_new(region, 0);
    for (int64_t i = 0; i < 5; i++)
        items = vector_push(region, items,
                            map_put_text(region, map_new(region), "id", value_integer(i)));
    inputs.context = map_put_text(region, map_new(region), "items", items);
    program_compile_and_run(&inputs, &ret_run->arena, &ret_run->step);
}

static bool is_limit(enum failure_kind kind)
{
    return kind == TIMEOUT || kind == MEMORY_EXCEEDED;
}

static void check_json(const struct step *step)
{
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, BUFFER_DEFAULT_LIMIT);
    step_write_json(step, &text, NULL);
    CHECK(!text.failed && utf8_is_valid(text.data, text.length));
    struct region *region = region_new(SIZE_MAX);
    struct json_options options = {.max_depth = 1000000, .reject_duplicate_names = true};
    struct error error;
    value again;
    CHECK(json_read(region, buffer_span(&text), &options, &again, &error));
    region_free(region);
}

static void check_agreement(const struct step *a, const struct step *b)
{
    if (is_limit(a->failure.kind) || is_limit(b->failure.kind))
        return;
    CHECK(a->failure.kind == b->failure.kind);
    if (a->failure.kind != FAILURE_NONE)
        return;
    CLEANUP_BUFFER struct buffer first, second;
    buffer_init(&first, BUFFER_DEFAULT_LIMIT);
    buffer_init(&second, BUFFER_DEFAULT_LIMIT);
    value_print(&first, a->result);
    value_print(&second, b->result);
    CHECK(span_equal(buffer_span(&first), buffer_span(&second)));
}

static bool tells_the_time(struct span source)
{
    return memmem(source.data, source.length, "currentTimeMillis", 17) != NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct span source = {(const char *)data, size};
    struct batch_run optimised, plain;
    run(source, false, &optimised);
    check_json(&optimised.step);
    run(source, true, &plain);
    if (!tells_the_time(source))
        check_agreement(&optimised.step, &plain.step);
    batch_run_release(&optimised);
    batch_run_release(&plain);
    return 0;
}
