// A bare libevent HTTP handler: the floor of the server's throughput. Answers every request with the
// same few bytes. Prints "listening on http://127.0.0.1:PORT" on standard error and serves for ever.
#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>

static void answer(struct evhttp_request *request, void *data)
{
    (void)data;
    struct evbuffer *body = evbuffer_new();
    evbuffer_add_printf(body, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}");
    evhttp_add_header(evhttp_request_get_output_headers(request), "Content-Type",
                      "application/json");
    evhttp_send_reply(request, 200, "OK", body);
    evbuffer_free(body);
}

int main(void)
{
    struct event_base *base = event_base_new();
    struct evhttp *http = evhttp_new(base);
    struct evhttp_bound_socket *bound = evhttp_bind_socket_with_handle(http, "127.0.0.1", 0);
    struct sockaddr_in address = {0};
    socklen_t length = sizeof(address);
    if (!bound ||
        getsockname(evhttp_bound_socket_get_fd(bound), (struct sockaddr *)&address, &length) < 0)
        return 1;
    evhttp_set_gencb(http, answer, NULL);
    fprintf(stderr, "listening on http://127.0.0.1:%d\n", ntohs(address.sin_port));
    event_base_dispatch(base);
    return 0;
}
