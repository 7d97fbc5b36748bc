// Structure-aware: optimised and plain code of one program agree: same value or same kind of failure, same prints, same
// memory. Tokens are made from the bytes, so that most inputs are nearly programs.
#include <string.h>

#include "base/array.h"
#include "base/assert.h"
#include "fuzz.h"
#include "program/batch.h"

static const char *const tokens[] = {
    "(",
    ")",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "#{",
    "#(",
    " ",
    "0",
    "1",
    "2",
    "-3",
    "1.5",
    "nil",
    "true",
    "\"ab\"",
    ":a",
    ":b",
    "x",
    "y",
    "f",
    "%",
    "&",
    "(let [x ",
    "(fn [x] ",
    "(if ",
    "(loop [x ",
    "(recur ",
    "(for [x ",
    "(def y ",
    "(defn f [x] ",
    "(-> ",
    "(->> ",
    "(cond ",
    "(case ",
    "(when-let [x ",
    "(or ",
    "(and ",
    "(do ",
    "(map ",
    "(reduce ",
    "(filter ",
    "(conj ",
    "(assoc ",
    "(get ",
    "(count ",
    "(+ ",
    "(- ",
    "(* ",
    "(< ",
    "(= ",
    "(inc ",
    "(range 3)",
    "(str ",
    "(vec ",
    "(first ",
    "(rest ",
    "(sort ",
    "(:a ",
    "{:a 1 :b [2]}",
    "[1 2 3]",
    "(update ",
    "inc",
    "+",
    "conj",
    "(pmap ",
    "(println ",
    "(some-> ",
    "(cond-> ",
    "{:keys [a b]}",
    "[a & b]",
    "a",
    "b",
    "(merge ",
    "(into ",
    "(apply ",
    "(where :a = ",
    "(not ",
    "(comp ",
    "(partial ",
    "(try ",
    "(catch Exception e ",
    "(finally ",
    "(throw (ex-info \"t\" {:a 1})) ",
    "e",
    "(attempt ",
    "(atom ",
    "(swap! ",
    "(deref ",
    "(reset! ",
    "(volatile! ",
    "(delay ",
    "(memoize ",
    "(lazy-seq ",
    "(cons ",
    "(iterate inc ",
    "(cycle ",
    "(repeat ",
    "(range)",
    "(take 3 ",
    "(drop 1 ",
    "(take-while ",
    "(transduce ",
    "(sequence ",
    "(reduced ",
    "(reductions + ",
    "(partition 2 ",
    "(map inc)",
    "(filter odd?)",
    "(transient ",
    "(conj! ",
    "(assoc! ",
    "(persistent! ",
    "(re-matcher #\"a\" ",
    "(re-find ",
    "(re-groups ",
    "(condp = ",
    ":>>",
    "{:n/keys [a]}",
    "{a 0}",
    "(letfn [(f [x] ",
    "(binding [y ",
    "(defmulti f ",
    "(defmethod f 1 [x] ",
    "'x",
    "(if)",
    "(let [x] ",
    ")",
    ")",
    "]",
};

static void build_source(struct buffer *source, const uint8_t *data, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        buffer_append_text(source, tokens[data[i] % (COUNT_OF(tokens))]);
        buffer_append_byte(source, ' ');
    }
}

static void run(struct span source, bool plain, struct buffer *ret_json)
{
    struct arena arena;
    arena_init(&arena, 1 << 20);
    struct program_inputs inputs = {.region = region_new(SIZE_MAX / 2), .source = source};
    run_options_default(&inputs.options);
    inputs.options.limits.timeout_ms = 10000;
    inputs.options.limits.max_memory = 20000000;
    inputs.options.limits.max_steps = 200000;
    inputs.options.unoptimised = plain;
    struct step step;
    program_compile_and_run(&inputs, &arena, &step);
    bool is_limit = step.failure.kind == TIMEOUT || step.failure.kind == MEMORY_EXCEEDED;
    // Steps, bytes and time may differ; limits may strike one of the two only.
    step.has_usage = false;
    if (!is_limit)
        step_write_json(&step, ret_json, NULL);
    step_release(&step);
    arena_release(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP_BUFFER struct buffer source;
    CLEANUP_BUFFER struct buffer fast;
    CLEANUP_BUFFER struct buffer plain;
    buffer_init(&source, 1 << 20);
    buffer_init(&fast, BUFFER_DEFAULT_LIMIT);
    buffer_init(&plain, BUFFER_DEFAULT_LIMIT);
    build_source(&source, data, size < 4000 ? size : 4000);
    run(buffer_span(&source), false, &fast);
    run(buffer_span(&source), true, &plain);
    CHECK(fast.length == 0 || plain.length == 0 ||
          span_equal(buffer_span(&fast), buffer_span(&plain)));
    return 0;
}
