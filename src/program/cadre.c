// The public API: hosts, tools, inputs, programs, steps. See include/cadre.h.
#include "cadre.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "config.h"
#include "program/record.h"
#include "value/json.h"
#include "value/print.h"

enum { MESSAGE_SIZE = 600, INPUT_BYTES = 1 << 30 };

const char *cadre_version(void)
{
    return CADRE_VERSION;
}

static cadre_value outside(value v)
{
    cadre_value public;
    memcpy(&public, &v, sizeof(v));
    return public;
}

static void *new_zero(size_t size)
{
    void *memory = memory_try_alloc(size);
    return memory ? memset(memory, 0, size) : NULL;
}

static char *copy_text(const char *text, size_t length)
{
    char *copy = memory_try_alloc(length + 1);
    if (copy) {
        if (length)
            memcpy(copy, text, length);
        copy[length] = '\0';
    }
    return copy;
}

// --- hosts and tools ----------------------------------------------------------------------------

struct host_tool {
    struct host_tool *next;
    cadre_tool_fn *function;
    void *user;
};

struct cadre_host {
    unsigned references;  // changed atomically
    struct tool_table tools;
    struct host_tool *functions;
    char error[MESSAGE_SIZE];
};

struct cadre_call {
    struct tool_call *call;
    struct buffer json;
};

cadre_host *cadre_host_new(void)
{
    cadre_host *host = new_zero(sizeof(*host));
    if (host) {
        host->references = 1;
        tool_table_init(&host->tools);
    }
    return host;
}

void cadre_host_free(cadre_host *host)
{
    if (!host || __atomic_sub_fetch(&host->references, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    tool_table_release(&host->tools);
    while (host->functions) {
        struct host_tool *next = host->functions->next;
        memory_free(host->functions);
        host->functions = next;
    }
    memory_free(host);
}

static bool call_public(void *data, struct tool_call *call)
{
    struct host_tool *tool = data;
    cadre_call public = {.call = call};
    buffer_init(&public.json, INPUT_BYTES);
    // A region that is full must not jump over the callback's frames: the functions below catch it.
    region_on_exhausted(call->region, NULL, NULL);
    bool ok = tool->function(tool->user, &public);
    buffer_release(&public.json);
    if (!ok && call->error.length == 0)
        buffer_append_text(&call->error, "no reason given");
    return ok;
}

static bool host_fail(cadre_host *host, const char *message)
{
    snprintf(host->error, sizeof(host->error), "%s", message);
    return false;
}

bool cadre_host_add_tool(cadre_host *host, const char *name, cadre_tool_fn *function, void *user,
                         const char *signature, const char *description, unsigned flags)
{
    if (!function || !name)
        return host_fail(host, "a tool needs a name and a function");
    if (signature && !signature[0])
        return host_fail(host, "the signature is empty");
    struct host_tool *tool = new_zero(sizeof(*tool));
    if (!tool)
        return host_fail(host, "no memory");
    *tool = (struct host_tool){.next = host->functions, .function = function, .user = user};
    host->functions = tool;
    struct tool_definition definition = {
        .name = span_from(name),
        .function = call_public,
        .data = tool,
        .signature = signature ? span_from(signature) : (struct span){0},
        .description = description ? span_from(description) : (struct span){0},
        .flags = (flags & CADRE_TOOL_SKIP ? TOOL_SKIP : 0u) |
                 (flags & CADRE_TOOL_CACHE ? TOOL_CACHE : 0u),
    };
    struct diagnostic diagnostic;
    return tool_table_add(&host->tools, &definition, &diagnostic) ||
           host_fail(host, diagnostic.message);
}

const char *cadre_host_error(const cadre_host *host)
{
    return host->error;
}

cadre_value cadre_call_arguments(cadre_call *call)
{
    return outside(call->call->arguments);
}

const char *cadre_call_arguments_json(cadre_call *call, size_t *ret_length)
{
    buffer_clear(&call->json);
    json_write(&call->json, call->call->arguments, 0, NULL);
    if (ret_length)
        *ret_length = call->json.length;
    return call->json.failed ? NULL : buffer_text(&call->json);
}

int64_t cadre_call_milliseconds_left(cadre_call *call)
{
    int64_t left = (call->call->deadline_ns - clock_now_ns()) / 1000000;
    return left > 0 ? left : 0;
}

bool cadre_call_fail(cadre_call *call, const char *text)
{
    buffer_clear(&call->call->error);
    buffer_append_text(&call->call->error, text ? text : "");
    return false;
}

bool cadre_call_return_json(cadre_call *call, const char *json, size_t length)
{
    struct error error = {0};
    value result;
    if (!json ||
        !json_read(call->call->region, (struct span){json, length}, NULL, &result, &error)) {
        char text[MESSAGE_SIZE];
        snprintf(text, sizeof(text), "the result is not JSON: %s", json ? error.message : "NULL");
        return cadre_call_fail(call, text);
    }
    call->call->result = result;
    return true;
}

struct string_result {
    cadre_call *call;
    struct span text;
};

static bool make_string(void *data, struct tool_call *call)
{
    struct string_result *result = data;
    call->result = value_string(call->region, result->text);
    return true;
}

bool cadre_call_return_string(cadre_call *call, const char *text, size_t length)
{
    if (!text || !utf8_is_valid(text, length))
        return cadre_call_fail(call, "the result is not UTF-8");
    struct string_result result = {call, {text, length}};
    bool ok = tool_call_run(make_string, &result, call->call);
    region_on_exhausted(call->call->region, NULL, NULL);
    return ok;
}

bool cadre_call_return_integer(cadre_call *call, int64_t number)
{
    call->call->result = value_integer(number);
    return true;
}

bool cadre_call_return_number(cadre_call *call, double number)
{
    call->call->result = value_float(number);
    return true;
}

bool cadre_call_return_boolean(cadre_call *call, bool truth)
{
    call->call->result = value_boolean(truth);
    return true;
}

bool cadre_call_return_nil(cadre_call *call)
{
    call->call->result = value_nil();
    return true;
}

// --- inputs -------------------------------------------------------------------------------------

// A JSON object whose values are lasting: runs refer to them without a copy.
struct input_map {
    unsigned references;  // changed atomically
    struct region *region;
    char *text;  // strings of the map may lie in it
    value map;
};

struct input_signature {
    unsigned references;  // changed atomically
    struct arena arena;
    const struct signature *signature;
    char *text;
};

struct cadre_inputs {
    struct input_map *context;
    struct input_map *memory;
    struct input_signature *signature;
    enum signature_mode validation;
    struct record_options options;
    char error[MESSAGE_SIZE];
};

static void input_map_release(struct input_map *map)
{
    if (!map || __atomic_sub_fetch(&map->references, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    region_free(map->region);
    memory_free(map->text);
    memory_free(map);
}

static struct input_map *input_map_retain(struct input_map *map)
{
    if (map)
        __atomic_fetch_add(&map->references, 1, __ATOMIC_RELAXED);
    return map;
}

static void input_signature_release(struct input_signature *signature)
{
    if (!signature || __atomic_sub_fetch(&signature->references, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    arena_release(&signature->arena);
    memory_free(signature->text);
    memory_free(signature);
}

static struct input_signature *input_signature_retain(struct input_signature *signature)
{
    if (signature)
        __atomic_fetch_add(&signature->references, 1, __ATOMIC_RELAXED);
    return signature;
}

cadre_inputs *cadre_inputs_new(void)
{
    cadre_inputs *inputs = new_zero(sizeof(*inputs));
    if (inputs) {
        inputs->validation = SIGNATURE_ENABLED;
        record_options_default(&inputs->options);
    }
    return inputs;
}

void cadre_inputs_free(cadre_inputs *inputs)
{
    if (!inputs)
        return;
    input_map_release(inputs->context);
    input_map_release(inputs->memory);
    input_signature_release(inputs->signature);
    memory_free(inputs);
}

static bool inputs_fail(cadre_inputs *inputs, const char *message)
{
    snprintf(inputs->error, sizeof(inputs->error), "%s", message);
    return false;
}

static bool set_map(cadre_inputs *inputs, struct input_map **place, const char *json, size_t length)
{
    struct input_map *map = new_zero(sizeof(*map));
    char *text = map && json ? copy_text(json, length) : NULL;
    if (!text) {
        memory_free(map);
        return inputs_fail(inputs, json ? "no memory" : "no text");
    }
    map->references = 1;
    map->text = text;
    map->region = region_new(SIZE_MAX / 2);
    struct json_options options = {.borrow = true, .lasting = true};
    struct error error = {0};
    bool ok = json_read(map->region, (struct span){text, length}, &options, &map->map, &error);
    if (!ok || map->map.tag != VALUE_MAP) {
        input_map_release(map);
        return inputs_fail(inputs, ok ? "the text must be a JSON object" : error.message);
    }
    input_map_release(*place);
    *place = map;
    return true;
}

bool cadre_inputs_set_context(cadre_inputs *inputs, const char *json, size_t length)
{
    return set_map(inputs, &inputs->context, json, length);
}

bool cadre_inputs_set_memory(cadre_inputs *inputs, const char *json, size_t length)
{
    return set_map(inputs, &inputs->memory, json, length);
}

bool cadre_inputs_set_option(cadre_inputs *inputs, const char *name, int64_t number)
{
    struct diagnostic diagnostic;
    if (!name)
        return inputs_fail(inputs, "no name");
    return record_option_set(&inputs->options, span_from(name), value_integer(number),
                             &diagnostic) ||
           inputs_fail(inputs, diagnostic.message);
}

void cadre_inputs_set_explicit_memory(cadre_inputs *inputs, bool is_explicit)
{
    inputs->options.explicit_memory = is_explicit;
}

bool cadre_inputs_set_signature(cadre_inputs *inputs, const char *text)
{
    struct input_signature *signature = new_zero(sizeof(*signature));
    char *copy = signature && text ? copy_text(text, strlen(text)) : NULL;
    if (!copy) {
        memory_free(signature);
        return inputs_fail(inputs, text ? "no memory" : "no text");
    }
    signature->references = 1;
    signature->text = copy;
    arena_init(&signature->arena, 16 << 20);
    struct error error = {0};
    if (!signature_parse(&signature->arena, span_from(copy), &signature->signature, &error)) {
        input_signature_release(signature);
        return inputs_fail(inputs, error.message);
    }
    input_signature_release(inputs->signature);
    inputs->signature = signature;
    return true;
}

bool cadre_inputs_set_validation(cadre_inputs *inputs, const char *mode)
{
    return (mode && signature_mode_from_name(span_from(mode), &inputs->validation)) ||
           inputs_fail(inputs, "validation must be enabled, warn_only, disabled or strict");
}

const char *cadre_inputs_error(const cadre_inputs *inputs)
{
    return inputs->error;
}

// --- programs and steps -------------------------------------------------------------------------

struct cadre_program {
    struct program *program;  // NULL: it is wrong
    struct diagnostic diagnostic;
    struct span source;  // of a wrong program
    cadre_host *host;
    cadre_step *failure;
};

struct cadre_step {
    struct step step;
    cadre_host *host;
    struct input_map *context, *memory;  // values of the step may lie in them
    struct input_signature *signature;
    struct buffer json, memory_json, printed, kind, message;
};

static cadre_step *step_new(const cadre_program *program, const cadre_inputs *inputs)
{
    cadre_step *step = new_zero(sizeof(*step));
    if (!step)
        return NULL;
    if (program->host) {
        __atomic_fetch_add(&program->host->references, 1, __ATOMIC_RELAXED);
        step->host = program->host;
    }
    if (inputs) {
        step->context = input_map_retain(inputs->context);
        step->memory = input_map_retain(inputs->memory);
        step->signature = input_signature_retain(inputs->signature);
    }
    buffer_init(&step->json, SIZE_MAX / 2);
    buffer_init(&step->memory_json, SIZE_MAX / 2);
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
    buffer_release(&step->json);
    buffer_release(&step->memory_json);
    buffer_release(&step->printed);
    buffer_release(&step->kind);
    buffer_release(&step->message);
    cadre_host_free(step->host);
    input_map_release(step->context);
    input_map_release(step->memory);
    input_signature_release(step->signature);
    memory_free(step);
}

static const struct record_options *options_of(const cadre_inputs *inputs,
                                               struct record_options *defaults)
{
    record_options_default(defaults);
    return inputs ? &inputs->options : defaults;
}

cadre_program *cadre_compile(cadre_host *host, const char *source, size_t length,
                             const cadre_inputs *inputs)
{
    cadre_program *program = new_zero(sizeof(*program));
    if (!program || (!source && length)) {
        memory_free(program);
        return NULL;
    }
    if (host) {
        __atomic_fetch_add(&host->references, 1, __ATOMIC_RELAXED);
        program->host = host;
    }
    struct record_options defaults;
    const struct record_options *options = options_of(inputs, &defaults);
    struct compile_options compile = {
        .source = {source ? source : "", length},
        .limits = &options->limits,
        .tools = host ? &host->tools : NULL,
        .plain = options->plain,
    };
    program->program = program_compile(&compile, &program->diagnostic);
    if (program->program)
        return program;
    char *copy = copy_text(compile.source.data, length);
    program->source = (struct span){copy, length};
    program->failure = copy ? step_new(program, NULL) : NULL;
    if (!program->failure) {
        cadre_program_free(program);
        return NULL;
    }
    step_fail(&program->failure->step, region_new(SIZE_MAX / 2), value_nil(), program->source,
              &program->diagnostic);
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
    return program->failure;
}

cadre_step *cadre_run(const cadre_program *program, const cadre_inputs *inputs)
{
    cadre_step *step = step_new(program, inputs);
    if (!step)
        return NULL;
    struct region *region = region_new(SIZE_MAX / 2);
    value memory = step->memory ? step->memory->map : value_nil();
    struct diagnostic diagnostic = program->diagnostic;
    if (!program->program || !program_check_names(program->program, memory, &diagnostic)) {
        struct span source = program->program ? program->program->source : program->source;
        step_fail(&step->step, region, memory, source, &diagnostic);
        if (program->program)
            step->step.program = program_retain(program->program);
        else
            step->step.source = SPAN("");  // the step may outlive the program
        return step;
    }
    struct record_options defaults;
    const struct record_options *options = options_of(inputs, &defaults);
    struct run_request request = {
        .program = program->program,
        .region = region,
        .context = step->context ? step->context->map : value_nil(),
        .memory = memory,
        .history = value_nil(),
        .limits = options->limits,
        .explicit_memory = options->explicit_memory,
        .float_precision = options->float_precision,
        .signature = step->signature ? step->signature->signature : NULL,
        .signature_text = step->signature ? span_from(step->signature->text) : (struct span){0},
        .validation = inputs ? inputs->validation : SIGNATURE_ENABLED,
        .fail_allocation = options->fail_allocation,
    };
    program_run(&request, &step->step);
    return step;
}

cadre_step *cadre_eval(cadre_host *host, const char *source, size_t length,
                       const cadre_inputs *inputs)
{
    cadre_program *program = cadre_compile(host, source, length, inputs);
    cadre_step *step = program ? cadre_run(program, inputs) : NULL;
    cadre_program_free(program);
    return step;
}

bool cadre_step_ok(const cadre_step *step)
{
    return step->step.failure.kind == FAILURE_NONE;
}

cadre_value cadre_step_return(const cadre_step *step)
{
    return outside(cadre_step_ok(step) ? step->step.result : value_nil());
}

cadre_value cadre_step_memory(const cadre_step *step)
{
    return outside(step->step.memory);
}

// A text made when it is first asked for.
static const char *finish_text(struct buffer *buffer, size_t *ret_length)
{
    if (ret_length)
        *ret_length = buffer->length;
    return buffer->failed ? NULL : buffer_text(buffer);
}

const char *cadre_step_json(cadre_step *step, size_t *ret_length)
{
    if (step->json.length == 0)
        step_write_json(&step->step, &step->json, NULL);
    return finish_text(&step->json, ret_length);
}

const char *cadre_step_memory_json(cadre_step *step, size_t *ret_length)
{
    if (step->memory_json.length == 0) {
        if (step->step.memory.tag == VALUE_MAP)
            json_write(&step->memory_json, step->step.memory, 0, NULL);
        else
            buffer_append_text(&step->memory_json, "{}");
    }
    return finish_text(&step->memory_json, ret_length);
}

bool cadre_inputs_set_memory_from(cadre_inputs *inputs, const cadre_step *step)
{
    struct buffer json;
    buffer_init(&json, SIZE_MAX / 2);
    json_write(&json, step->step.memory, 0, NULL);
    bool ok =
        !json.failed && (step->step.memory.tag == VALUE_MAP
                             ? cadre_inputs_set_memory(inputs, buffer_text(&json), json.length)
                             : cadre_inputs_set_memory(inputs, "{}", 2));
    buffer_release(&json);
    return ok;
}

const char *cadre_step_printed(cadre_step *step, size_t *ret_length)
{
    if (step->printed.length == 0 && cadre_step_ok(step))
        value_print(&step->printed, step->step.result);
    return finish_text(&step->printed, ret_length);
}

const char *cadre_step_reason(const cadre_step *step)
{
    return cadre_step_ok(step) ? NULL : failure_kind_reason(step->step.failure.kind);
}

const char *cadre_step_kind(cadre_step *step)
{
    if (cadre_step_ok(step))
        return NULL;
    if (step->step.failure.kind_text.tag != VALUE_STRING)
        return failure_kind_name(step->step.failure.kind);
    buffer_clear(&step->kind);
    buffer_append_span(&step->kind, value_text(step->step.failure.kind_text));
    return finish_text(&step->kind, NULL);
}

const char *cadre_step_message(cadre_step *step)
{
    if (cadre_step_ok(step))
        return NULL;
    buffer_clear(&step->message);
    buffer_append_span(&step->message, step_message(&step->step));
    return finish_text(&step->message, NULL);
}

unsigned cadre_step_line(const cadre_step *step)
{
    return step->step.line;
}

unsigned cadre_step_column(const cadre_step *step)
{
    return step->step.column;
}

uint64_t cadre_step_steps(const cadre_step *step)
{
    return step->step.steps;
}

size_t cadre_step_memory_bytes(const cadre_step *step)
{
    return step->step.memory_bytes;
}
