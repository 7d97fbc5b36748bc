#include "cluster/bus.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/queue.h>
#include <time.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/memory.h"
#include "cluster/nats_library.h"

enum {
    SERVERS_MAX = 16,
    CONNECT_MS = 1500,
    RECONNECT_MS = 200,
    PING_MS = 1000,  // a server that is silent for three of them is gone
    PINGS_OUT = 2,
    WRITE_MS = 3000,
    END_WAIT_S = 3,
    FAILURE_SIZE = 256,
};

// Something for the thread to do.
struct command {
    STAILQ_ENTRY(command) link;
    enum { COMMAND_PUBLISH, COMMAND_SUBSCRIBE, COMMAND_UNSUBSCRIBE } kind;
    struct listener *listener;
    natsMsg *message;
    size_t size;
};

// Something for the loop.
struct arrival {
    STAILQ_ENTRY(arrival) link;
    enum { ARRIVAL_MESSAGE, ARRIVAL_STATE } kind;
    uint64_t subscription;
    natsMsg *message;
    bool is_connected;
    size_t size;
};

STAILQ_HEAD(command_list, command);
STAILQ_HEAD(arrival_list, arrival);

// The library's side of a subscription: there until the library has called it for the last time.
struct listener {
    struct bus *bus;
    uint64_t id;
    char *subject, *group;
    natsSubscription *handle;  // of the thread
};

// The loop's side.
struct bus_subscription {
    TAILQ_ENTRY(bus_subscription) link;
    struct bus *bus;
    uint64_t id;
    struct listener *listener;
    bus_delivery_fn *deliver;
    void *data;
};

struct bus {
    const struct nats_library *nats;
    char *servers, *credentials, *ca, *name;
    bus_state_fn *on_state;
    void *data;
    TAILQ_HEAD(, bus_subscription) subscriptions;
    uint64_t last_subscription;
    bool is_connected;  // as the loop knows
    char failure_copy[FAILURE_SIZE];
    int notice;
    struct event *notice_event;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    // Under the lock:
    struct command_list commands;
    struct arrival_list arrivals;
    size_t command_bytes, arrival_bytes;
    size_t listeners;
    bool is_ending, is_open;  // is_open: the library may call
    char failure[FAILURE_SIZE];
};

// --- from the threads to the loop ----------------------------------------------------------------

static void arrive(struct bus *bus, const struct arrival *given)
{
    struct arrival *arrival = memory_copy(given, sizeof(*given));
    pthread_mutex_lock(&bus->lock);
    while (!bus->is_ending && bus->arrival_bytes > BUS_QUEUE_BYTES)
        pthread_cond_wait(&bus->changed, &bus->lock);
    bus->arrival_bytes += arrival->size;
    STAILQ_INSERT_TAIL(&bus->arrivals, arrival, link);
    int failed = eventfd_write(bus->notice, 1);
    CHECK(failed == 0);
    pthread_mutex_unlock(&bus->lock);
}

static void on_message(natsConnection *connection, natsSubscription *subscription, natsMsg *message,
                       void *data)
{
    (void)connection;
    (void)subscription;
    struct listener *listener = data;
    struct bus *bus = listener->bus;
    arrive(bus, &(struct arrival){.kind = ARRIVAL_MESSAGE,
                                  .subscription = listener->id,
                                  .message = message,
                                  .size = (size_t)bus->nats->message_length(message) + 1});
}

static void on_listener_end(void *data)
{
    struct listener *listener = data;
    struct bus *bus = listener->bus;
    memory_free(listener->subject);
    memory_free(listener->group);
    memory_free(listener);
    pthread_mutex_lock(&bus->lock);
    bus->listeners--;
    pthread_cond_broadcast(&bus->changed);
    pthread_mutex_unlock(&bus->lock);
}

static void tell_state(struct bus *bus, bool is_connected, const char *failure)
{
    pthread_mutex_lock(&bus->lock);
    snprintf(bus->failure, sizeof(bus->failure), "%s", failure);
    pthread_mutex_unlock(&bus->lock);
    arrive(bus, &(struct arrival){.kind = ARRIVAL_STATE, .is_connected = is_connected});
}

static void on_disconnected(natsConnection *connection, void *data)
{
    (void)connection;
    tell_state(data, false, "the connection to the NATS servers is lost");
}

static void on_reconnected(natsConnection *connection, void *data)
{
    (void)connection;
    tell_state(data, true, "");
}

static void on_closed(natsConnection *connection, void *data)
{
    (void)connection;
    struct bus *bus = data;
    pthread_mutex_lock(&bus->lock);
    bus->is_open = false;
    pthread_cond_broadcast(&bus->changed);
    pthread_mutex_unlock(&bus->lock);
}

// --- the thread ----------------------------------------------------------------------------------

static natsStatus set_servers(const struct bus *bus, natsOptions *options)
{
    CLEANUP_FREE char *text = memory_copy_string(bus->servers);
    const char *servers[SERVERS_MAX];
    int count = 0;
    char *rest = NULL;
    for (char *one = strtok_r(text, ",", &rest); one && count < SERVERS_MAX;
         one = strtok_r(NULL, ",", &rest))
        servers[count++] = one;
    return bus->nats->options_servers(options, servers, count);
}

static natsStatus set_security(const struct bus *bus, natsOptions *options)
{
    natsStatus status = NATS_OK;
    if (bus->credentials)
        status = bus->nats->options_credentials(options, bus->credentials, NULL);
    if (status == NATS_OK && bus->ca)
        status = bus->nats->options_ca(options, bus->ca);
    return status;
}

// What is published without a connection fails at once: it must not arrive much later.
static natsStatus set_options(struct bus *bus, natsOptions *options)
{
    const struct nats_library *nats = bus->nats;
    const natsStatus set[] = {
        set_servers(bus, options),
        set_security(bus, options),
        nats->options_name(options, bus->name),
        nats->options_timeout(options, CONNECT_MS),
        nats->options_max_reconnect(options, -1),
        nats->options_reconnect_wait(options, RECONNECT_MS),
        nats->options_reconnect_jitter(options, RECONNECT_MS / 2, RECONNECT_MS / 2),
        nats->options_reconnect_buffer(options, 1),
        nats->options_ping_interval(options, PING_MS),
        nats->options_max_pings(options, PINGS_OUT),
        nats->options_send_asap(options, true),
        nats->options_write_deadline(options, WRITE_MS),
        nats->options_global_delivery(options, true),
        nats->options_on_disconnected(options, on_disconnected, bus),
        nats->options_on_reconnected(options, on_reconnected, bus),
        nats->options_on_closed(options, on_closed, bus),
    };
    for (size_t i = 0; i < sizeof(set) / sizeof(set[0]); i++)
        if (set[i] != NATS_OK)
            return set[i];
    return NATS_OK;
}

static natsStatus connect_once(struct bus *bus, natsConnection **ret_connection)
{
    natsOptions *options = NULL;
    natsStatus status = bus->nats->options_create(&options);
    if (status == NATS_OK)
        status = set_options(bus, options);
    if (status == NATS_OK)
        status = bus->nats->connect(ret_connection, options);
    bus->nats->options_destroy(options);
    return status;
}

// With the lock held. Returns with it; false: it is time to end.
static bool wait_a_moment(struct bus *bus)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += RECONNECT_MS * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    while (!bus->is_ending &&
           pthread_cond_clockwait(&bus->changed, &bus->lock, CLOCK_MONOTONIC, &until) != ETIMEDOUT)
        continue;
    return !bus->is_ending;
}

static natsConnection *keep_connecting(struct bus *bus)
{
    natsConnection *connection = NULL;
    bool goes_on = true;
    while (goes_on) {
        natsStatus status = connect_once(bus, &connection);
        if (status == NATS_OK) {
            tell_state(bus, true, "");
            return connection;
        }
        pthread_mutex_lock(&bus->lock);
        snprintf(bus->failure, sizeof(bus->failure), "no NATS server answers: %s",
                 bus->nats->status_text(status));
        goes_on = wait_a_moment(bus);
        pthread_mutex_unlock(&bus->lock);
    }
    return NULL;
}

static void subscribe(struct bus *bus, natsConnection *connection, struct listener *listener)
{
    natsStatus status =
        listener->group
            ? bus->nats->queue_subscribe(&listener->handle, connection, listener->subject,
                                         listener->group, on_message, listener)
            : bus->nats->subscribe(&listener->handle, connection, listener->subject, on_message,
                                   listener);
    if (status == NATS_OK)
        status = bus->nats->subscription_on_complete(listener->handle, on_listener_end, listener);
    if (status != NATS_OK)
        log_error("cannot subscribe to %s: %s", listener->subject, bus->nats->status_text(status));
}

// The library calls on_listener_end() when the last message was delivered.
static void unsubscribe(struct bus *bus, struct listener *listener)
{
    natsSubscription *handle = listener->handle;
    bus->nats->unsubscribe(handle);
    bus->nats->subscription_destroy(handle);
}

static void run_command(struct bus *bus, natsConnection *connection, struct command *command)
{
    switch (command->kind) {
    case COMMAND_PUBLISH:
        // What fails is not acknowledged: whoever waits for that learns it.
        bus->nats->publish(connection, command->message);
        bus->nats->message_destroy(command->message);
        break;
    case COMMAND_SUBSCRIBE: subscribe(bus, connection, command->listener); break;
    case COMMAND_UNSUBSCRIBE: unsubscribe(bus, command->listener); break;
    }
    memory_free(command);
}

// With the lock held; NULL: the end.
static struct command *next_command(struct bus *bus)
{
    while (STAILQ_EMPTY(&bus->commands) && !bus->is_ending)
        pthread_cond_wait(&bus->changed, &bus->lock);
    struct command *command = STAILQ_FIRST(&bus->commands);
    if (command) {
        STAILQ_REMOVE_HEAD(&bus->commands, link);
        bus->command_bytes -= command->size;
    }
    return command;
}

// There never was a connection: the library knows none of the subscriptions.
static void drop_commands(struct bus *bus)
{
    for (struct command *command; (command = STAILQ_FIRST(&bus->commands));) {
        STAILQ_REMOVE_HEAD(&bus->commands, link);
        if (command->kind == COMMAND_SUBSCRIBE)
            on_listener_end(command->listener);
        memory_free(command);
    }
}

static void *run_thread(void *data)
{
    struct bus *bus = data;
    natsConnection *connection = keep_connecting(bus);
    if (!connection) {
        drop_commands(bus);
        on_closed(NULL, bus);
        return NULL;
    }
    pthread_mutex_lock(&bus->lock);
    for (struct command *command; (command = next_command(bus));) {
        pthread_mutex_unlock(&bus->lock);
        run_command(bus, connection, command);
        pthread_mutex_lock(&bus->lock);
    }
    pthread_mutex_unlock(&bus->lock);
    bus->nats->close(connection);
    bus->nats->destroy(connection);
    return NULL;
}

// --- the loop ------------------------------------------------------------------------------------

static void hand_over(struct bus *bus, const struct arrival *arrival)
{
    const struct nats_library *nats = bus->nats;
    struct bus_subscription *subscription;
    TAILQ_FOREACH (subscription, &bus->subscriptions, link)
        if (subscription->id == arrival->subscription)
            break;
    if (!subscription)
        return;
    const char *reply = nats->message_reply(arrival->message);
    const struct bus_delivery delivery = {
        .subject = nats->message_subject(arrival->message),
        .reply = reply ? reply : "",
        .body = {nats->message_data(arrival->message),
                 (size_t)nats->message_length(arrival->message)},
        .no_responders = nats->message_no_responders(arrival->message),
    };
    subscription->deliver(subscription->data, &delivery);
}

static struct arrival *take_arrival(struct bus *bus)
{
    pthread_mutex_lock(&bus->lock);
    struct arrival *arrival = STAILQ_FIRST(&bus->arrivals);
    if (arrival) {
        STAILQ_REMOVE_HEAD(&bus->arrivals, link);
        bus->arrival_bytes -= arrival->size;
        pthread_cond_broadcast(&bus->changed);
    }
    pthread_mutex_unlock(&bus->lock);
    return arrival;
}

// Some at a time, so that the loop gets to its other work.
static void on_notice(evutil_socket_t descriptor, short events, void *data)
{
    (void)events;
    enum { AT_A_TIME = 64 };
    struct bus *bus = data;
    struct arrival *arrival = NULL;
    eventfd_t count;
    eventfd_read(descriptor, &count);
    for (int i = 0; i < AT_A_TIME && (arrival = take_arrival(bus)); i++) {
        if (arrival->kind == ARRIVAL_MESSAGE) {
            hand_over(bus, arrival);
            bus->nats->message_destroy(arrival->message);
        } else if (bus->is_connected != arrival->is_connected) {
            bus->is_connected = arrival->is_connected;
            bus->on_state(bus->data, bus->is_connected);
        }
        memory_free(arrival);
    }
    if (arrival)
        eventfd_write(descriptor, 1);
}

static int submit(struct bus *bus, const struct command *given)
{
    struct command *command = memory_copy(given, sizeof(*given));
    pthread_mutex_lock(&bus->lock);
    bool fits = bus->command_bytes + command->size <= BUS_QUEUE_BYTES;
    if (fits) {
        bus->command_bytes += command->size;
        STAILQ_INSERT_TAIL(&bus->commands, command, link);
        pthread_cond_broadcast(&bus->changed);
    }
    pthread_mutex_unlock(&bus->lock);
    if (fits)
        return 0;
    memory_free(command);
    return -ENOBUFS;
}

int bus_publish(struct bus *bus, const struct bus_message *message)
{
    natsMsg *copy = NULL;
    if (!bus->is_connected)
        return -ENOTCONN;
    natsStatus status = bus->nats->message_create(&copy, message->subject, message->reply,
                                                  message->body.data, (int)message->body.length);
    for (int i = 0; status == NATS_OK && i < BUS_HEADERS_MAX && message->headers[i].name; i++)
        status =
            bus->nats->message_set_header(copy, message->headers[i].name, message->headers[i].text);
    const struct command command = {
        .kind = COMMAND_PUBLISH, .message = copy, .size = message->body.length + 1};
    int result = status == NATS_OK ? submit(bus, &command) : -EINVAL;
    if (result < 0)
        bus->nats->message_destroy(copy);
    return result;
}

struct bus_subscription *bus_subscribe(struct bus *bus, const char *subject, const char *group,
                                       bus_delivery_fn *deliver, void *data)
{
    struct bus_subscription *subscription = memory_alloc_zero(sizeof(*subscription));
    struct listener *listener = memory_alloc_zero(sizeof(*listener));
    *listener = (struct listener){.bus = bus,
                                  .id = ++bus->last_subscription,
                                  .subject = memory_copy_string(subject),
                                  .group = memory_copy_string(group)};
    *subscription = (struct bus_subscription){
        .bus = bus, .id = listener->id, .listener = listener, .deliver = deliver, .data = data};
    TAILQ_INSERT_TAIL(&bus->subscriptions, subscription, link);
    pthread_mutex_lock(&bus->lock);
    bus->listeners++;
    pthread_mutex_unlock(&bus->lock);
    submit(bus, &(struct command){.kind = COMMAND_SUBSCRIBE, .listener = listener});
    return subscription;
}

void bus_unsubscribe(struct bus_subscription *subscription)
{
    if (!subscription)
        return;
    struct bus *bus = subscription->bus;
    TAILQ_REMOVE(&bus->subscriptions, subscription, link);
    submit(bus, &(struct command){.kind = COMMAND_UNSUBSCRIBE, .listener = subscription->listener});
    memory_free(subscription);
}

bool bus_is_connected(const struct bus *bus)
{
    return bus->is_connected;
}

const char *bus_failure(struct bus *bus)
{
    pthread_mutex_lock(&bus->lock);
    memcpy(bus->failure_copy, bus->failure, sizeof(bus->failure));
    pthread_mutex_unlock(&bus->lock);
    return bus->failure_copy;
}

// --- life ----------------------------------------------------------------------------------------

// Signals are the loop's: the thread, and those of the library that it starts, block all of them.
static int start_thread(struct bus *bus)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&bus->thread, NULL, run_thread, bus);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return -failed;
}

static void release(struct bus *bus)
{
    struct arrival *arrival;
    while ((arrival = take_arrival(bus))) {
        if (arrival->kind == ARRIVAL_MESSAGE)
            bus->nats->message_destroy(arrival->message);
        memory_free(arrival);
    }
    close(bus->notice);
    pthread_cond_destroy(&bus->changed);
    pthread_mutex_destroy(&bus->lock);
    memory_free(bus->servers);
    memory_free(bus->credentials);
    memory_free(bus->ca);
    memory_free(bus->name);
    memory_free(bus);
}

bool bus_open(struct event_base *base, const struct bus_options *options, bus_state_fn *on_state,
              void *data, struct bus **ret_bus, struct error *error)
{
    const struct nats_library *nats = nats_library_load(error);
    if (!nats)
        return false;
    struct bus *bus = memory_alloc_zero(sizeof(*bus));
    *bus = (struct bus){.nats = nats,
                        .servers = memory_copy_string(options->servers),
                        .credentials = memory_copy_string(options->credentials),
                        .ca = memory_copy_string(options->ca),
                        .name = memory_copy_string(options->name),
                        .on_state = on_state,
                        .data = data,
                        .notice = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
                        .is_open = true,
                        .failure = "no NATS server has answered yet"};
    CHECK(bus->notice >= 0);
    TAILQ_INIT(&bus->subscriptions);
    STAILQ_INIT(&bus->commands);
    STAILQ_INIT(&bus->arrivals);
    pthread_mutex_init(&bus->lock, NULL);
    pthread_cond_init(&bus->changed, NULL);
    bus->notice_event = event_new(base, bus->notice, EV_READ | EV_PERSIST, on_notice, bus);
    CHECK(bus->notice_event);
    event_add(bus->notice_event, NULL);
    int failed = start_thread(bus);
    if (failed < 0) {
        event_free(bus->notice_event);
        release(bus);
        return error_set(error, ERROR_SYSTEM, "no thread for the cluster: %s", strerror(-failed));
    }
    *ret_bus = bus;
    return true;
}

// Whether no thread will use the bus again.
static bool wait_for_threads(struct bus *bus)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += END_WAIT_S;
    if (pthread_clockjoin_np(bus->thread, NULL, CLOCK_MONOTONIC, &until) != 0)
        return false;
    pthread_mutex_lock(&bus->lock);
    while ((bus->is_open || bus->listeners > 0) &&
           pthread_cond_clockwait(&bus->changed, &bus->lock, CLOCK_MONOTONIC, &until) != ETIMEDOUT)
        continue;
    bool is_over = !bus->is_open && bus->listeners == 0;
    pthread_mutex_unlock(&bus->lock);
    return is_over;
}

void bus_free(struct bus *bus)
{
    if (!bus)
        return;
    while (!TAILQ_EMPTY(&bus->subscriptions))
        bus_unsubscribe(TAILQ_FIRST(&bus->subscriptions));
    pthread_mutex_lock(&bus->lock);
    bus->is_ending = true;
    pthread_cond_broadcast(&bus->changed);
    pthread_mutex_unlock(&bus->lock);
    event_free(bus->notice_event);
    if (wait_for_threads(bus))
        release(bus);
    else
        log_warning("the connection to NATS has not ended within %d s", END_WAIT_S);
}
