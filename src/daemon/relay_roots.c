#include "daemon/relay_roots.h"

#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/memory.h"
#include "daemon/message_peek.h"
#include "value/text/json.h"

enum { ANSWER_MS = 1000, IN_FLIGHT_MS = 5000, KEPT_MAX = 64 << 20 };

#define QUESTION_ID "\"cadre-roots\""

void relay_roots_init(struct relay_roots *roots, bool is_given)
{
    *roots = (struct relay_roots){.state = is_given ? RELAY_ROOTS_DONE : RELAY_ROOTS_UNKNOWN};
    buffer_init(&roots->kept, KEPT_MAX);
}

void relay_roots_release(struct relay_roots *roots)
{
    buffer_release(&roots->kept);
    memory_free(roots->root);
}

// --- what the client says ------------------------------------------------------------------------

static bool offers_roots(struct span initialize)
{
    struct region *region = region_new(SIZE_MAX);
    struct error error;
    value message;
    bool offers =
        json_read(region, initialize, NULL, &message, &error) &&
        value_is_map(map_get(map_get(map_get(message, "params"), "capabilities"), "roots"));
    region_free(region);
    return offers;
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

// The path of file:///path or file://localhost/path, NULL for any other.
static char *path_of_uri(struct span uri)
{
    static const char *const beginnings[] = {"file:///", "file://localhost/"};
    size_t start = 0;
    for (size_t i = 0; i < COUNT_OF(beginnings) && start == 0; i++)
        if (span_starts_with(uri, span_from(beginnings[i])))
            start = strlen(beginnings[i]) - 1;
    if (start == 0)
        return NULL;
    char *path = memory_copy_text(uri.data + start, uri.length - start);
    char *end = path;
    for (const char *at = path; *at; at++) {
        int high = *at == '%' ? hex_digit(at[1]) : -1;
        int low = high >= 0 ? hex_digit(at[2]) : -1;
        *end++ = low >= 0 ? (char)(high * 16 + low) : *at;
        at += low >= 0 ? 2 : 0;
    }
    *end = '\0';
    return path;
}

static void read_answer(struct relay_roots *roots, struct span line)
{
    struct region *region = region_new(SIZE_MAX);
    struct error error;
    value message;
    if (json_read(region, line, NULL, &message, &error)) {
        value result = map_get(message, "result");
        if (map_get_count(result, "roots") > 0)
            roots->root = path_of_uri(map_get_string(map_get_item(result, "roots", 0), "uri"));
    }
    region_free(region);
    relay_roots_give_up(roots);
}

// --- lines ---------------------------------------------------------------------------------------

// These are the same in every workspace.
static bool needs_workspace(const struct message_peek *peek)
{
    static const char *const others[] = {"initialize", "ping",         "logging/setLevel",
                                         "tools/list", "prompts/list", "resources/templates/list"};
    if (peek->method.length == 0 || peek->id.length == 0)
        return false;
    for (size_t i = 0; i < COUNT_OF(others); i++)
        if (span_equal_text(peek->method, others[i]))
            return false;
    return true;
}

static void ask(struct relay_roots *roots, struct buffer *to_client)
{
    buffer_append_text(to_client,
                       "{\"jsonrpc\":\"2.0\",\"id\":" QUESTION_ID ",\"method\":\"roots/list\"}\n");
    roots->state = RELAY_ROOTS_ASKED;
    roots->until_ms = clock_now_ms() + ANSWER_MS;
}

bool relay_roots_pass(struct relay_roots *roots, struct span line, struct buffer *to_client)
{
    struct message_peek peek;
    size_t at = 0;
    bool is_message = message_peek(line, &at, &peek);
    // Also when it comes too late: the daemon has not asked.
    if (is_message && peek.method.length == 0 && span_equal_text(peek.id, QUESTION_ID)) {
        if (roots->state == RELAY_ROOTS_ASKED)
            read_answer(roots, line);
        return false;
    }
    if (roots->state == RELAY_ROOTS_UNKNOWN && is_message && needs_workspace(&peek))
        roots->state = RELAY_ROOTS_DONE;  // a client that does not initialize
    if (roots->state == RELAY_ROOTS_UNKNOWN && is_message &&
        span_equal_text(peek.method, "initialize"))
        roots->state = offers_roots(line) ? RELAY_ROOTS_OFFERED : RELAY_ROOTS_DONE;
    if (roots->state == RELAY_ROOTS_OFFERED && is_message && needs_workspace(&peek))
        ask(roots, to_client);
    if (!relay_roots_keeps(roots))
        return true;
    buffer_append_span(&roots->kept, line);
    buffer_append_byte(&roots->kept, '\n');
    return false;
}

bool relay_roots_keeps(const struct relay_roots *roots)
{
    return roots->state == RELAY_ROOTS_ASKED || roots->state == RELAY_ROOTS_ANSWERED;
}

void relay_roots_give_up(struct relay_roots *roots)
{
    if (roots->state != RELAY_ROOTS_ASKED)
        return;
    roots->state = RELAY_ROOTS_ANSWERED;
    roots->until_ms = clock_now_ms() + IN_FLIGHT_MS;
}

bool relay_roots_is_ready(struct relay_roots *roots, size_t in_flight)
{
    int64_t now = clock_now_ms();
    if (roots->state == RELAY_ROOTS_ASKED && now >= roots->until_ms)
        relay_roots_give_up(roots);
    return roots->state == RELAY_ROOTS_ANSWERED && (in_flight == 0 || now >= roots->until_ms);
}
