#include "program/call_log.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "value/text/json.h"

enum { FIRST_SLOTS = 64, KEY_DIGITS = 16 };

struct call_log {
    struct logged_call *calls;
    size_t count, capacity;
    uint32_t *slots;  // number of a call + 1, found by its key; a power of two of them
    size_t slot_count;
    size_t bytes;
    bool is_full;
};

struct call_log *call_log_new(void)
{
    struct call_log *log = memory_alloc_zero(sizeof(*log));
    log->slot_count = FIRST_SLOTS;
    log->slots = memory_alloc_zero(FIRST_SLOTS * sizeof(*log->slots));
    return log;
}

static void release(struct span text)
{
    memory_free((char *)text.data);
}

void call_log_free(struct call_log *log)
{
    if (!log)
        return;
    for (size_t i = 0; i < log->count; i++) {
        release(log->calls[i].name);
        release(log->calls[i].arguments);
        release(log->calls[i].text);
    }
    memory_free(log->calls);
    memory_free(log->slots);
    memory_free(log);
}

size_t call_log_count(const struct call_log *log)
{
    return log->count;
}

const struct logged_call *call_log_at(const struct call_log *log, size_t index)
{
    return &log->calls[index];
}

bool call_log_is_full(const struct call_log *log)
{
    return log->is_full;
}

// The slot of the key, or the free one where it belongs.
static uint32_t *find_slot(const struct call_log *log, uint64_t key)
{
    size_t at = key & (log->slot_count - 1);
    while (log->slots[at] && log->calls[log->slots[at] - 1].key != key)
        at = (at + 1) & (log->slot_count - 1);
    return &log->slots[at];
}

const struct logged_call *call_log_find(const struct call_log *log, uint64_t key)
{
    uint32_t number = *find_slot(log, key);
    return number ? &log->calls[number - 1] : NULL;
}

static void grow(struct call_log *log)
{
    if (log->count == log->capacity) {
        log->capacity = log->capacity ? 2 * log->capacity : FIRST_SLOTS / 2;
        log->calls = memory_resize(log->calls, log->capacity * sizeof(*log->calls));
    }
    if (2 * log->count < log->slot_count)
        return;
    memory_free(log->slots);
    log->slot_count *= 2;
    log->slots = memory_alloc_zero(log->slot_count * sizeof(*log->slots));
    for (size_t i = 0; i < log->count; i++)
        *find_slot(log, log->calls[i].key) = (uint32_t)i + 1;
}

static struct span copy(struct span text)
{
    return (struct span){memory_copy_text(text.data, text.length), text.length};
}

void call_log_start(struct call_log *log, uint64_t key, struct span name, struct span arguments,
                    bool is_write)
{
    uint32_t number = *find_slot(log, key);
    if (number) {
        log->calls[number - 1].is_pending = false;
        return;
    }
    grow(log);
    log->calls[log->count] = (struct logged_call){
        .key = key, .name = copy(name), .arguments = copy(arguments), .is_write = is_write};
    *find_slot(log, key) = (uint32_t)++log->count;
}

void call_log_wait(struct call_log *log, uint64_t key)
{
    uint32_t number = *find_slot(log, key);
    if (number)
        log->calls[number - 1].is_pending = true;
}

void call_log_finish(struct call_log *log, uint64_t key, bool ok, struct span text)
{
    uint32_t number = *find_slot(log, key);
    struct logged_call *call = number ? &log->calls[number - 1] : NULL;
    if (!call || call->is_finished)
        return;
    call->is_finished = true;
    call->is_pending = false;
    call->ok = ok;
    log->bytes += text.length;
    log->is_full = log->is_full || log->bytes > CALL_LOG_BYTES_MAX;
    if (!log->is_full)
        call->text = copy(text);
}

// --- as text -------------------------------------------------------------------------------------

static void write_call(const struct logged_call *call, struct buffer *buffer)
{
    buffer_append_format(buffer, "{\"key\":\"%016" PRIx64 "\",\"name\":", call->key);
    json_write_string(buffer, call->name);
    buffer_append_text(buffer, ",\"arguments\":");
    json_write_string(buffer, call->arguments);
    buffer_append_format(buffer, ",\"write\":%s", call->is_write ? "true" : "false");
    if (call->is_finished) {
        buffer_append_text(buffer, call->ok ? ",\"value\":" : ",\"error\":");
        json_write_string(buffer, call->text);
    }
    if (call->is_pending)
        buffer_append_text(buffer, ",\"pending\":true");
    buffer_append_byte(buffer, '}');
}

void call_log_write(const struct call_log *log, struct buffer *buffer)
{
    buffer_append_byte(buffer, '[');
    for (size_t i = 0; i < log->count; i++) {
        buffer_append_text(buffer, i ? ",\n" : "");
        write_call(&log->calls[i], buffer);
    }
    buffer_append_byte(buffer, ']');
}

static bool read_call(struct call_log *log, value entry)
{
    char digits[KEY_DIGITS + 1] = {0};
    struct span text = value_is_map(entry) ? map_get_string(entry, "key") : (struct span){0};
    if (text.length != KEY_DIGITS)
        return false;
    memcpy(digits, text.data, KEY_DIGITS);
    uint64_t key = strtoull(digits, NULL, 16);
    value result = map_get(entry, "value"), error = map_get(entry, "error");
    call_log_start(log, key, map_get_string(entry, "name"), map_get_string(entry, "arguments"),
                   map_get_boolean(entry, "write"));
    if (value_is_string(result))
        call_log_finish(log, key, true, value_text(result));
    else if (value_is_string(error))
        call_log_finish(log, key, false, value_text(error));
    else if (map_get_boolean(entry, "pending"))
        call_log_wait(log, key);
    return true;
}

bool call_log_read(struct call_log *log, value calls)
{
    for (size_t i = 0; value_is_vector(calls) && i < vector_count(calls); i++)
        if (!read_call(log, vector_at(calls, i)))
            return false;
    return value_is_vector(calls);
}
