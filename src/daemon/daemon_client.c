#include "daemon/daemon_client.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "config.h"
#include "daemon/greeting.h"
#include "daemon/rendezvous.h"
#include "value/text/json.h"

enum {
    READ_SIZE = 64 << 10,
    ANSWER_MAX = 64 << 10,
    ANSWER_WAIT_MS = 20000,  // for the answer to the greeting
    REPLACE_WAIT_MS = 40000,
    AGAIN_MS = 50,
    TRIES_MAX = 200,
};

// --- lines ---------------------------------------------------------------------------------------

bool daemon_client_send(int fd, struct span text)
{
    for (size_t done = 0; done < text.length;) {
        ssize_t n = send(fd, text.data + done, text.length - done, MSG_NOSIGNAL);
        if (n < 0 && errno != EINTR)
            return false;
        done += n > 0 ? (size_t)n : 0;
    }
    return true;
}

bool daemon_client_read_line(int fd, struct buffer *input, struct buffer *line)
{
    buffer_clear(line);
    for (;;) {
        const char *newline = input->length > 0 ? memchr(input->data, '\n', input->length) : NULL;
        if (newline) {
            size_t length = (size_t)(newline - input->data);
            buffer_append(line, input->data, length);
            buffer_consume(input, length + 1);
            return !line->failed;
        }
        if (!buffer_reserve(input, READ_SIZE))
            return false;
        ssize_t n = read(fd, input->data + input->length, READ_SIZE);
        if (n == 0 || (n < 0 && errno != EINTR))
            return false;
        input->length += n > 0 ? (size_t)n : 0;
    }
}

// Byte by byte, because what follows the line belongs to others; and not for ever.
static bool read_answer(int fd, struct buffer *line)
{
    int64_t until = clock_now_ms() + ANSWER_WAIT_MS;
    for (char c; !line->failed;) {
        struct pollfd wait = {.fd = fd, .events = POLLIN};
        int64_t left = until - clock_now_ms();
        if (left <= 0 || (poll(&wait, 1, (int)left) <= 0 && errno != EINTR))
            return false;
        ssize_t n = read(fd, &c, 1);
        if (n == 0 || (n < 0 && errno != EINTR))
            return false;
        if (n == 1 && c == '\n')
            return true;
        if (n == 1)
            buffer_append_byte(line, c);
    }
    return false;
}

// --- the greeting --------------------------------------------------------------------------------

enum greeted { GREETED, GREETED_LOST, GREETED_REFUSED, GREETED_OLDER };

static enum greeted judge_answer(struct span line, struct error *error)
{
    struct region *region = region_new(1 << 20);
    struct error inner;
    value answer;
    enum greeted result = GREETED_LOST;
    if (json_read(region, line, NULL, &answer, &inner) && value_is_map(answer)) {
        struct span version = map_get_string(answer, "version");
        struct span message = map_get_string(answer, "error");
        CLEANUP_FREE char *text = memory_copy_text(version.data, version.length);
        if (version.length > 0 && version_compare(CADRE_VERSION, text) > 0)
            result = GREETED_OLDER;
        else if (map_get_boolean(answer, "ok"))
            result = GREETED;
        else if (!span_equal_text(message, "the daemon is ending"))
            result = GREETED_REFUSED;
        if (result == GREETED_REFUSED)
            error_set(error, ERROR_INVALID, "%.*s", (int)message.length, message.data);
    }
    region_free(region);
    return result;
}

static enum greeted greet(int fd, const struct daemon_client *client, struct buffer *answer,
                          struct error *error)
{
    buffer_clear(answer);
    if (!daemon_client_send(fd, buffer_span(client->greeting)) || !read_answer(fd, answer))
        return GREETED_LOST;
    return judge_answer(buffer_span(answer), error);
}

// An older daemon saves its sessions and ends; then a new one starts.
static void replace_daemon(void)
{
    struct region *region = region_new(1 << 20);
    CLEANUP_BUFFER struct buffer line, answer;
    buffer_init(&line, ANSWER_MAX);
    buffer_init(&answer, ANSWER_MAX);
    greeting_write_control(
        &line, map_put_text(region, map_new(region), "op", value_string_text(region, "replace")));
    region_free(region);
    int fd = rendezvous_connect();
    if (fd < 0)
        return;
    if (daemon_client_send(fd, buffer_span(&line)))
        read_answer(fd, &answer);
    close(fd);
    int64_t until = clock_now_ms() + REPLACE_WAIT_MS;
    while ((fd = rendezvous_connect()) >= 0 && clock_now_ms() < until) {
        close(fd);
        poll(NULL, 0, 20);
    }
    if (fd >= 0)
        close(fd);
}

int daemon_client_connect(const struct daemon_client *client, struct buffer *ret_answer,
                          struct error *error)
{
    CLEANUP_BUFFER struct buffer own;
    buffer_init(&own, ANSWER_MAX);
    struct buffer *answer = ret_answer ? ret_answer : &own;
    for (int i = 0; i < TRIES_MAX && !(client->is_ended && *client->is_ended); i++) {
        int fd = rendezvous_connect_or_start(client->program, error);
        if (fd < 0)
            return -1;
        enum greeted greeted = greet(fd, client, answer, error);
        if (greeted == GREETED)
            return fd;
        close(fd);
        if (greeted == GREETED_REFUSED)
            return -1;
        if (greeted == GREETED_OLDER)
            replace_daemon();
        else
            poll(NULL, 0, AGAIN_MS);  // it is ending; the next one starts when it is gone
    }
    error_set(error, ERROR_SYSTEM, "the daemon does not answer");
    return -1;
}
