// A session gets the state of another one, with workers that misbehave (fake_worker.c): every event
// while it waits for the clone, and at random. Each request is answered exactly once; the session
// whose state it is stays as it was; the other has the state, or is as it was, or is not there.
//   fake_forks FAKE_WORKER
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/assert.h"
#include "base/clock.h"
#include "driver.h"
#include "random.h"
#include "session/session_internal.h"

struct forks {
    struct driver driver;
    char start_file[64];
    struct session_config config;
    struct answer answer;  // of the fork
};

static void forks_open(struct forks *forks, const char *worker)
{
    snprintf(forks->start_file, sizeof(forks->start_file), "/tmp/cadre-forks-%d", (int)getpid());
    int fd = open(forks->start_file, O_WRONLY | O_TRUNC | O_CREAT, 0600);
    CHECK(fd >= 0 && write(fd, "good", 4) == 4);
    close(fd);
    forks->config = (struct session_config){.sbcl = worker, .core = forks->start_file};
    driver_open(&forks->driver, &forks->config);
}

static void forks_close(struct forks *forks)
{
    driver_close(&forks->driver);
    unlink(forks->start_file);
    check_no_children();
}

static struct session *find(struct forks *forks, const char *name)
{
    struct session_manager *manager = forks->driver.manager;
    return manager_knows(manager, name) ? manager_find(manager, name) : NULL;
}

static bool at_rest(struct forks *forks, const char *name)
{
    const struct session *session = find(forks, name);
    return !session || ((session->state == STATE_IDLE || session->state == STATE_DOWN) &&
                        !session->queue.first);
}

static void wait_for_rest(struct forks *forks, const char *what)
{
    int64_t until = clock_now_ms() + 20000;
    while (!(at_rest(forks, "main") && at_rest(forks, "other")) && clock_now_ms() < until)
        driver_run_for(&forks->driver, 2);
    check(at_rest(forks, "main") && at_rest(forks, "other"), "%s: not at rest", what);
}

static void eval(struct forks *forks, const char *session, const char *code, struct answer *answer)
{
    driver_start(&forks->driver, session, code, 5, answer);
    driver_wait(&forks->driver, answer);
}

static void expect(struct forks *forks, const char *session, const char *number, const char *what)
{
    struct answer answer;
    eval(forks, session, "get", &answer);
    check(answer.ok && strcmp(answer.values, number) == 0, "%s: %s has %s %s, not %s", what,
          session, answer.values, answer.message, number);
}

static uint64_t start(struct forks *forks, enum session_request_kind kind)
{
    struct session_request request = {
        .kind = kind, .rollback_to = -1, .as = "other", .timeout = -1};
    return driver_start_request(&forks->driver, &request, &forks->answer);
}

static void prepare(struct forks *forks, enum session_request_kind kind, const char *how)
{
    struct answer answer;
    char code[64];
    snprintf(code, sizeof(code), "add 5 %s", how);
    if (kind == SESSION_ADOPT)
        eval(forks, "other", "add 3", &answer);
    eval(forks, "main", code, &answer);
    wait_for_rest(forks, "set-up");
}

static void kill_worker(const struct worker *worker)
{
    if (worker)
        kill(worker->process.pid, SIGKILL);
}

// --- every event ---------------------------------------------------------------------------------

static void inject_messages(struct session *session, bool snapped)
{
    for (uint32_t type = CHANNEL_HELLO; type <= CHANNEL_FRAMES; type++) {
        // A wake is answered by a process that must exist.
        if (type == CHANNEL_WOKE || type == CHANNEL_HELLO || (type == CHANNEL_SNAPPED) != snapped)
            continue;
        struct channel_message message = {
            .sender = 1, .type = type, .number = 12345, .payload = span_from("{\"ok\":true}")};
        session_handle(session,
                       &(struct session_event){.kind = snapped ? EVENT_SNAPPED : EVENT_MESSAGE,
                                               .message = &message});
    }
}

static void inject(struct forks *forks, struct session *session, enum session_event_kind event,
                   uint64_t ticket, struct answer *waiting)
{
    switch (event) {
    case EVENT_REQUEST: driver_start(&forks->driver, "other", "get", 5, waiting); break;
    case EVENT_MESSAGE:
    case EVENT_SNAPPED: inject_messages(session, event == EVENT_SNAPPED); break;
    case EVENT_HEAD_EXIT:
        kill_worker(session->head);
        driver_run_for(&forks->driver, 10);
        break;
    case EVENT_TIMER: event_active(session->timer, EV_TIMEOUT, 0); break;
    case EVENT_CANCEL: session_cancel(forks->driver.manager, ticket); break;
    case EVENT_COPY_EXIT: kill_worker(session->copy); break;
    case EVENT_REST: session_handle(session, &(struct session_event){.kind = EVENT_REST}); break;
    case EVENT_SNAPSHOT:
        session_handle(session, &(struct session_event){.kind = EVENT_SNAPSHOT});
        break;
    case EVENT_COUNT: UNREACHABLE();
    }
}

// The clone never says that it is awake; after the event its snapshot ends.
static void run_cell(const char *worker, enum session_request_kind kind,
                     enum session_event_kind event)
{
    struct forks forks;
    struct answer waiting = {0};
    char name[64];
    snprintf(name, sizeof(name), "%s x %s", kind == SESSION_FORK ? "fork" : "adopt",
             session_event_name(event));
    forks_open(&forks, worker);
    prepare(&forks, kind, "wake silent");
    uint64_t ticket = start(&forks, kind);
    struct session *session = find(&forks, "other");
    check(session && session->state == STATE_COPY && session->source, "%s: not waiting", name);
    inject(&forks, session, event, ticket, &waiting);
    session = find(&forks, "other");
    kill_worker(session ? session->source : NULL);
    wait_for_rest(&forks, name);
    driver_run_for(&forks.driver, 10);
    check(forks.answer.calls == (event == EVENT_CANCEL ? 0 : 1), "%s: %u answers", name,
          forks.answer.calls);
    check(!forks.answer.ok, "%s: succeeded", name);
    check(event != EVENT_REQUEST || waiting.calls == 1, "%s: %u answers to the request", name,
          waiting.calls);
    expect(&forks, "main", "5", name);
    if (kind == SESSION_ADOPT)
        expect(&forks, "other", "3", name);
    else
        check(!find(&forks, "other"), "%s: the session is there", name);
    eval(&forks, "main", "add 0 wake well", &waiting);
    wait_for_rest(&forks, name);
    start(&forks, kind);
    driver_wait(&forks.driver, &forks.answer);
    check(forks.answer.ok, "%s: afterwards %s", name, forks.answer.message);
    expect(&forks, "other", "5", name);
    forks_close(&forks);
}

// --- the ends of sessions ------------------------------------------------------------------------

static void run_closed(const char *worker, enum session_request_kind kind, const char *closed)
{
    struct forks forks;
    char name[64];
    snprintf(name, sizeof(name), "%s x %s closed", kind == SESSION_FORK ? "fork" : "adopt", closed);
    forks_open(&forks, worker);
    prepare(&forks, kind, "wake silent");
    start(&forks, kind);
    CHECK(session_close(forks.driver.manager, closed) == 0);
    driver_wait(&forks.driver, &forks.answer);
    check(forks.answer.calls == 1 && !forks.answer.ok, "%s: %u answers", name, forks.answer.calls);
    wait_for_rest(&forks, name);
    expect(&forks, "main", strcmp(closed, "main") == 0 ? "0" : "5", name);
    if (kind == SESSION_ADOPT && strcmp(closed, "other") != 0)
        expect(&forks, "other", "3", name);
    forks_close(&forks);
}

// --- at random -----------------------------------------------------------------------------------

static void run_random(const char *worker, int count)
{
    static const char *const ways[] = {
        "", "wake fail", "wake fail2", "wake die", "wake twice", "wake inside", ""};
    struct forks forks;
    struct random random = {7};
    forks_open(&forks, worker);
    for (int i = 0; i < count && failed < 10; i++) {
        struct answer ignored = {0};
        char what[64];
        const char *way = ways[random_below(&random, COUNT_OF(ways))];
        enum session_request_kind kind = random_below(&random, 2) ? SESSION_FORK : SESSION_ADOPT;
        snprintf(what, sizeof(what), "%d %s %s", i, kind == SESSION_FORK ? "fork" : "adopt", way);
        session_close(forks.driver.manager, "other");
        session_close(forks.driver.manager, "main");
        prepare(&forks, kind, way);
        uint64_t ticket = start(&forks, kind);
        bool cancelled = random_below(&random, 6) == 0;
        driver_run_for(&forks.driver, (int)random_below(&random, 3));
        struct session *other = find(&forks, "other");
        bool killed = other && random_below(&random, 5) == 0;
        if (killed)
            kill_worker(random_below(&random, 2) ? other->head : other->copy);
        cancelled = cancelled && forks.answer.calls == 0;
        if (cancelled)
            session_cancel(forks.driver.manager, ticket);
        else
            driver_wait(&forks.driver, &forks.answer);
        wait_for_rest(&forks, what);
        if (find(&forks, "other"))
            eval(&forks, "other", "get", &ignored);
        // A state that was just taken over goes with its process, until there is a snapshot of it.
        bool is_lost = killed && forks.answer.ok && strcmp(ignored.values, "3") == 0;
        check(forks.answer.calls == (cancelled ? 0 : 1), "%s: %u answers", what,
              forks.answer.calls);
        expect(&forks, "main", "5", what);
        if (!cancelled && find(&forks, "other"))
            expect(&forks, "other", forks.answer.ok && !is_lost ? "5" : "3", what);
        check(find(&forks, "other") || !forks.answer.ok, "%s: no session", what);
        eval(&forks, "main", "get", &ignored);
    }
    forks_close(&forks);
}

int main(int argc, char **argv)
{
    static const enum session_request_kind kinds[] = {SESSION_FORK, SESSION_ADOPT};
    if (argc != 2)
        return 2;
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        for (int event = 0; event < EVENT_COUNT; event++)
            run_cell(argv[1], kinds[i], (enum session_event_kind)event);
        run_closed(argv[1], kinds[i], "main");
        run_closed(argv[1], kinds[i], "other");
    }
    run_random(argv[1], 60);
    printf("%u passed, %u failed\n", passed, failed);
    return failed ? 1 : 0;
}
