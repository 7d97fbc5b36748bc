#include "cli/session_shared.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "daemon/session_link.h"
#include "daemon/session_wire.h"

static volatile sig_atomic_t is_interrupted;

static void on_interrupt(int number)
{
    (void)number;
    is_interrupted = 1;
}

struct shared_call {
    struct session_loop *loop;
    const struct session_console *console;
    session_loop_reply_fn *handle;
    void *data;
    bool wants_input;
    bool done;
};

static value new_message(struct region *region, const char *name, value item)
{
    return map_put_text(region, map_new(region), name, item);
}

// For what runs: when it cannot be sent, the end of the link shows that.
static void send_message(struct session_loop *loop, value message)
{
    struct error ignored;
    if (session_link_descriptor(loop->link) >= 0)
        session_link_send(loop->link, message, &ignored);
}

static void tell_news(struct session_loop *loop, value news)
{
    if (loop->on_news)
        loop->on_news(loop->news_data, news);
}

// --- the end of a call ---------------------------------------------------------------------------

static void finish(struct shared_call *call, struct region *region, value map)
{
    struct session_reply reply = session_wire_read_reply(region, map, call->loop->session);
    int64_t omitted = map_get_integer(map, "omitted", 0);
    char text[100];
    if (omitted && call->console && call->console->output) {
        int length = snprintf(text, sizeof(text),
                              "\n; %lld bytes of output were left out: they came faster than they "
                              "were read\n",
                              (long long)omitted);
        call->console->output(call->console->data, SESSION_STANDARD_ERROR,
                              (struct span){text, (size_t)length});
    }
    reply.advice = call->loop->advice;
    call->done = true;
    call->handle(call->data, &reply);
}

static void fail(struct shared_call *call, const char *message)
{
    struct region *region = region_new(SIZE_MAX);
    value error = new_message(region, "code", value_string_text(region, "daemon-ended"));
    error = map_put_text(region, error, "message", value_string_text(region, message));
    finish(call, region, new_message(region, "error", error));
    region_free(region);
}

// --- input ---------------------------------------------------------------------------------------

static void send_input(struct shared_call *call, struct span text)
{
    struct region *region = region_new(SIZE_MAX);
    call->wants_input = false;
    send_message(call->loop, new_message(region, "input", value_string(region, text)));
    region_free(region);
}

// An empty text is the end of the input.
static void give_line(struct shared_call *call)
{
    CLEANUP_BUFFER struct buffer line;
    buffer_init(&line, SESSION_INPUT_MAX);
    if (session_console_take(call->console, &line))
        send_input(call, buffer_span(&line));
}

// --- the call ------------------------------------------------------------------------------------

static void handle_message(struct shared_call *call, struct region *region, value message)
{
    const struct session_console *console = call->console;
    struct span output = map_get_string(message, "output");
    if (value_is_map(map_get(message, "reply"))) {
        finish(call, region, map_get(message, "reply"));
    } else if (output.length > 0 && console && console->output) {
        bool is_error = map_get_integer(message, "stream", 0) == SESSION_STANDARD_ERROR;
        console->output(console->data, is_error ? SESSION_STANDARD_ERROR : SESSION_STANDARD_OUTPUT,
                        output);
    } else if (map_get_boolean(message, "wants_input")) {
        call->wants_input = true;
        give_line(call);
    } else if (value_is_map(map_get(message, "news"))) {
        tell_news(call->loop, map_get(message, "news"));
    }
}

static void interrupt(struct shared_call *call)
{
    struct region *region = region_new(SIZE_MAX);
    is_interrupted = 0;
    send_message(call->loop, new_message(region, "interrupt", value_boolean(true)));
    region_free(region);
}

static void step(struct shared_call *call, const sigset_t *unblocked)
{
    struct session_link *link = call->loop->link;
    struct line_input *input = call->wants_input && call->console ? call->console->input : NULL;
    struct pollfd polled[] = {{.fd = session_link_descriptor(link), .events = POLLIN},
                              {.fd = input ? input->fd : -1, .events = POLLIN}};
    bool is_ready = session_link_has_message(link);
    if (!is_ready && ppoll(polled, 2, NULL, unblocked) < 0)
        polled[0].revents = polled[1].revents = 0;
    if (is_interrupted)
        interrupt(call);
    if (polled[1].revents) {
        line_input_fill(input);
        give_line(call);
    }
    if (!is_ready && !polled[0].revents)
        return;
    struct region *region = region_new(SIZE_MAX);
    value message;
    if (session_link_receive(link, region, &message))
        handle_message(call, region, message);
    else
        fail(call, "The daemon ended while this ran. It may have taken effect; `cadre sessions "
                   "show` lists what was evaluated.");
    region_free(region);
}

// Ctrl-C arrives while the loop waits, and nowhere else, so that none is missed.
static void wait_for_reply(struct shared_call *call)
{
    struct sigaction before, action = {.sa_handler = on_interrupt};
    sigset_t interrupts, unblocked;
    sigemptyset(&interrupts);
    sigaddset(&interrupts, SIGINT);
    sigprocmask(SIG_BLOCK, &interrupts, &unblocked);
    sigdelset(&unblocked, SIGINT);
    is_interrupted = 0;
    sigaction(SIGINT, &action, &before);
    while (!call->done)
        step(call, &unblocked);
    sigaction(SIGINT, &before, NULL);
    sigprocmask(SIG_UNBLOCK, &interrupts, NULL);
}

void session_shared_call(struct session_loop *loop, const struct session_request *request,
                         const struct session_console *console, session_loop_reply_fn *handle,
                         void *data)
{
    struct shared_call call = {.loop = loop, .console = console, .handle = handle, .data = data};
    struct region *region = region_new(SIZE_MAX);
    struct error error;
    value message = new_message(region, "call", session_wire_request(region, request));
    message =
        map_put_text(region, message, "reads", value_boolean(console && console->input != NULL));
    session_shared_hear(loop);
    bool sent = session_link_send(loop->link, message, &error);
    region_free(region);
    if (sent)
        wait_for_reply(&call);
    else
        fail(&call, error.message);
}

// --- questions -----------------------------------------------------------------------------------

static bool ask(struct session_loop *loop, value question, struct region *region, value *ret_answer,
                struct error *error)
{
    session_shared_hear(loop);
    if (!session_link_send(loop->link, question, error))
        return false;
    value message;
    while (session_link_receive(loop->link, region, &message)) {
        if (map_find_text(message, "answer", ret_answer))
            return true;
        if (value_is_map(map_get(message, "news")))
            tell_news(loop, map_get(message, "news"));
    }
    return error_set(error, ERROR_SYSTEM, "the daemon has ended");
}

value session_shared_ask(struct session_loop *loop, const char *question, int64_t number,
                         struct region *region)
{
    struct error error;
    value answer = value_nil();
    value message = new_message(region, "ask", value_string_text(region, question));
    message = map_put_text(region, message, "error", value_integer(number));
    return ask(loop, message, region, &answer, &error) ? answer : value_nil();
}

bool session_shared_set_limits(struct session_loop *loop, const struct session_limits *limits,
                               struct error *error)
{
    struct region *region = region_new(SIZE_MAX);
    value answer = value_nil();
    value message = new_message(region, "ask", value_string_text(region, "limits"));
    message = map_put_text(region, message, "limits", session_wire_limits(region, limits));
    bool ok = ask(loop, message, region, &answer, error);
    if (ok && value_is_string(answer)) {
        struct span text = value_text(answer);
        ok = error_set(error, ERROR_INVALID, "%.*s", (int)text.length, text.data);
    }
    region_free(region);
    return ok;
}

void session_shared_hear(struct session_loop *loop)
{
    for (;;) {
        struct pollfd now = {.fd = session_link_descriptor(loop->link), .events = POLLIN};
        if (now.fd < 0 || (!session_link_has_message(loop->link) && (poll(&now, 1, 0) <= 0)))
            return;
        struct region *region = region_new(SIZE_MAX);
        value message;
        if (session_link_receive(loop->link, region, &message) &&
            value_is_map(map_get(message, "news")))
            tell_news(loop, map_get(message, "news"));
        region_free(region);
    }
}
