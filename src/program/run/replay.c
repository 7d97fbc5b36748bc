#include "program/run/replay.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "program/run/run_state.h"
#include "value/text/json.h"

// --- keys ----------------------------------------------------------------------------------------

struct course course_start(uint64_t key)
{
    return (struct course){.path = key ? hash_combine(key, 1) : 1};
}

struct course course_branch(struct course outer, size_t index)
{
    uint64_t group = hash_combine(outer.path, outer.groups);
    return (struct course){.path = hash_combine(group, index + 1)};
}

uint64_t course_next_key(struct course *course)
{
    return hash_combine(course->path, ++course->calls << 1);
}

uint64_t course_shared_key(struct run *run, value cache_key)
{
    struct buffer *json = &run->state->scratch;
    buffer_release(json);  // left by a branch of pmap that ran out of time
    buffer_init(json, BUFFER_DEFAULT_LIMIT);
    json_write(json, cache_key, JSON_SORTED, NULL);
    uint64_t key = hash_bytes(json->data, json->length, 1) | 1;
    buffer_release(json);
    return key;
}

// --- the clock -----------------------------------------------------------------------------------

static bool read_again(struct run *run, int64_t *ret_milliseconds)
{
    const struct clock_record *record = &run->state->clock;
    struct course *course = &run->state->branch.course;
    for (; course->clock_at < record->given; course->clock_at++, course->clock_used = 0) {
        const struct clock_reading *entry = &record->entries[course->clock_at];
        if (entry->path != course->path || course->clock_used == entry->count)
            continue;
        course->clock_used++;
        *ret_milliseconds = entry->milliseconds;
        return true;
    }
    return false;
}

static void add_reading(struct run *run, struct clock_reading reading)
{
    struct clock_record *record = &run->state->clock;
    if (record->count == record->capacity) {
        size_t capacity = record->capacity ? 2 * record->capacity : 8;
        record->entries =
            region_resize(run->region, record->entries, record->capacity * sizeof(reading),
                          capacity * sizeof(reading));
        record->capacity = capacity;
    }
    record->entries[record->count++] = reading;
}

int64_t run_clock_ms(struct run *run)
{
    struct clock_record *record = &run->state->clock;
    int64_t milliseconds;
    if (run->state->depth > 0)
        return record->standing_ms;
    if (read_again(run, &milliseconds))
        return milliseconds;
    milliseconds = clock_unix_ms();
    uint64_t path = run->state->branch.course.path;
    if (record->count > record->given) {
        struct clock_reading *last = &record->entries[record->count - 1];
        if (last->path == path && last->milliseconds == milliseconds) {
            last->count++;
            return milliseconds;
        }
    }
    add_reading(run, (struct clock_reading){path, milliseconds, 1});
    return milliseconds;
}

static bool read_reading(value entry, struct clock_reading *ret_reading)
{
    if (!value_is_vector(entry) || vector_count(entry) != 3 ||
        !value_is_string(vector_at(entry, 0)) || vector_at(entry, 1).tag != VALUE_INTEGER ||
        vector_at(entry, 2).tag != VALUE_INTEGER)
        return false;
    struct span digits = value_text(vector_at(entry, 0));
    char text[REPLAY_KEY_DIGITS + 1] = {0};
    if (digits.length != REPLAY_KEY_DIGITS)
        return false;
    memcpy(text, digits.data, digits.length);
    *ret_reading = (struct clock_reading){strtoull(text, NULL, 16), vector_at(entry, 1).integer,
                                          vector_at(entry, 2).integer};
    return true;
}

bool clock_record_read(struct run *run, value readings)
{
    struct clock_reading reading;
    for (size_t i = 0; value_is_vector(readings) && i < vector_count(readings); i++) {
        if (!read_reading(vector_at(readings, i), &reading))
            return false;
        add_reading(run, reading);
    }
    run->state->clock.given = run->state->clock.count;
    return value_is_vector(readings) || value_is_nil(readings);
}

void clock_record_write(const struct clock_record *record, struct buffer *buffer)
{
    buffer_append_byte(buffer, '[');
    for (size_t i = 0; i < record->count; i++)
        buffer_append_format(buffer, "%s[\"%016" PRIx64 "\",%" PRId64 ",%" PRId64 "]", i ? "," : "",
                             record->entries[i].path, record->entries[i].milliseconds,
                             record->entries[i].count);
    buffer_append_byte(buffer, ']');
}

// --- pausing -------------------------------------------------------------------------------------

void run_pause(struct run *run, uint32_t tool, value arguments, uint64_t key)
{
    struct paused_call *paused = &run->state->paused;
    if (!paused->is_set)
        *paused = (struct paused_call){true, tool, key, value_retain(arguments)};
    run_pause_too(run);
}

void run_pause_too(struct run *run)
{
    run->state->failure.limit_option = NULL;
    run_raise(run, PAUSED, NULL, "the run waits for a call");
}
