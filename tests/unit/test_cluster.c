// The parts of a cluster against a real NATS server (Debian: nats-server), which each test starts in a
// directory of its own: chains, leases, journals and parcels.
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/memory.h"
#include "cluster/lease.h"
#include "cluster/nats_library.h"
#include "cluster/parcel.h"
#include "cluster/record_log.h"

struct place {
    struct event_base *base;
    char directory[64];
    pid_t server;
    int port;
    struct bus *bus;
    struct jetstream *jetstream;
    struct owners *owners;
    bool is_connected;
};

static struct place here;

static void on_state(void *data, bool is_connected)
{
    ((struct place *)data)->is_connected = is_connected;
}

static int free_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    cr_assert(fd >= 0 && bind(fd, (struct sockaddr *)&address, size) == 0 &&
              getsockname(fd, (struct sockaddr *)&address, &size) == 0);
    close(fd);
    return ntohs(address.sin_port);
}

static void start_server(void)
{
    char port[16];
    snprintf(port, sizeof(port), "%d", here.port);
    here.server = fork();
    if (here.server == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        int null = open("/dev/null", O_RDWR);
        dup2(null, 1);
        dup2(null, 2);
        execlp("nats-server", "nats-server", "-a", "127.0.0.1", "-p", port, "-js", "-sd",
               here.directory, NULL);
        _exit(127);
    }
}

static void turn(void)
{
    struct timeval time = timeval_from_ms(20);
    event_base_loopexit(here.base, &time);
    event_base_dispatch(here.base);
}

// Turns the loop until the condition holds.
#define WAIT_FOR(condition)                                     \
    do {                                                        \
        int64_t until = clock_now_ms() + 20000;                 \
        while (!(condition) && clock_now_ms() < until)          \
            turn();                                             \
        cr_assert(condition, "waited in vain for " #condition); \
    } while (0)

static void on_provided(void *data, const struct jetstream_answer *answer)
{
    *(int *)data = answer->status == JETSTREAM_DONE ? 1 : -1;
}

static void provide(const char *stream, const char *subject)
{
    int done = 0;
    CLEANUP_FREE char *configuration =
        memory_format("{\"name\":\"%s\",\"subjects\":[\"%s\"],\"storage\":\"file\","
                      "\"retention\":\"limits\",\"max_consumers\":-1,\"max_msgs\":-1,"
                      "\"max_bytes\":-1,\"max_age\":0,\"num_replicas\":1}",
                      stream, subject);
    while (done <= 0) {
        done = 0;
        jetstream_provide(here.jetstream, stream, span_from(configuration), on_provided, &done);
        WAIT_FOR(done != 0);
    }
}

static void connect_all(void)
{
    struct error error;
    snprintf(here.directory, sizeof(here.directory), "/tmp/cadre-cluster-XXXXXX");
    cr_assert(mkdtemp(here.directory));
    here.base = event_base_new();
    here.port = free_port();
    start_server();
    CLEANUP_FREE char *url = memory_format("nats://127.0.0.1:%d", here.port);
    const struct bus_options options = {.servers = url, .name = "test"};
    cr_assert(bus_open(here.base, &options, on_state, &here, &here.bus, &error), "%s",
              error.message);
    here.jetstream = jetstream_new(here.base, here.bus);
    here.owners = owners_new(here.bus);
    WAIT_FOR(here.is_connected);
    provide(OWNERS_STREAM, OWNERS_SUBJECT ">");
    provide(JOURNAL_STREAM, JOURNAL_SUBJECT "*");
}

static void disconnect_all(void)
{
    owners_free(here.owners);
    jetstream_free(here.jetstream);
    bus_free(here.bus);
    event_base_free(here.base);
    kill(here.server, SIGKILL);
    waitpid(here.server, NULL, 0);
    CLEANUP_FREE char *command = memory_format("rm -rf '%s'", here.directory);
    cr_expect_eq(system(command), 0);
}

TestSuite(cluster, .init = connect_all, .fini = disconnect_all, .timeout = 120);

// --- chains --------------------------------------------------------------------------------------

struct writer {
    struct chain *chain;
    int stored;
    bool is_broken;
};

static void count_stored(void *data, uint64_t sequence, int64_t sent_ms)
{
    (void)sent_ms;
    struct writer *writer = data;
    cr_expect(sequence > 0);
    writer->stored++;
}

static void note_broken(void *data, const char *why)
{
    (void)why;
    ((struct writer *)data)->is_broken = true;
}

static void open_writer(struct writer *writer, const char *label, uint64_t last)
{
    const struct chain_setup setup = {.base = here.base,
                                      .jetstream = here.jetstream,
                                      .stream = JOURNAL_STREAM,
                                      .subject = JOURNAL_SUBJECT "chain",
                                      .last = last,
                                      .label = label,
                                      .on_stored = count_stored,
                                      .on_broken = note_broken,
                                      .data = writer};
    *writer = (struct writer){.chain = chain_new(&setup)};
}

Test(cluster, chain_is_broken_by_another_writer)
{
    struct writer one, two;
    open_writer(&one, "one", 0);
    chain_store(one.chain, SPAN("a"));
    WAIT_FOR(one.stored == 1);
    open_writer(&two, "two", chain_last(one.chain));
    chain_store(two.chain, SPAN("b"));
    WAIT_FOR(two.stored == 1);
    chain_store(one.chain, SPAN("c"));
    WAIT_FOR(one.is_broken);
    cr_expect_eq(one.stored, 1);
    cr_expect(!two.is_broken);
    chain_free(one.chain);
    chain_free(two.chain);
}

Test(cluster, chain_goes_on_after_the_server_was_away)
{
    struct writer one;
    open_writer(&one, "one", 0);
    chain_store(one.chain, SPAN("a"));
    WAIT_FOR(one.stored == 1);
    kill(here.server, SIGKILL);
    waitpid(here.server, NULL, 0);
    chain_store(one.chain, SPAN("b"));
    WAIT_FOR(!here.is_connected);
    cr_expect_eq(one.stored, 1);
    start_server();
    WAIT_FOR(one.stored == 2);
    cr_expect(!one.is_broken);
    chain_free(one.chain);
}

// --- leases --------------------------------------------------------------------------------------

struct holder {
    struct lease *lease;
    int claimed;  // 1 + the result
    bool is_lost, is_released;
};

static void note_claimed(void *data, enum lease_result result)
{
    ((struct holder *)data)->claimed = 1 + (int)result;
}

static void note_lost(void *data, const char *why)
{
    (void)why;
    ((struct holder *)data)->is_lost = true;
}

static void note_released(void *data)
{
    ((struct holder *)data)->is_released = true;
}

static void claim(struct holder *holder, const char *node)
{
    const struct lease_setup setup = {.base = here.base,
                                      .jetstream = here.jetstream,
                                      .owners = here.owners,
                                      .workspace = "team",
                                      .node = node,
                                      .instance = (uint64_t)node[0],
                                      .on_claimed = note_claimed,
                                      .on_lost = note_lost,
                                      .on_released = note_released,
                                      .data = holder};
    *holder = (struct holder){.lease = lease_new(&setup)};
    WAIT_FOR(holder->claimed);
}

Test(cluster, lease_is_held_by_one)
{
    struct holder one, two;
    claim(&one, "one");
    cr_expect_eq(one.claimed, 1 + LEASE_HELD);
    cr_expect(lease_is_held(one.lease));
    claim(&two, "two");
    cr_expect_eq(two.claimed, 1 + LEASE_TAKEN);
    cr_expect_str_eq(owners_find(here.owners, "team")->record.node, "one");
    lease_free(two.lease);
    lease_release(one.lease);
    WAIT_FOR(one.is_released);
    cr_expect(!lease_is_held(one.lease));
    claim(&two, "two");
    cr_expect_eq(two.claimed, 1 + LEASE_HELD);
    cr_expect_eq(lease_epoch(two.lease), lease_epoch(one.lease) + 1);
    lease_free(one.lease);
    lease_free(two.lease);
}

Test(cluster, lease_outlives_its_time_only_by_refreshes)
{
    struct holder one;
    claim(&one, "one");
    int64_t end = clock_now_ms() + LEASE_MS + 1000;
    while (clock_now_ms() < end) {
        turn();
        cr_assert(!one.is_lost);
    }
    cr_expect(lease_is_held(one.lease));
    kill(here.server, SIGSTOP);
    WAIT_FOR(one.is_lost);
    cr_expect(!lease_is_held(one.lease));
    kill(here.server, SIGCONT);
    struct holder two;
    WAIT_FOR(here.is_connected);
    claim(&two, "two");
    while (two.claimed != 1 + LEASE_HELD) {
        lease_free(two.lease);
        claim(&two, "two");
    }
    cr_expect(!lease_is_held(one.lease));
    lease_free(one.lease);
    lease_free(two.lease);
}

// --- journals ------------------------------------------------------------------------------------

struct reader {
    struct record_log *log;
    struct buffer read;
    bool is_ready, is_broken;
};

static void on_record(void *data, struct span record, uint64_t sequence)
{
    (void)sequence;
    struct reader *reader = data;
    buffer_append_span(&reader->read, record);
    buffer_append_byte(&reader->read, ';');
}

static void on_ready(void *data)
{
    ((struct reader *)data)->is_ready = true;
}

static void on_log_stored(void *data)
{
    (void)data;
}

static void on_log_broken(void *data, const char *why)
{
    (void)why;
    ((struct reader *)data)->is_broken = true;
}

static void open_log(struct reader *reader, const char *node, uint64_t epoch)
{
    const struct record_log_setup setup = {.base = here.base,
                                           .jetstream = here.jetstream,
                                           .workspace = "team",
                                           .node = node,
                                           .epoch = epoch,
                                           .on_record = on_record,
                                           .on_ready = on_ready,
                                           .on_stored = on_log_stored,
                                           .on_broken = on_log_broken,
                                           .data = reader};
    *reader = (struct reader){0};
    buffer_init(&reader->read, BUFFER_DEFAULT_LIMIT);
    reader->log = record_log_new(&setup);
    WAIT_FOR(reader->is_ready);
}

Test(cluster, journal_is_read_by_the_next_owner_and_closed_to_the_one_before)
{
    struct reader one, two;
    open_log(&one, "one", 1);
    for (int i = 0; i < 5; i++)
        record_log_append(one.log, SPAN("{\"a\":1}"));
    cr_expect_eq(record_log_stored(one.log), 0, "nothing is stored before it is acknowledged");
    WAIT_FOR(record_log_stored(one.log) == 5);
    open_log(&two, "two", 2);
    cr_expect_str_eq(buffer_text(&two.read), "{\"a\":1};{\"a\":1};{\"a\":1};{\"a\":1};{\"a\":1};");
    record_log_append(one.log, SPAN("{\"late\":1}"));
    WAIT_FOR(one.is_broken);
    cr_expect_eq(record_log_stored(one.log), 5);
    record_log_append(two.log, SPAN("{\"b\":2}"));
    WAIT_FOR(record_log_stored(two.log) == 1);
    record_log_free(one.log);
    record_log_free(two.log);
    buffer_release(&one.read);
    buffer_release(&two.read);
}

// A record of several messages, of which the last line end is at the beginning of a message.
Test(cluster, journal_keeps_records_longer_than_a_message)
{
    struct reader one, two;
    CLEANUP_BUFFER struct buffer record;
    buffer_init(&record, BUFFER_DEFAULT_LIMIT);
    for (size_t i = 0; i < 2 * (size_t)BUS_PIECE_MAX; i++)
        buffer_append_byte(&record, 'x');
    open_log(&one, "one", 1);
    record_log_append(one.log, buffer_span(&record));
    record_log_append(one.log, SPAN("short"));
    WAIT_FOR(record_log_stored(one.log) == 2);
    record_log_free(one.log);
    open_log(&two, "two", 2);
    cr_expect_eq(two.read.length, record.length + 7);
    record_log_free(two.log);
    buffer_release(&one.read);
    buffer_release(&two.read);
}

// --- parcels -------------------------------------------------------------------------------------

struct mailbox {
    struct parcel_reader reader;
    enum parcel_progress progress;
    int pieces;
};

static void on_piece(void *data, const struct bus_delivery *delivery)
{
    struct mailbox *mailbox = data;
    mailbox->progress = parcel_read(&mailbox->reader, delivery->body);
    mailbox->pieces++;
}

Test(cluster, parcels_come_in_pieces)
{
    struct mailbox mailbox = {0};
    parcel_reader_init(&mailbox.reader, 4 << 20);
    struct bus_subscription *subscription =
        bus_subscribe(here.bus, "cadre.test", NULL, on_piece, &mailbox);
    size_t length = 3 * (size_t)BUS_PIECE_MAX + 5;
    char *body = memory_alloc(length);
    memset(body, 'b', length);
    struct parcel_writer writer = {.bus = here.bus, .subject = "cadre.test", .call = "c.1"};
    cr_expect_eq(parcel_send(&writer, SPAN("{}"), (struct span){body, length}), 0);
    WAIT_FOR(mailbox.pieces == 4);
    cr_expect_eq(mailbox.progress, PARCEL_WHOLE);
    cr_expect_eq(mailbox.reader.header.length, 2);
    cr_expect_eq(mailbox.reader.body.length, length);
    cr_expect(memcmp(mailbox.reader.body.data, body, length) == 0);
    parcel_next(&mailbox.reader);
    writer.last++;  // one is lost
    parcel_send(&writer, SPAN("{}"), SPAN(""));
    WAIT_FOR(mailbox.pieces == 5);
    cr_expect_eq(mailbox.progress, PARCEL_BROKEN);
    bus_unsubscribe(subscription);
    parcel_reader_release(&mailbox.reader);
    memory_free(body);
}
