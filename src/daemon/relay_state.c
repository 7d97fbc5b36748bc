#include "daemon/relay_state.h"

#include <string.h>

#include "base/memory.h"
#include "daemon/message_peek.h"

static void forget_all(char **list, size_t *count)
{
    for (size_t i = 0; i < *count; i++)
        memory_free(list[i]);
    *count = 0;
}

void relay_state_release(struct relay_state *state)
{
    forget_all(state->in_flight, &state->in_flight_count);
    forget_all(state->swallowed, &state->swallowed_count);
    for (size_t i = 0; i < state->replay_count; i++) {
        buffer_release(&state->replays[i].line);
        memory_free(state->replays[i].key);
    }
    state->replay_count = 0;
}

static bool take(char **list, size_t *count, struct span id)
{
    for (size_t i = 0; i < *count; i++) {
        if (!span_equal_text(id, list[i]))
            continue;
        memory_free(list[i]);
        list[i] = list[--*count];
        return true;
    }
    return false;
}

// --- lines that are repeated ---------------------------------------------------------------------

static void drop_replay(struct relay_state *state, const char *key)
{
    for (size_t i = 0; i < state->replay_count; i++) {
        if (strcmp(state->replays[i].key, key) != 0)
            continue;
        buffer_release(&state->replays[i].line);
        memory_free(state->replays[i].key);
        memmove(&state->replays[i], &state->replays[i + 1],
                (state->replay_count - i - 1) * sizeof(state->replays[0]));
        state->replay_count--;
        return;
    }
}

static void keep_replay(struct relay_state *state, const char *key, struct span line)
{
    drop_replay(state, key);
    if (state->replay_count == RELAY_REPLAYS_MAX)
        return;
    struct relay_replay *replay = &state->replays[state->replay_count++];
    replay->key = memory_copy_string(key);
    buffer_init(&replay->line, BUFFER_DEFAULT_LIMIT);
    buffer_append_span(&replay->line, line);
}

static void note_method(struct relay_state *state, const struct message_peek *peek,
                        struct span line)
{
    CLEANUP_FREE char *uri = memory_format("uri %.*s", (int)peek->uri.length, peek->uri.data);
    if (span_equal_text(peek->method, "initialize"))
        keep_replay(state, "initialize", line);
    else if (span_equal_text(peek->method, "notifications/initialized"))
        keep_replay(state, "initialized", line);
    else if (span_equal_text(peek->method, "logging/setLevel"))
        keep_replay(state, "level", line);
    else if (span_equal_text(peek->method, "resources/subscribe"))
        keep_replay(state, uri, line);
    else if (span_equal_text(peek->method, "resources/unsubscribe"))
        drop_replay(state, uri);
    else if (span_equal_text(peek->method, "notifications/cancelled"))
        take(state->in_flight, &state->in_flight_count, peek->request_id);  // no answer will come
}

// --- lines that pass -----------------------------------------------------------------------------

void relay_state_sent(struct relay_state *state, struct span line)
{
    struct message_peek peek;
    size_t at = 0;
    bool is_first = true;
    while (message_peek(line, &at, &peek)) {
        if (peek.method.length > 0 && peek.id.length > 0 &&
            state->in_flight_count < RELAY_IN_FLIGHT_MAX)
            state->in_flight[state->in_flight_count++] =
                memory_copy_text(peek.id.data, peek.id.length);
        if (is_first && peek.method.length > 0)
            note_method(state, &peek, line);
        is_first = false;
    }
}

bool relay_state_received(struct relay_state *state, struct span line)
{
    struct message_peek peek;
    size_t at = 0;
    bool wanted = true;
    while (message_peek(line, &at, &peek)) {
        if (peek.method.length > 0 || peek.id.length == 0)
            continue;
        if (!take(state->in_flight, &state->in_flight_count, peek.id) &&
            take(state->swallowed, &state->swallowed_count, peek.id))
            wanted = false;
    }
    return wanted;
}

// --- another daemon ------------------------------------------------------------------------------

static const struct {
    int code;
    const char *message;
} failures[] = {
    [RELAY_DAEMON_ENDED] = {-32000,
                            "The Cadre daemon ended while this request was in flight. It may have "
                            "taken effect; `cadre sessions show` lists what was evaluated. The "
                            "connection is open again: repeat the request if it is needed."},
    [RELAY_TERMINATED] = {1002,
                          "cadre serve was told to end. What runs goes on; `cadre sessions show` "
                          "lists what was evaluated."},
};

void relay_state_fail(struct relay_state *state, enum relay_failure failure,
                      struct buffer *to_client)
{
    for (size_t i = 0; i < state->in_flight_count; i++)
        buffer_append_format(
            to_client,
            "{\"jsonrpc\":\"2.0\",\"id\":%s,\"error\":{\"code\":%d,\"message\":\"%s\"}}\n",
            state->in_flight[i], failures[failure].code, failures[failure].message);
    forget_all(state->in_flight, &state->in_flight_count);
    forget_all(state->swallowed, &state->swallowed_count);
}

void relay_state_replay(struct relay_state *state, struct buffer *to_daemon)
{
    for (size_t i = 0; i < state->replay_count; i++) {
        struct span line = buffer_span(&state->replays[i].line);
        struct message_peek peek;
        size_t at = 0;
        if (message_peek(line, &at, &peek) && peek.id.length > 0 &&
            state->swallowed_count < RELAY_REPLAYS_MAX)
            state->swallowed[state->swallowed_count++] =
                memory_copy_text(peek.id.data, peek.id.length);
        buffer_append_span(to_daemon, line);
        buffer_append_byte(to_daemon, '\n');
    }
}
