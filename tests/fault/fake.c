// The supervisor against a worker that misbehaves: at random, and cell by cell of the state table.
// Every request is answered exactly once, the session comes back to idle or down, and the state of
// the worker (one number) is the one that the answers say.
//   fake_test random COUNT SEED FAKE_WORKER | fake_test cells|starts|wakes FAKE_WORKER
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

struct fake {
    struct driver driver;
    char start_file[64];
    struct session_config config;
};

static void set_start_word(struct fake *fake, const char *word)
{
    int fd = open(fake->start_file, O_WRONLY | O_TRUNC | O_CREAT, 0600);
    CHECK(fd >= 0 && write(fd, word, strlen(word)) == (ssize_t)strlen(word));
    close(fd);
}

static void fake_open(struct fake *fake, const char *worker, const char *start)
{
    snprintf(fake->start_file, sizeof(fake->start_file), "/tmp/cadre-fake-%d", (int)getpid());
    set_start_word(fake, start);
    fake->config = (struct session_config){.sbcl = worker, .core = fake->start_file};
    driver_open(&fake->driver, &fake->config);
}

static void fake_close(struct fake *fake)
{
    driver_close(&fake->driver);
    unlink(fake->start_file);
    check_no_children();
}

static struct session *session_of(struct fake *fake)
{
    return manager_find(fake->driver.manager, NULL);
}

static enum session_state state_of(struct fake *fake)
{
    return session_of(fake)->state;
}

static bool at_rest(struct fake *fake)
{
    enum session_state state = state_of(fake);
    return (state == STATE_IDLE || state == STATE_DOWN) && !session_of(fake)->queue.first;
}

static void wait_for_rest(struct fake *fake, const char *where)
{
    int64_t until = clock_now_ms() + 8000;
    while (!at_rest(fake) && clock_now_ms() < until)
        driver_run_for(&fake->driver, 2);
    check(at_rest(fake), "%s: still %s", where, session_state_name(state_of(fake)));
}

// --- at random -----------------------------------------------------------------------------------

static const char *const behaviours[] = {
    "get",
    "add 1",
    "add 2",
    "add 3 late 5",
    "add 1 twice",
    "add 2 pieces",
    "exit 7",
    "die 9",
    "die 6",
    "add 5 cut 14",
    "add 5 cut 0",
    "garbage 0",
    "garbage 1",
    "garbage 2",
    "garbage 3",
    "garbage 4",
    "garbage 5",
    "garbage 6",
    "garbage 7",
    "garbage 8",
    "garbage 9",
    "add 1 error",
    "add 1 rollback",
    "add 1 snap fail",
    "add 1 snap die",
    "add 1 snap dieafter",
    "add 1 snap twice",
    "add 1 snap foreign",
    "add 1 snap garbage",
    "add 1 snap mute",
    "add 1 wake fail2",
    "add 1 shut 0",
    "add 1 shut 1",
    "add 1 shut 2",
    "add 1 wake fail",
    "add 1 wake die",
    "add 1 wake twice",
    "print 5000",
    "get",
    "add 4",
    "add 7",
};
// These wait for timers of half a second and more.
static const char *const slow_behaviours[] = {"add 1 snap silent", "add 1 wake silent", "deaf",
                                              "numb"};

static void random_call(struct fake *fake, struct random *random, long i)
{
    struct answer answer;
    uint64_t choice = random_below(random, 100);
    const char *code = choice == 0 ? slow_behaviours[random_below(random, 4)]
                                   : behaviours[random_below(random, COUNT_OF(behaviours))];
    uint64_t ticket = driver_start(&fake->driver, NULL, code, 1, &answer);
    bool cancelled = random_below(random, 12) == 0;
    if (cancelled) {
        driver_run_for(&fake->driver, (int)random_below(random, 3));
        if (answer.calls == 0)
            session_cancel(fake->driver.manager, ticket);
        else
            cancelled = false;
    } else {
        driver_wait(&fake->driver, &answer);
    }
    if (random_below(random, 3) > 0)
        wait_for_rest(fake, code);
    check(answer.calls == (cancelled ? 0 : 1), "%ld %s: %u answers", i, code, answer.calls);
    // After the session came to rest the answer must still be the only one; see the caller.
}

static void random_rollback(struct fake *fake, struct random *random)
{
    struct answer answer;
    wait_for_rest(fake, "before a rollback");
    struct session *session = session_of(fake);
    int64_t back = (int64_t)random_below(random, 5);
    driver_rollback(&fake->driver, session->lineage.current - back, &answer);
    check(answer.calls == 1, "rollback: %u answers", answer.calls);
}

// What a call answers and what the next one finds must agree: the model is the state as last seen.
static void check_model(struct fake *fake, long i)
{
    struct answer first, second;
    wait_for_rest(fake, "before the model");
    driver_eval(&fake->driver, "get", 5, &first);
    for (int tries = 0; !first.ok && tries < 20; tries++) {
        wait_for_rest(fake, "model");
        driver_eval(&fake->driver, "get", 5, &first);
    }
    wait_for_rest(fake, "model");
    driver_eval(&fake->driver, "get", 5, &second);
    check(first.ok && (!second.ok || strcmp(first.values, second.values) == 0),
          "%ld: state %s, then %s (%s %s)", i, first.values, second.values, first.type,
          first.message);
}

static void run_random(long count, unsigned long seed, const char *worker)
{
    struct fake fake;
    struct random random = {seed};
    fake_open(&fake, worker, "good");
    struct answer answer;
    driver_eval(&fake.driver, "get", 5, &answer);
    int descriptors = count_descriptors();
    for (long i = 0; i < count && failed < 10; i++) {
        if (random_below(&random, 10) == 0)
            random_rollback(&fake, &random);
        else
            random_call(&fake, &random, i);
        if (i % 10 == 9)
            check_model(&fake, i);
    }
    wait_for_rest(&fake, "at the end");
    driver_run_for(&fake.driver, 200);
    // Each parked process has a channel and a descriptor of its own.
    check(count_descriptors() <= descriptors + 2 * (16 + SESSION_POSTMORTEMS),
          "descriptors: %d, before %d", count_descriptors(), descriptors);
    fake_close(&fake);
}

// --- cell by cell --------------------------------------------------------------------------------

static void wait_for_state(struct fake *fake, enum session_state state)
{
    int64_t until = clock_now_ms() + 3000;
    while (state_of(fake) != state && clock_now_ms() < until)
        CHECK(event_base_loop(fake->driver.base, EVLOOP_ONCE) >= 0);
    check(state_of(fake) == state, "could not bring it to %s", session_state_name(state));
}

static struct answer running, waiting;
static uint64_t running_ticket;

static void start_copy(struct fake *fake)
{
    struct region *region = region_new(1 << 20);
    struct session_request request = {
        .kind = SESSION_COPY,
        .op = "compile",
        .params =
            map_put_text(region, map_new(region), "code", value_string_text(region, "silent")),
        .timeout = 1,
    };
    struct answer ignored;
    driver_start(&fake->driver, NULL, "get", 5, &ignored);
    driver_wait(&fake->driver, &ignored);
    wait_for_rest(fake, "before a copy");
    memset(&running, 0, sizeof(running));
    driver_start_request(&fake->driver, &request, &running);
    region_free(region);
}

// Processes that were killed end when the kernel likes. So the session is put into the state as if
// some had not ended yet.
static void start_clearing(struct fake *fake)
{
    struct session *session = session_of(fake);
    running_ticket = driver_start(&fake->driver, NULL, "late 20", 5, &running);
    session->clear_until_ms = clock_now_ms() + TIME_CLEAR_MS;
    session->state = STATE_CLEARING;
    session_set_timer(session, 100);
}

// Both states need an image, which the worker here cannot be saved as. So the session is put into
// them as if there had been one.
static void start_restoring(struct fake *fake)
{
    struct session *session = session_of(fake);
    session->handling = true;  // the request waits
    running_ticket = driver_start(&fake->driver, NULL, "get", 5, &running);
    session->handling = false;
    session->state = STATE_RESTORING;
    session_set_timer(session, 100);
}

static void start_resting(struct fake *fake)
{
    struct session *session = session_of(fake);
    session->saving.saved = session->lineage.current;
    session_handle(session, &(struct session_event){.kind = EVENT_REST});
    check(session->state == STATE_RESTING, "rest: %s", session_state_name(session->state));
}

// Brings a fresh session into the state, with a request under way where there can be one.
static void bring_to(struct fake *fake, enum session_state state)
{
    struct answer answer;
    memset(&running, 0, sizeof(running));
    if (state == STATE_DOWN)
        return;
    if (state == STATE_STARTING) {
        set_start_word(fake, "slow");
        running_ticket = driver_start(&fake->driver, NULL, "get", 5, &running);
        return;
    }
    if (state == STATE_RESTORING) {
        start_restoring(fake);
        return;
    }
    driver_eval(&fake->driver, "add 5", 5, &answer);
    wait_for_rest(fake, "set-up");
    switch (state) {
    case STATE_RESTING: start_resting(fake); return;
    case STATE_RUNNING:
        running_ticket = driver_start(&fake->driver, NULL, "silent", 1, &running);
        break;
    case STATE_INTERRUPTING:
    case STATE_STOPPING:
        running_ticket = driver_start(&fake->driver, NULL, "numb", 1, &running);
        driver_run_for(&fake->driver, 20);
        session_interrupt(fake->driver.manager, running_ticket);
        break;
    case STATE_CLEARING: start_clearing(fake); return;
    case STATE_SNAPSHOTTING: driver_eval(&fake->driver, "snap silent", 5, &answer); break;
    case STATE_WAKING:
        driver_eval(&fake->driver, "wake silent", 5, &answer);
        wait_for_rest(fake, "set-up");
        running_ticket = driver_start(&fake->driver, NULL, "die 9", 5, &running);
        break;
    case STATE_COPY: start_copy(fake); break;
    default: break;
    }
    wait_for_state(fake, state);
}

static void inject_message(struct session *session, uint32_t type, const char *text)
{
    struct worker *sender = session->state == STATE_COPY ? session->copy : session->head;
    struct channel_message message = {
        .sender = sender ? sender->process.pid : 1,
        .type = type,
        .number = 12345,
        .payload = span_from(text),
    };
    session_handle(session, &(struct session_event){.kind = type == CHANNEL_SNAPPED ? EVENT_SNAPPED
                                                                                    : EVENT_MESSAGE,
                                                    .message = &message});
}

static void inject(struct fake *fake, enum session_event_kind event)
{
    struct session *session = session_of(fake);
    memset(&waiting, 0, sizeof(waiting));
    switch (event) {
    case EVENT_REQUEST: driver_start(&fake->driver, NULL, "get", 5, &waiting); break;
    case EVENT_MESSAGE:
        for (uint32_t type = CHANNEL_HELLO; type <= CHANNEL_FRAMES; type++) {
            // A wake is answered by one of the two, from a process that must exist.
            if (type != CHANNEL_SNAPPED && type != CHANNEL_WOKE && type != CHANNEL_HELLO)
                inject_message(session, type, "{\"ok\":true}");
        }
        break;
    case EVENT_SNAPPED: inject_message(session, CHANNEL_SNAPPED, "{\"number\":3,\"pid\":1}"); break;
    case EVENT_HEAD_EXIT:
        if (session->head)
            kill(session->head->process.pid, SIGKILL);
        else if (session->source)
            kill(session->source->process.pid, SIGKILL);
        driver_run_for(&fake->driver, 10);  // or the next request goes down with it
        break;
    case EVENT_TIMER: event_active(session->timer, EV_TIMEOUT, 0); break;
    case EVENT_CANCEL:
        if (session->job)
            session_cancel(fake->driver.manager, session->job->ticket);
        break;
    case EVENT_COPY_EXIT:
        if (session->copy)
            kill(session->copy->process.pid, SIGKILL);
        break;
    case EVENT_REST:
        session->saving.saved = session->lineage.current;
        session_handle(session, &(struct session_event){.kind = EVENT_REST});
        break;
    case EVENT_SNAPSHOT:
        session_handle(session, &(struct session_event){.kind = EVENT_SNAPSHOT});
        break;
    case EVENT_COUNT: UNREACHABLE();
    }
}

static void run_cell(const char *worker, enum session_state state, enum session_event_kind event)
{
    struct fake fake;
    struct answer answer;
    char name[64];
    snprintf(name, sizeof(name), "%s x %s", session_state_name(state), session_event_name(event));
    fake_open(&fake, worker, "good");
    bring_to(&fake, state);
    bool had_job = running.calls == 0 &&
                   (state == STATE_RUNNING || state == STATE_INTERRUPTING ||
                    state == STATE_STOPPING || state == STATE_WAKING || state == STATE_COPY ||
                    state == STATE_STARTING || state == STATE_CLEARING || state == STATE_RESTORING);
    inject(&fake, event);
    set_start_word(&fake, "good");
    if (event == EVENT_REQUEST)
        driver_wait(&fake.driver, &waiting);
    wait_for_rest(&fake, name);
    bool cancelled = event == EVENT_CANCEL && state != STATE_STARTING && state != STATE_RESTORING;
    if (had_job)
        check(running.calls == (cancelled ? 0 : 1), "%s: %u answers", name, running.calls);
    if (event == EVENT_REQUEST)
        check(waiting.calls == 1, "%s: the waiting request has %u answers", name, waiting.calls);
    driver_eval(&fake.driver, "get", 5, &answer);
    check(answer.ok && answer.calls == 1, "%s: afterwards %s %s", name, answer.type,
          answer.message);
    fake_close(&fake);
}

static void run_closing(const char *worker)
{
    for (int event = 0; event < EVENT_COUNT; event++) {
        struct fake fake;
        struct answer answer;
        fake_open(&fake, worker, "good");
        driver_eval(&fake.driver, "add 5", 5, &answer);
        driver_start(&fake.driver, NULL, "silent", 0, &running);
        driver_run_for(&fake.driver, 5);
        struct session *session = session_of(&fake);
        CHECK(session_close(fake.driver.manager, NULL) == 0);
        CHECK(session->state == STATE_CLOSING);
        if (event == EVENT_TIMER)
            event_active(session->timer, EV_TIMEOUT, 0);
        else if (event == EVENT_SNAPPED || event == EVENT_MESSAGE)
            inject_message(session, event == EVENT_SNAPPED ? CHANNEL_SNAPPED : CHANNEL_RESULT,
                           "{}");
        driver_wait(&fake.driver, &running);
        check(running.calls == 1 && strcmp(running.code, "session-closed") == 0,
              "closing x %s: %u answers, %s", session_event_name((enum session_event_kind)event),
              running.calls, running.code);
        driver_eval(&fake.driver, "get", 5, &answer);
        check(answer.ok && strcmp(answer.values, "0") == 0, "after closing: %s %s", answer.values,
              answer.message);
        fake_close(&fake);
    }
}

static void run_cells(const char *worker)
{
    for (int state = STATE_DOWN; state < STATE_CLOSING; state++) {
        for (int event = 0; event < EVENT_COUNT; event++)
            run_cell(worker, (enum session_state)state, (enum session_event_kind)event);
    }
    run_closing(worker);
}

// --- wakes ---------------------------------------------------------------------------------------

// A snapshot that cannot wake now is asked again, and never given up for an older state.
static void fail_to_wake(struct fake *fake)
{
    struct answer answer;
    driver_eval(&fake->driver, "add 5", 5, &answer);
    driver_eval(&fake->driver, "add 7 wake fail3", 5, &answer);
    wait_for_rest(fake, "wake fail3");
    driver_eval(&fake->driver, "die 9", 5, &answer);
    check(answer.rollback[0] && !answer.lost[0] && !answer.restarted, "wake fail3: %s, lost %s",
          answer.message, answer.lost);
    driver_eval(&fake->driver, "get", 5, &answer);
    check(strcmp(answer.values, "12") == 0, "wake fail3: %s", answer.values);
}

// When it takes too long the call is answered, and the next ones ask again. What has no snapshot is
// lost by then, and that is said at once.
static void rest_without_head(struct fake *fake)
{
    struct answer answer, lost;
    driver_eval(&fake->driver, "add 1 wake fail16", 5, &answer);
    wait_for_rest(fake, "wake fail16");
    driver_eval(&fake->driver, "add 100 snap fail", 5, &lost);
    wait_for_rest(fake, "snap fail");
    driver_eval(&fake->driver, "die 9", 5, &answer);
    check(answer.rollback[0] && strstr(answer.notices, "The session cannot go on now"),
          "wake fail16: %s %s", answer.message, answer.notices);
    char wanted[64];
    snprintf(wanted, sizeof(wanted), "evaluation %lld add 100 snap fail",
             (long long)lost.evaluation);
    check(strcmp(answer.lost, wanted) == 0, "wake fail16: lost %s, expected %s", answer.lost,
          wanted);
    check(state_of(fake) == STATE_DOWN, "wake fail16: %s", session_state_name(state_of(fake)));
    driver_eval(&fake->driver, "get", 5, &answer);
    for (int i = 0; i < 5 && strcmp(answer.code, "wake-failed") == 0; i++)
        driver_eval(&fake->driver, "get", 5, &answer);
    check(strcmp(answer.values, "13") == 0, "wake fail16: then %s %s", answer.values,
          answer.message);
}

// A snapshot that never says that it is parked could not be woken either.
static void drop_void_snapshot(struct fake *fake)
{
    struct answer answer, lost;
    driver_eval(&fake->driver, "add 2 snap mute", 5, &lost);
    wait_for_rest(fake, "snap mute");
    driver_run_for(&fake->driver, TIME_PARK_MS + 2 * TIME_PARK_STEP_MS);
    driver_eval(&fake->driver, "die 9", 5, &answer);
    check(strstr(answer.notices, "did not answer and was dropped"), "snap mute: %s",
          answer.notices);
    char wanted[64];
    snprintf(wanted, sizeof(wanted), "evaluation %lld add 2 snap mute", (long long)lost.evaluation);
    check(strcmp(answer.lost, wanted) == 0, "snap mute: lost %s", answer.lost);
    driver_eval(&fake->driver, "get", 5, &answer);
    check(strcmp(answer.values, "13") == 0, "snap mute: then %s", answer.values);
}

static void run_wakes(const char *worker)
{
    struct fake fake;
    fake_open(&fake, worker, "good");
    fail_to_wake(&fake);
    rest_without_head(&fake);
    drop_void_snapshot(&fake);
    fake_close(&fake);
}

// --- starts --------------------------------------------------------------------------------------

static void run_starts(const char *worker)
{
    static const struct {
        const char *word;
        const char *code;
    } starts[] = {{"exit", "start-failed"}, {"garbage", ""}, {"slow", ""}};
    for (size_t i = 0; i < COUNT_OF(starts); i++) {
        struct fake fake;
        struct answer answer;
        fake_open(&fake, worker, starts[i].word);
        driver_eval(&fake.driver, "get", 5, &answer);
        check(strcmp(answer.code, starts[i].code) == 0, "start %s: %s %s", starts[i].word,
              answer.code, answer.message);
        set_start_word(&fake, "good");
        driver_eval(&fake.driver, "get", 5, &answer);
        check(answer.ok, "start after %s: %s %s", starts[i].word, answer.code, answer.message);
        fake_close(&fake);
    }
    struct driver driver;
    struct answer answer;
    driver_open(&driver,
                &(struct session_config){.sbcl = "/nonexistent/sbcl", .core = "/dev/null"});
    driver_eval(&driver, "get", 5, &answer);
    check(strcmp(answer.code, "sbcl-missing") == 0 && !answer.ran, "no sbcl: %s", answer.code);
    driver_close(&driver);
    driver_open(&driver, &(struct session_config){.sbcl = worker, .core = "/nonexistent/core"});
    driver_eval(&driver, "get", 5, &answer);
    check(strcmp(answer.code, "core-missing") == 0 && !answer.ran, "no core: %s", answer.code);
    driver_close(&driver);
}

int main(int argc, char **argv)
{
    if (argc == 5 && strcmp(argv[1], "random") == 0)
        run_random(atol(argv[2]), strtoul(argv[3], NULL, 10), argv[4]);
    else if (argc == 3 && strcmp(argv[1], "cells") == 0)
        run_cells(argv[2]);
    else if (argc == 3 && strcmp(argv[1], "wakes") == 0)
        run_wakes(argv[2]);
    else if (argc == 3 && strcmp(argv[1], "starts") == 0)
        run_starts(argv[2]);
    else
        return 2;
    printf("%u passed, %u failed\n", passed, failed);
    return failed ? 1 : 0;
}
