#include "program/program.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "program/compile/analysis.h"
#include "program/compile/clojure_hints.h"
#include "program/compile/suggest.h"
#include "program/run/step.h"
#include "value/collection/key_lookup.h"

// --- compiling -----------------------------------------------------------------------------------

// With a list the problems go there as well, and the program is not fit to run.
static bool compile_into(struct program *program, const struct compile_options *options,
                         struct diagnostic *diagnostic, struct problem_list *problems)
{
    struct compilation compilation = {
        .arena = &program->arena,
        .limits = options->limits,
        .diagnostic = diagnostic,
        .problems = problems,
    };
    if (__builtin_setjmp(compilation.exit)) {
        region_free(compilation.scratch);
        return false;
    }
    if (options->source.length > options->limits->max_source ||
        options->source.length >= UINT32_MAX)
        compilation_fail_limit(&compilation, PROGRAM_TOO_LARGE, 0, "max_source",
                               options->limits->max_source, "the source has more bytes than");
    char *text = compilation_alloc(&compilation, options->source.length + 1);
    if (options->source.length)
        memcpy(text, options->source.data, options->source.length);
    program->source = (struct span){text, options->source.length};
    compilation.source = program->source;
    analyze_program(&compilation, program, options);
    region_free(compilation.scratch);
    return true;
}

static struct program *program_new(const struct compile_options *options)
{
    struct arena arena;
    // The tree of a program is at most a few hundred times its text.
    arena_init(&arena, (size_t)1 << 32);
    struct program *program = arena_alloc_zero(&arena, sizeof(*program));
    if (program)
        *program = (struct program){.references = 1, .arena = arena, .tools = options->tools};
    return program;
}

static void add_unbound_names(const struct program *program, value memory,
                              struct problem_list *problems);

// Compiles once more, for all the problems. A single one is in the diagnostic already.
static void collect_problems(const struct compile_options *options, struct diagnostic *diagnostic)
{
    struct problem_list *problems = &diagnostic->problems;
    struct diagnostic last = {0};
    struct program *program = program_new(options);
    if (!program)
        return;
    bool ended = compile_into(program, options, &last, problems);
    if (ended && options->memory)
        add_unbound_names(program, *options->memory, problems);
    else if (!ended && !last.limit_option)
        problem_list_add(problems, program->source, last.kind, last.offset, last.message);
    program_release(program);
    if (problems->count == 1)
        problems->count = 0;
}

struct program *program_compile(const struct compile_options *options,
                                struct diagnostic *ret_diagnostic)
{
    struct program *program = program_new(options);
    *ret_diagnostic = (struct diagnostic){0};
    if (!program) {
        ret_diagnostic->kind = MEMORY_EXCEEDED;
        strcpy(ret_diagnostic->message, "memory_exceeded: the system has no memory");
        return NULL;
    }
    if (compile_into(program, options, ret_diagnostic, NULL))
        return program;
    program_release(program);
    if (!ret_diagnostic->limit_option)
        collect_problems(options, ret_diagnostic);
    return NULL;
}

struct program *program_retain(struct program *program)
{
    atomic_fetch_add_explicit(&program->references, 1, memory_order_relaxed);
    return program;
}

void program_release(struct program *program)
{
    if (program && atomic_fetch_sub_explicit(&program->references, 1, memory_order_acq_rel) == 1) {
        struct arena arena = program->arena;  // holds the program itself
        arena_release(&arena);
    }
}

// --- undefined names -----------------------------------------------------------------------------

enum { LISTED_NAMES = 32, SUGGESTED_NAMES = 8 };  // of the undefined names

// Names are exact: as a string or a keyword, but no `-` becomes `_`.
static bool memory_has(value memory, struct span name)
{
    if (memory.tag != VALUE_MAP)
        return false;
    value item;
    if (map_find(memory, value_string_borrow(NULL, name), &item))
        return true;
    value key;
    return map_find_entry_flexible(memory, value_string_borrow(NULL, name), &key, &item) &&
           span_equal(value_text(key), name);
}

static bool is_unbound(const struct global *global, value memory)
{
    return !global->is_defined && global->is_required && !memory_has(memory, global->name);
}

// The first unbound name in the source behind another one (NULL: at all).
static const struct global *next_unbound(const struct program *program, value memory,
                                         const struct global *after)
{
    const struct global *next = NULL;
    for (size_t i = 0; i < program->global_count; i++) {
        const struct global *global = &program->globals[i];
        if ((!after || global->offset > after->offset) &&
            (!next || global->offset < next->offset) && is_unbound(global, memory))
            next = global;
    }
    return next;
}

static struct suggestion suggest_name(const struct program *program, const struct global *global)
{
    struct suggestion best = global->local;
    for (size_t i = 0; i < program->global_count; i++) {
        if (program->globals[i].is_defined)
            suggest_closer(&best, global->name, program->globals[i].name);
    }
    suggest_builtin(&best, global->name);
    return best;
}

// What to write instead of an unbound name; NULL when nothing is close.
static const char *hint_for(const struct program *program, const struct global *global,
                            struct diagnostic *diagnostic, char text[SUGGESTION_TEXT])
{
    const char *advice = clojure_hint_find(global->name);
    return advice ? advice : suggest_text(diagnostic, suggest_name(program, global), text);
}

static void add_unbound_names(const struct program *program, value memory,
                              struct problem_list *problems)
{
    for (const struct global *global = next_unbound(program, memory, NULL);
         global && problems->count < PROBLEM_LIST_SIZE;
         global = next_unbound(program, memory, global)) {
        char text[SUGGESTION_TEXT], message[PROBLEM_MESSAGE_SIZE];
        struct diagnostic unused = {0};
        const char *hint = hint_for(program, global, &unused, text);
        snprintf(message, sizeof(message), "undefined variable%s%s", hint ? "; " : "",
                 hint ? hint : "");
        problem_list_add(problems, program->source, UNBOUND_VAR, global->offset, message);
    }
}

bool program_check_names(const struct program *program, value memory,
                         struct diagnostic *ret_diagnostic)
{
    size_t count = 0;
    *ret_diagnostic = (struct diagnostic){0};
    for (size_t i = 0; i < program->global_count; i++)
        count += is_unbound(&program->globals[i], memory);
    if (count == 0)
        return true;
    struct name_list names = {0};
    const struct global *global = next_unbound(program, memory, NULL);
    ret_diagnostic->kind = UNBOUND_VAR;
    ret_diagnostic->offset = global->offset;
    for (; global && names.count < LISTED_NAMES; global = next_unbound(program, memory, global)) {
        char text[SUGGESTION_TEXT];
        const char *hint = NULL;
        if (names.count < SUGGESTED_NAMES)
            hint = hint_for(program, global, ret_diagnostic, text);
        bool is_repeated = hint && strstr(names.text, hint);
        name_list_add(&names, ", ", global->name, is_repeated ? NULL : hint);
    }
    names.count = count;
    snprintf(ret_diagnostic->message, sizeof(ret_diagnostic->message), "undefined variable%s: %s",
             count == 1 ? "" : "s", name_list_text(&names));
    if (count > 1)
        add_unbound_names(program, memory, &ret_diagnostic->problems);
    return false;
}

// --- running -------------------------------------------------------------------------------------

static bool parse_signature(const struct program_inputs *inputs, struct arena *arena,
                            const struct signature **ret_signature, struct step *step)
{
    struct error error = {0};
    *ret_signature = NULL;
    if (!inputs->signature.data || signature_parse(arena, inputs->signature, ret_signature, &error))
        return true;
    struct diagnostic diagnostic = {.kind = INVALID_SIGNATURE};
    snprintf(diagnostic.message, sizeof(diagnostic.message), "invalid signature: %.400s",
             error.message);
    step_fail(step, inputs->region, inputs->memory, inputs->source, &diagnostic);
    step->line = error.line;
    step->column = error.column;
    return false;
}

// Names of functions in memory; they shadow builtins. NULL when there are none.
static struct span *memory_functions(struct region *region, value memory, size_t *ret_count)
{
    *ret_count = 0;
    if (memory.tag != VALUE_MAP)
        return NULL;
    struct span *names = region_alloc(region, (map_count(memory) + 1) * sizeof(*names));
    struct map_cursor cursor = map_iterate(memory);
    value name, item;
    while (map_next(&cursor, &name, &item)) {
        if (item.tag == VALUE_FUNCTION && (name.tag == VALUE_KEYWORD || name.tag == VALUE_STRING))
            names[(*ret_count)++] = value_text(name);
    }
    return names;
}

void program_run(struct program *program, const struct program_inputs *inputs,
                 struct step *ret_step)
{
    struct diagnostic diagnostic;
    if (program_check_names(program, inputs->memory, &diagnostic)) {
        run_execute(program, inputs, ret_step);
        return;
    }
    step_fail(ret_step, inputs->region, inputs->memory, program->source, &diagnostic);
    ret_step->program = program_retain(program);
}

void program_compile_and_run(const struct program_inputs *inputs, struct arena *arena,
                             struct step *ret_step)
{
    struct program_inputs parsed = *inputs;
    if (!parse_signature(inputs, arena, &parsed.parsed_signature, ret_step))
        return;
    struct compile_options options = {
        .source = inputs->source,
        .definition_bytes = inputs->definition_bytes,
        .limits = &inputs->options.limits,
        .tools = inputs->tools,
        .unoptimised = inputs->options.unoptimised,
        .memory = &inputs->memory,
    };
    options.functions = memory_functions(inputs->region, inputs->memory, &options.function_count);
    struct diagnostic diagnostic;
    struct program *program = program_compile(&options, &diagnostic);
    if (program)
        program_run(program, &parsed, ret_step);
    else
        step_fail(ret_step, inputs->region, inputs->memory, inputs->source, &diagnostic);
    program_release(program);
}
