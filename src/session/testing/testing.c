#include "session/testing/testing.h"

#include <string.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "session/session_internal.h"
#include "session/worker_data.h"
#include "value/text/json.h"

enum {
    FAILURES_MAX = 2000,
    RESULTS_MAX = 10000,
    SLOWEST_MAX = 3,
    TEXT_MAX = 16384,
    FILES_MAX = 4000,
    RECORD_MAX = 8 << 20,
};

// What is handed on of a failure.
static const struct import_member failure_members[] = {{.name = "name"},
                                                       {.name = "suite"},
                                                       {.name = "reason"},
                                                       {.name = "message", .max = TEXT_MAX},
                                                       {.name = "expression", .max = TEXT_MAX},
                                                       {.name = "expected", .max = TEXT_MAX},
                                                       {.name = "got", .max = TEXT_MAX},
                                                       {.name = "file"},
                                                       {.name = "line", .kind = IMPORT_INTEGER},
                                                       {.name = "us", .kind = IMPORT_INTEGER},
                                                       {.name = "output", .max = TEXT_MAX},
                                                       {0}};

static const struct import_member test_members[] = {
    {.name = "name"},    {.name = "suite"},
    {.name = "status"},  {.name = "us", .kind = IMPORT_INTEGER},
    {.name = "skipped"}, {0}};

static const struct import_member run_members[] = {
    {.name = "tests", .kind = IMPORT_INTEGER},
    {.name = "passed", .kind = IMPORT_INTEGER},
    {.name = "failed", .kind = IMPORT_INTEGER},
    {.name = "skipped", .kind = IMPORT_INTEGER},
    {.name = "checks", .kind = IMPORT_INTEGER},
    {.name = "us", .kind = IMPORT_INTEGER},
    {.name = "note"},
    {.name = "frameworks", .kind = IMPORT_TEXTS, .max = 16},
    {.name = "files", .kind = IMPORT_TEXTS, .max = FILES_MAX},
    {.name = "slowest", .kind = IMPORT_OBJECTS, .max = SLOWEST_MAX, .items = test_members},
    {.name = "results", .kind = IMPORT_OBJECTS, .max = RESULTS_MAX, .items = test_members},
    {0}};

static const struct import_member progress_members[] = {{.name = "total", .kind = IMPORT_INTEGER},
                                                        {.name = "done", .kind = IMPORT_INTEGER},
                                                        {.name = "failed", .kind = IMPORT_INTEGER},
                                                        {.name = "name"},
                                                        {0}};

static size_t failure_count(value result)
{
    size_t count = map_get_count(result, "failures");
    return count < FAILURES_MAX ? count : FAILURES_MAX;
}

// --- the channels of their post-mortems ----------------------------------------------------------

int tests_offer_channel(struct worker *worker, uint32_t number)
{
    if (worker->test_count == SESSION_TEST_ERRORS)
        return -1;
    struct offered_test *test = &worker->tests[worker->test_count];
    int result = worker_offer_link(worker, number, &test->link);
    if (result < 0)
        return result;
    test->number = number;
    worker->test_count++;
    return 0;
}

void tests_release_channels(struct worker *worker)
{
    for (size_t i = 0; i < worker->test_count; i++)
        link_free(worker->tests[i].link);
    worker->test_count = 0;
}

static struct offered_test *find_channel(struct worker *copy, int64_t number)
{
    for (size_t i = 0; i < copy->test_count; i++)
        if (copy->tests[i].number == number)
            return &copy->tests[i];
    return NULL;
}

void tests_keep_postmortems(struct job *job, struct worker *copy)
{
    if (job->postmortem)
        job->postmortem->test = 1;  // the run itself failed
    for (size_t i = 0; i < failure_count(job->result); i++) {
        value failure = map_get_item(job->result, "failures", i);
        struct offered_test *test = find_channel(copy, map_get_integer(failure, "channel", -1));
        pid_t pid = message_pid(failure, "postmortem");
        struct worker *worker = test && pid > 0 ? worker_add_tested(copy, pid, &test->link) : NULL;
        if (worker) {
            worker->adoptable = false;
            worker->test = test->number;
        }
    }
}

// --- the answer ----------------------------------------------------------------------------------

static struct worker *find_postmortem(struct session *session, value failure)
{
    pid_t pid = message_pid(failure, "postmortem");
    for (struct worker *worker = session->workers; worker && pid > 0; worker = worker->next)
        if (worker->role == ROLE_POSTMORTEM && worker->process.pid == pid && worker->error == 0)
            return worker;
    return NULL;
}

static void forget_last_run(struct session *session)
{
    error_history_forget_tests(&session->history);
    for (struct worker *worker = session->workers; worker; worker = worker->next)
        if (worker->role == ROLE_POSTMORTEM && worker->test && worker->error)
            worker_kill(worker);
}

// The failure as it is handed on: with the number of its error when it was frozen.
static value import_failure(struct session *session, struct job *job, value failure)
{
    struct region *region = job->region;
    value map = import_object(region, failure, failure_members);
    struct worker *worker = find_postmortem(session, failure);
    value error = map_get(failure, "error");
    if (!worker || !value_is_map(error) || error_history_tests_are_full(&session->history)) {
        if (worker)
            worker_kill(worker);
        return map;
    }
    int64_t id = error_history_next_id(&session->history);
    error = session_complete_error(session, region, error_history_import(region, error), id,
                                   job->number, true);
    worker->error = error_history_add_test(&session->history, error);
    return map_put_text(region, map, "error", value_integer(id));
}

// What the agent wants to know at the next run is kept as it is.
static void keep_record(struct session *session, value record)
{
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, RECORD_MAX);
    tests_release(session);
    if (!value_is_map(record))
        return;
    json_write(&text, record, 0, NULL);
    if (!text.failed)
        session->last_tests = memory_copy_text(text.data, text.length);
}

void tests_release(struct session *session)
{
    memory_free(session->last_tests);
    session->last_tests = NULL;
}

bool session_last_tests(struct session_manager *manager, const char *name, struct region *region,
                        value *ret_record)
{
    struct session *session = manager_find(manager, name);
    struct error ignored;
    return session && session->last_tests &&
           json_read(region, span_from(session->last_tests), NULL, ret_record, &ignored);
}

void tests_finish(struct session *session, struct job *job)
{
    if (!value_is_true(map_get(job->result, "ok")))
        return;
    struct region *region = job->region;
    forget_last_run(session);
    keep_record(session, map_get(job->result, "record"));
    value run = import_object(region, job->result, run_members);
    size_t count = failure_count(job->result);
    value failures = vector_new(region, count);
    for (size_t i = 0; i < count; i++)
        failures =
            vector_push(region, failures,
                        import_failure(session, job, map_get_item(job->result, "failures", i)));
    run = map_put_text(region, run, "failures", failures);
    job->result = map_put_text(region, job->result, "run", run);
}

// --- progress ------------------------------------------------------------------------------------

void tests_read_progress(struct job *job, const struct channel_message *message)
{
    value content;
    struct session *session = job->session;
    if (!session_read_scratch(session, message, &content))
        return;
    content = import_object(session->scratch, content, progress_members);
    struct span name = map_get_string(content, "name");
    job->tests = (struct session_test_progress){.total = map_get_integer(content, "total", 0),
                                                .done = map_get_integer(content, "done", 0),
                                                .failed = map_get_integer(content, "failed", 0)};
    size_t length = utf8_offset(name.data, name.length, sizeof(job->test_name) / 4 - 1);
    memcpy(job->test_name, name.data, length);
    job->test_name[length] = '\0';
}
