// libcurl on libevent: it names the sockets and the time it waits for, and is called when one of them
// comes. Its callbacks store and do nothing else, so that it is never entered twice.
#include "base/clock.h"
#include "upstream/upstream_http_internal.h"

static void advance(struct upstream_http *http, curl_socket_t fd, int what)
{
    int running;
    http->curl->multi_socket_action(http->multi, fd, what, &running);
    http_progressed(http);
}

static void on_ready(evutil_socket_t fd, short what, void *data)
{
    advance(data, fd,
            (what & EV_READ ? CURL_CSELECT_IN : 0) | (what & EV_WRITE ? CURL_CSELECT_OUT : 0));
}

static void on_time(evutil_socket_t fd, short what, void *data)
{
    (void)fd;
    (void)what;
    advance(data, CURL_SOCKET_TIMEOUT, 0);
}

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *data, void *socket_data)
{
    (void)easy;
    struct upstream_http *http = data;
    if (socket_data)
        event_free(socket_data);
    http->curl->multi_assign(http->multi, fd, NULL);
    if (what == CURL_POLL_REMOVE)
        return 0;
    int wanted = (what & CURL_POLL_IN ? EV_READ : 0) | (what & CURL_POLL_OUT ? EV_WRITE : 0);
    struct event *event = event_new(http->base, fd, (short)(wanted | EV_PERSIST), on_ready, http);
    if (!event)
        return -1;
    if (event_add(event, NULL) < 0 ||
        http->curl->multi_assign(http->multi, fd, event) != CURLM_OK) {
        event_free(event);
        return -1;
    }
    return 0;
}

static int on_time_wanted(CURLM *multi, long milliseconds, void *data)
{
    (void)multi;
    struct upstream_http *http = data;
    if (milliseconds < 0)
        return evtimer_del(http->timer);
    struct timeval delay = timeval_from_ms(milliseconds);
    return evtimer_add(http->timer, &delay);
}

bool http_loop_begin(struct upstream_http *http)
{
    const struct curl_api *curl = http->curl;
    http->timer = evtimer_new(http->base, on_time, http);
    http->multi = curl->multi_init();
    if (!http->timer || !http->multi)
        return false;
    CURLM *multi = http->multi;
    return curl->multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, on_socket) == CURLM_OK &&
           curl->multi_setopt(multi, CURLMOPT_SOCKETDATA, http) == CURLM_OK &&
           curl->multi_setopt(multi, CURLMOPT_TIMERFUNCTION, on_time_wanted) == CURLM_OK &&
           curl->multi_setopt(multi, CURLMOPT_TIMERDATA, http) == CURLM_OK;
}
