#include "daemon/daemon_request.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/clock.h"
#include "daemon/greeting.h"
#include "daemon/rendezvous.h"
#include "value/text/json.h"

enum { END_WAIT_MS = 40000, END_STEP_MS = 10, SILENCE_MAX_S = 20, ANSWER_MAX = 64 << 20 };

static bool exchange(int fd, const struct buffer *line, struct buffer *answer)
{
    const struct timeval silence = {.tv_sec = SILENCE_MAX_S};  // a stopped daemon says nothing
    if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &silence, sizeof(silence)) < 0)
        return false;
    for (size_t done = 0; done < line->length;) {
        ssize_t n = send(fd, line->data + done, line->length - done, MSG_NOSIGNAL);
        if (n < 0 && errno != EINTR)
            return false;
        done += n > 0 ? (size_t)n : 0;
    }
    return buffer_append_descriptor(answer, fd) == 0 && !answer->failed;
}

enum daemon_answer daemon_request(struct region *region, value request, value *ret_answer,
                                  struct error *error)
{
    int fd = rendezvous_connect();
    if (fd == -EPERM) {
        error_set(error, ERROR_SYSTEM, "the daemon's socket belongs to another user");
        return DAEMON_FAILED;
    }
    if (fd < 0)
        return DAEMON_ABSENT;
    CLEANUP_BUFFER struct buffer line, text;
    buffer_init(&line, GREETING_MAX);
    buffer_init(&text, ANSWER_MAX);
    greeting_write_control(&line, request);
    bool ok = exchange(fd, &line, &text);
    close(fd);
    struct error inner;
    if (!ok || !json_read(region, buffer_span(&text), NULL, ret_answer, &inner) ||
        !value_is_map(*ret_answer)) {
        error_set(error, ERROR_SYSTEM, "the daemon does not answer");
        return DAEMON_FAILED;
    }
    if (map_get_boolean(*ret_answer, "ok"))
        return DAEMON_ANSWERED;
    struct span message = map_get_string(*ret_answer, "error");
    error_set(error, ERROR_INVALID, "%.*s", (int)message.length, message.data);
    return DAEMON_FAILED;
}

bool daemon_wait_for_end(void)
{
    int64_t until = clock_now_ms() + END_WAIT_MS;
    while (clock_now_ms() < until) {
        struct error ignored;
        int lock = rendezvous_lock(&ignored);  // free when it has ended
        if (lock >= 0) {
            close(lock);
            return true;
        }
        poll(NULL, 0, END_STEP_MS);
    }
    return false;
}
