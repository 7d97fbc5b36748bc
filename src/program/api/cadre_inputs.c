// The public API: inputs of runs. See include/cadre.h.
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "program/api/cadre_internal.h"
#include "program/run/saved_memory.h"
#include "value/text/edn.h"
#include "value/text/json.h"
#include "value/text/print.h"

void input_map_release(struct input_map *map)
{
    if (!map || __atomic_sub_fetch(&map->references, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    region_free(map->region);
    memory_free(map->text);
    memory_free(map->definitions);
    memory_free(map);
}

struct input_map *input_map_retain(struct input_map *map)
{
    if (map)
        __atomic_fetch_add(&map->references, 1, __ATOMIC_RELAXED);
    return map;
}

void input_signature_release(struct input_signature *signature)
{
    if (!signature || __atomic_sub_fetch(&signature->references, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    arena_release(&signature->arena);
    memory_free(signature->text);
    memory_free(signature);
}

struct input_signature *input_signature_retain(struct input_signature *signature)
{
    if (signature)
        __atomic_fetch_add(&signature->references, 1, __ATOMIC_RELAXED);
    return signature;
}

cadre_inputs *cadre_inputs_new(void)
{
    cadre_inputs *inputs = cadre_new_zero(sizeof(*inputs));
    if (inputs) {
        inputs->validation = SIGNATURE_ENABLED;
        run_options_default(&inputs->options);
    }
    return inputs;
}

void cadre_inputs_free(cadre_inputs *inputs)
{
    if (!inputs)
        return;
    input_map_release(inputs->context);
    input_map_release(inputs->memory);
    input_map_release(inputs->history);
    input_signature_release(inputs->signature);
    memory_free(inputs);
}

static bool inputs_fail(cadre_inputs *inputs, const char *message)
{
    if (inputs)
        snprintf(inputs->error, sizeof(inputs->error), "%s", message);
    return false;
}

// Takes ownership of the text; NULL: no memory.
static struct input_map *input_map_new(char *text)
{
    struct input_map *map = text ? cadre_new_zero(sizeof(*map)) : NULL;
    if (!map) {
        memory_free(text);
        return NULL;
    }
    map->references = 1;
    map->text = text;
    map->region = region_new(SIZE_MAX / 2);
    return map;
}

static bool put_map(struct input_map **place, struct input_map *map)
{
    input_map_release(*place);
    *place = map;
    return true;
}

static bool set_map(cadre_inputs *inputs, struct input_map **place, const char *json, size_t length)
{
    if (!json)
        return inputs_fail(inputs, "no text");
    struct input_map *map = input_map_new(cadre_copy_text((struct span){json, length}));
    if (!map)
        return inputs_fail(inputs, "no memory");
    struct json_options options = {.borrow = true, .immortal = true};
    struct error error = {0};
    bool ok = json_read(map->region, (struct span){map->text, length}, &options, &map->map, &error);
    if (ok && map->map.tag == VALUE_MAP)
        return put_map(place, map);
    input_map_release(map);
    return inputs_fail(inputs, ok ? "the text must be a JSON object" : error.message);
}

bool cadre_inputs_set_context(cadre_inputs *inputs, const char *json, size_t length)
{
    return inputs && set_map(inputs, &inputs->context, json, length);
}

bool cadre_inputs_set_memory(cadre_inputs *inputs, const char *json, size_t length)
{
    return inputs && set_map(inputs, &inputs->memory, json, length);
}

bool cadre_inputs_set_context_edn(cadre_inputs *inputs, const char *edn, size_t length)
{
    if (!inputs || !edn)
        return inputs_fail(inputs, "no text");
    struct input_map *map = input_map_new(cadre_copy_text(SPAN("")));
    if (!map)
        return inputs_fail(inputs, "no memory");
    struct error error = {0};
    bool ok = edn_read(map->region, (struct span){edn, length}, NULL, &map->map, &error);
    if (ok && map->map.tag == VALUE_MAP) {
        value_make_immortal(map->map);
        return put_map(&inputs->context, map);
    }
    input_map_release(map);
    return inputs_fail(inputs, ok ? "the text must be an EDN map" : error.message);
}

void cadre_inputs_set_user(cadre_inputs *inputs, void *user)
{
    if (inputs)
        inputs->user = user;
}

void cadre_inputs_set_pausing(cadre_inputs *inputs, bool may_pause)
{
    if (inputs)
        inputs->may_pause = may_pause;
}

void cadre_cancel(cadre_inputs *inputs, bool is_cancelled)
{
    if (inputs)
        __atomic_store_n(&inputs->is_cancelled, is_cancelled, __ATOMIC_RELEASE);
}

// --- history -------------------------------------------------------------------------------------

enum { HISTORY = 3 };  // *1 *2 *3

// Adds the copy of a value that is data. By way of its text, because a function belongs to its run.
static bool add_copy(struct input_map *map, value v, struct error *error)
{
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, CADRE_INPUT_BYTES);
    value_print(&text, v);
    struct edn_options options = {.max_depth = SIZE_MAX, .any_integer = true};
    value copy;
    if (text.failed || !edn_read(map->region, buffer_span(&text), &options, &copy, error))
        return false;
    map->map = vector_push(map->region, map->map, copy);
    return true;
}

bool cadre_inputs_add_history(cadre_inputs *inputs, cadre_value result)
{
    struct input_map *map = inputs ? input_map_new(cadre_copy_text(SPAN(""))) : NULL;
    if (!map)
        return inputs_fail(inputs, "no memory");
    map->map = vector_new(map->region, HISTORY);
    size_t known = inputs->history ? vector_count(inputs->history->map) : 0;
    struct error error = {0};
    bool ok = true;
    for (size_t i = known < HISTORY ? 0 : known - HISTORY + 1; ok && i < known; i++)
        ok = add_copy(map, vector_at(inputs->history->map, i), &error);
    ok = ok && add_copy(map, cadre_value_inside(result), &error);
    if (ok) {
        value_make_immortal(map->map);
        return put_map(&inputs->history, map);
    }
    input_map_release(map);
    return inputs_fail(inputs, "a result with a function or a regex cannot be kept");
}

// --- saved memory --------------------------------------------------------------------------------

// Makes a memory of an object that saved_memory_write() has written.
static bool restore_memory(struct input_map *map, value saved, struct error *error)
{
    value data, definitions;
    if (saved.tag != VALUE_MAP || !map_find_text(saved, "data", &data) ||
        !map_find_text(saved, "definitions", &definitions) || data.tag != VALUE_STRING ||
        definitions.tag != VALUE_STRING)
        return error_set(error, ERROR_INVALID, "the text must be a saved memory");
    if (!saved_memory_read_data(map->region, value_text(data), &map->map, error))
        return false;
    value_make_immortal(map->map);
    if (value_text(definitions).length == 0)
        return true;
    map->definitions = cadre_copy_text(value_text(definitions));
    return map->definitions || error_set(error, ERROR_MEMORY, "no memory");
}

bool cadre_inputs_set_saved_memory(cadre_inputs *inputs, const char *text, size_t length)
{
    if (!inputs || !text)
        return inputs_fail(inputs, "no text");
    struct input_map *map = input_map_new(cadre_copy_text(SPAN("")));
    if (!map)
        return inputs_fail(inputs, "no memory");
    struct region *scratch = region_new(SIZE_MAX / 2);
    struct error error = {0};
    value saved;
    bool ok = json_read(scratch, (struct span){text, length}, NULL, &saved, &error) &&
              restore_memory(map, saved, &error);
    region_free(scratch);
    if (ok)
        return put_map(&inputs->memory, map);
    input_map_release(map);
    return inputs_fail(inputs, error.message);
}

struct span input_map_definitions(const struct input_map *memory)
{
    return memory && memory->definitions ? span_from(memory->definitions) : (struct span){0};
}

// --- options and signature -----------------------------------------------------------------------

bool cadre_inputs_set_option(cadre_inputs *inputs, const char *name, int64_t number)
{
    struct diagnostic diagnostic;
    if (!inputs || !name)
        return inputs_fail(inputs, "no name");
    return run_option_set(&inputs->options, span_from(name), value_integer(number), &diagnostic) ||
           inputs_fail(inputs, diagnostic.message);
}

void cadre_inputs_set_explicit_memory(cadre_inputs *inputs, bool is_explicit)
{
    if (inputs)
        inputs->options.explicit_memory = is_explicit;
}

bool cadre_inputs_set_signature(cadre_inputs *inputs, const char *text)
{
    if (!inputs)
        return false;
    struct input_signature *signature = cadre_new_zero(sizeof(*signature));
    char *copy = signature && text ? cadre_copy_text(span_from(text)) : NULL;
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
    return (inputs && mode && signature_mode_from_name(span_from(mode), &inputs->validation)) ||
           inputs_fail(inputs, "validation must be enabled, warn_only, disabled or strict");
}

const char *cadre_inputs_error(const cadre_inputs *inputs)
{
    return inputs ? inputs->error : "";
}
