// Pre-waking an idle head.
#include <criterion/criterion.h>
#include <sys/socket.h>

#include "session/session_internal.h"

// Pre-wake frames that reached the head.
static int prewakes(struct session *session)
{
    uint32_t header[4];
    int count = 0;
    while (recv(session->main.worker_fd, header, sizeof(header), MSG_DONTWAIT) > 0)
        count += header[0] == CHANNEL_PREWAKE;
    return count;
}

Test(prewake, only_an_idle_head_and_not_again_and_again)
{
    struct event_base *base = event_base_new();
    struct session session = {.state = STATE_IDLE};
    cr_assert_eq(channel_init(&session.main, base, NULL, NULL), 0);
    for (int i = 0; i < 100; i++)
        session_prewake_head(&session);
    cr_assert_eq(prewakes(&session), 1);
    session.times.used_ns = session.times.prewake_ns + 1;  // a request came
    session_prewake_head(&session);
    cr_assert_eq(prewakes(&session), 1);
    session.times.prewake_ns -= 2000000000;  // long ago
    session_prewake_head(&session);
    cr_assert_eq(prewakes(&session), 1);

    session.times.used_ns = session.times.prewake_ns + 1;
    session.finalizer.running = true;
    session_prewake_head(&session);
    session.finalizer.running = false;
    session.state = STATE_RUNNING;
    session_prewake_head(&session);
    session.state = STATE_IDLE;
    buffer_append_byte(&session.main.outgoing, ' ');  // the socket is full already
    session_prewake_head(&session);
    cr_assert_eq(prewakes(&session), 0);
    channel_release(&session.main);
    event_base_free(base);
}
