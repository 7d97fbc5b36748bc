// The public API: programs and steps. See include/cadre.h.
#include "cadre.h"

#include <string.h>

#include "base/memory.h"
#include "base/utf8.h"
#include "config.h"
#include "program/api/cadre_internal.h"
#include "program/run/saved_memory.h"
#include "value/text/json.h"
#include "value/text/print.h"

const char *cadre_version(void)
{
    return CADRE_VERSION;
}

void *cadre_new_zero(size_t size)
{
    void *memory = memory_try_alloc(size);
    return memory ? memset(memory, 0, size) : NULL;
}

char *cadre_copy_text(struct span text)
{
    char *copy = memory_try_alloc(text.length + 1);
    if (copy) {
        if (text.length)
            memcpy(copy, text.data, text.length);
        copy[text.length] = '\0';
    }
    return copy;
}

// --- programs and steps --------------------------------------------------------------------------

struct cadre_program {
    struct program *program;  // NULL: it is wrong
    struct diagnostic diagnostic;
    struct definitions_prefix prefix;  // functions of the memory it was compiled with
    struct span source;                // of a wrong program
    cadre_host *host;
    cadre_step *failure;
};

struct cadre_step {
    struct step step;
    cadre_host *host;
    struct input_map *context, *memory, *history;  // values of the step may lie in them
    struct input_signature *signature;
    struct call_record *record;  // NULL: it may not pause
    struct buffer paused, json, memory_json, saved_memory, printed, kind, message;
};

static cadre_step *step_new(const cadre_program *program, const cadre_inputs *inputs)
{
    cadre_step *step = cadre_new_zero(sizeof(*step));
    if (!step)
        return NULL;
    step->host = cadre_host_retain(program->host);
    if (inputs) {
        step->context = input_map_retain(inputs->context);
        step->memory = input_map_retain(inputs->memory);
        step->history = input_map_retain(inputs->history);
        step->signature = input_signature_retain(inputs->signature);
    }
    buffer_init(&step->paused, SIZE_MAX / 2);
    buffer_init(&step->json, SIZE_MAX / 2);
    buffer_init(&step->memory_json, SIZE_MAX / 2);
    buffer_init(&step->saved_memory, SIZE_MAX / 2);
    buffer_init(&step->printed, SIZE_MAX / 2);
    buffer_init(&step->kind, SIZE_MAX / 2);
    buffer_init(&step->message, SIZE_MAX / 2);
    return step;
}

void cadre_step_free(cadre_step *step)
{
    if (!step)
        return;
    step_release(&step->step);
    call_record_free(step->record);
    buffer_release(&step->paused);
    buffer_release(&step->json);
    buffer_release(&step->memory_json);
    buffer_release(&step->saved_memory);
    buffer_release(&step->printed);
    buffer_release(&step->kind);
    buffer_release(&step->message);
    cadre_host_free(step->host);
    input_map_release(step->context);
    input_map_release(step->memory);
    input_map_release(step->history);
    input_signature_release(step->signature);
    memory_free(step);
}

static struct run_options options_of(const cadre_inputs *inputs)
{
    struct run_options defaults;
    run_options_default(&defaults);
    return inputs ? inputs->options : defaults;
}

// The failed step of a wrong program. False: memory was short.
static bool program_set_failure(cadre_program *program, struct span source)
{
    char *copy = cadre_copy_text(source);
    program->source = (struct span){copy, source.length};
    program->failure = copy ? step_new(program, NULL) : NULL;
    if (!program->failure)
        return false;
    struct step *step = &program->failure->step;
    step_fail(step, region_new(SIZE_MAX / 2), value_nil(), program->source, &program->diagnostic);
    saved_memory_hide_prefix(step, program->prefix);
    return true;
}

cadre_program *cadre_compile(cadre_host *host, const char *source, size_t length,
                             const cadre_inputs *inputs)
{
    cadre_program *program = cadre_new_zero(sizeof(*program));
    if (!program || (!source && length)) {
        memory_free(program);
        return NULL;
    }
    program->host = cadre_host_retain(host);
    if (host)
        __atomic_store_n(&host->is_compiled_for, true, __ATOMIC_RELEASE);
    struct run_options options = options_of(inputs);
    struct compile_options compile = {
        .source = utf8_without_mark((struct span){source ? source : "", length}),
        .limits = &options.limits,
        .tools = host ? &host->tools : NULL,
        .unoptimised = options.unoptimised,
    };
    CLEANUP_BUFFER struct buffer whole;
    buffer_init(&whole, SIZE_MAX / 2);
    struct span definitions = input_map_definitions(inputs ? inputs->memory : NULL);
    if (definitions.length) {
        program->prefix = saved_memory_prepend(&whole, definitions, compile.source);
        compile.source = buffer_span(&whole);
        compile.definition_bytes = program->prefix.length;
    }
    program->program = whole.failed ? NULL : program_compile(&compile, &program->diagnostic);
    if (whole.failed || (!program->program && !program_set_failure(program, compile.source))) {
        cadre_program_free(program);
        return NULL;
    }
    return program;
}

void cadre_program_free(cadre_program *program)
{
    if (!program)
        return;
    cadre_step_free(program->failure);
    program_release(program->program);
    memory_free((char *)program->source.data);
    cadre_host_free(program->host);
    memory_free(program);
}

const cadre_step *cadre_program_failure(const cadre_program *program)
{
    return program ? program->failure : NULL;
}

// What a run is given. The step keeps the values.
static struct program_inputs given_inputs(const cadre_step *step, const cadre_inputs *inputs)
{
    return (struct program_inputs){
        .region = region_new(SIZE_MAX / 2),
        .context = step->context ? step->context->map : value_nil(),
        .memory = step->memory ? step->memory->map : value_nil(),
        .history = step->history ? step->history->map : value_nil(),
        .is_cancelled = inputs ? &inputs->is_cancelled : NULL,
        .signature = step->signature ? span_from(step->signature->text) : (struct span){0},
        .parsed_signature = step->signature ? step->signature->signature : NULL,
        .validation = inputs ? inputs->validation : SIGNATURE_ENABLED,
        .options = options_of(inputs),
    };
}

static void run_into(cadre_step *step, const cadre_program *program, const cadre_inputs *inputs,
                     struct program_inputs *given)
{
    struct run_user user = {inputs ? inputs->user : NULL, step->record};
    given->user = &user;
    if (program->program) {
        program_run(program->program, given, &step->step);
    } else {
        step_fail(&step->step, given->region, given->memory, program->source, &program->diagnostic);
        step->step.source = SPAN("");  // the step may outlive the program
    }
    given->user = NULL;
    saved_memory_hide_prefix(&step->step, program->prefix);
}

cadre_step *cadre_run(const cadre_program *program, const cadre_inputs *inputs)
{
    cadre_step *step = program ? step_new(program, inputs) : NULL;
    if (!step)
        return NULL;
    bool may_pause = inputs && inputs->may_pause;
    step->record = may_pause ? call_record_new() : NULL;
    if (may_pause && !step->record) {
        cadre_step_free(step);
        return NULL;
    }
    struct program_inputs given = given_inputs(step, inputs);
    run_into(step, program, inputs, &given);
    return step;
}

cadre_step *cadre_resume(const cadre_program *program, const cadre_inputs *inputs,
                         const char *paused, size_t length, const char *results)
{
    cadre_step *step = program && program->program && paused ? step_new(program, inputs) : NULL;
    if (!step)
        return NULL;
    struct program_inputs given = given_inputs(step, inputs);
    struct span answer = {results, results ? strlen(results) : 0};
    step->record = call_record_new();
    if (step->record && call_record_read(step->record, given.region, program->program->source,
                                         (struct span){paused, length}, answer, &given)) {
        run_into(step, program, inputs, &given);
        return step;
    }
    region_free(given.region);
    cadre_step_free(step);
    return NULL;
}

cadre_step *cadre_eval(cadre_host *host, const char *source, size_t length,
                       const cadre_inputs *inputs)
{
    cadre_program *program = cadre_compile(host, source, length, inputs);
    cadre_step *step = program ? cadre_run(program, inputs) : NULL;
    cadre_program_free(program);
    return step;
}

// Of a step that is NULL.
static const char *no_text(size_t *ret_length)
{
    if (ret_length)
        *ret_length = 0;
    return NULL;
}

// A text that is written at its first use.
static const char *finish_text(struct buffer *buffer, size_t *ret_length)
{
    if (ret_length)
        *ret_length = buffer->length;
    return buffer->failed ? NULL : buffer_text(buffer);
}

const char *cadre_run_paused(cadre_step *step, size_t *ret_length)
{
    if (!step ||
        (step->paused.length == 0 && !call_record_write(step->record, &step->step, &step->paused)))
        return no_text(ret_length);
    return finish_text(&step->paused, ret_length);
}

bool cadre_step_ok(const cadre_step *step)
{
    return step && step->step.failure.kind == FAILURE_NONE;
}

cadre_value cadre_step_return(const cadre_step *step)
{
    return cadre_value_of(cadre_step_ok(step) ? step->step.result : value_nil());
}

cadre_value cadre_step_memory(const cadre_step *step)
{
    return cadre_value_of(step ? step->step.memory : value_nil());
}

static bool has_failed(const cadre_step *step)
{
    return step && !cadre_step_ok(step);
}

const char *cadre_step_json(cadre_step *step, size_t *ret_length)
{
    if (!step)
        return no_text(ret_length);
    if (step->json.length == 0)
        step_write_json(&step->step, &step->json, NULL);
    return finish_text(&step->json, ret_length);
}

const char *cadre_step_memory_json(cadre_step *step, size_t *ret_length)
{
    if (!step)
        return no_text(ret_length);
    if (step->memory_json.length == 0) {
        if (step->step.memory.tag == VALUE_MAP)
            json_write(&step->memory_json, step->step.memory, 0, NULL);
        else
            buffer_append_text(&step->memory_json, "{}");
    }
    return finish_text(&step->memory_json, ret_length);
}

const char *cadre_step_saved_memory(cadre_step *step, size_t *ret_length)
{
    if (!step)
        return no_text(ret_length);
    if (step->saved_memory.length == 0)
        saved_memory_write(&step->step, input_map_definitions(step->memory), &step->saved_memory);
    return finish_text(&step->saved_memory, ret_length);
}

bool cadre_inputs_set_memory_from(cadre_inputs *inputs, const cadre_step *step)
{
    if (!step)
        return cadre_inputs_set_saved_memory(inputs, NULL, 0);
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, SIZE_MAX / 2);
    saved_memory_write(&step->step, input_map_definitions(step->memory), &text);
    return cadre_inputs_set_saved_memory(inputs, text.failed ? NULL : buffer_text(&text),
                                         text.length);
}

const char *cadre_step_printed(cadre_step *step, size_t *ret_length)
{
    if (!step)
        return no_text(ret_length);
    if (step->printed.length == 0 && cadre_step_ok(step))
        value_print(&step->printed, step->step.result);
    return finish_text(&step->printed, ret_length);
}

const char *cadre_step_reason(const cadre_step *step)
{
    return has_failed(step) ? failure_kind_reason(step->step.failure.kind) : NULL;
}

const char *cadre_step_kind(cadre_step *step)
{
    if (!has_failed(step))
        return NULL;
    if (step->step.failure.kind_text.tag != VALUE_STRING)
        return failure_kind_name(step->step.failure.kind);
    buffer_clear(&step->kind);
    buffer_append_span(&step->kind, value_text(step->step.failure.kind_text));
    return finish_text(&step->kind, NULL);
}

const char *cadre_step_message(cadre_step *step)
{
    if (!has_failed(step))
        return NULL;
    buffer_clear(&step->message);
    buffer_append_span(&step->message, step_message(&step->step));
    return finish_text(&step->message, NULL);
}

unsigned cadre_step_line(const cadre_step *step)
{
    return step ? step->step.line : 0;
}

unsigned cadre_step_column(const cadre_step *step)
{
    return step ? step->step.column : 0;
}

uint64_t cadre_step_steps(const cadre_step *step)
{
    return step ? step->step.steps : 0;
}

size_t cadre_step_memory_bytes(const cadre_step *step)
{
    return step ? step->step.memory_bytes : 0;
}
