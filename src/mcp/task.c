// The tasks extension: a call whose request is answered before its work is done becomes a task,
// which the client polls. A task is kept while it works and for an hour after its creation. At most
// 256; beyond that calls do not become tasks.
#include <sodium.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/memory.h"
#include "mcp/mcp_internal.h"
#include "value/text/json.h"

enum {
    TASK_LIFE_MS = 3600000,
    TASK_POLL_MS = 500,
    TASK_SWEEP_S = 60,
    TASK_ID_SIZE = 33,
    TASK_QUESTIONS_MAX = 16,
};

struct task_question {
    char id
        [TASK_ID_SIZE];  // sent to the client instead of the handler's key, which could be guessed
    const char *key;
    bool answered;
};

struct task {
    TAILQ_ENTRY(task) link;
    char id[TASK_ID_SIZE];
    const char *status;
    int64_t created_ms;  // wall clock
    int64_t updated_ms;
    struct mcp_call *call;  // NULL once finished
    struct buffer outcome;  // JSON of the result, or of the error
    size_t media_bytes;     // base64 in it
    bool failed;
    struct task_question questions[TASK_QUESTIONS_MAX];
    size_t question_count;
};

static void random_id(char id[TASK_ID_SIZE])
{
    unsigned char bytes[(TASK_ID_SIZE - 1) / 2];
    randombytes_buf(bytes, sizeof(bytes));
    sodium_bin2hex(id, TASK_ID_SIZE, bytes, sizeof(bytes));
}

static void put_time(struct buffer *out, const char *name, int64_t unix_ms)
{
    char text[CLOCK_ISO_SIZE];
    clock_format_iso(unix_ms / 1000, text);
    json_put_text(out, name, text);
}

static void write_questions(const struct task *task, struct buffer *out)
{
    json_name(out, "inputRequests");
    buffer_append_byte(out, '{');
    for (size_t i = 0; i < task->question_count; i++)
        if (!task->questions[i].answered)
            json_put_value(out, task->questions[i].id,
                           map_get(task->call->pending, task->questions[i].key));
    buffer_append_byte(out, '}');
}

static void write_task(const struct task *task, struct buffer *out, bool detailed)
{
    json_put_text(out, "taskId", task->id);
    json_put_text(out, "status", task->status);
    put_time(out, "createdAt", task->created_ms);
    put_time(out, "lastUpdatedAt", task->updated_ms);
    json_put_integer(out, "ttlMs", TASK_LIFE_MS);
    json_put_integer(out, "pollIntervalMs", TASK_POLL_MS);
    if (!detailed)
        return;
    if (task->outcome.length > 0)
        json_put_raw(out, task->failed ? "error" : "result", buffer_span(&task->outcome));
    if (task->call && task->call->state == CALL_ASKING)
        write_questions(task, out);
}

static void set_status(struct mcp_server *server, struct task *task, const char *status)
{
    task->status = status;
    task->updated_ms = clock_unix_ms();
    CLEANUP_BUFFER struct buffer members;
    buffer_init(&members, MCP_RESPONSE_LIMIT);
    write_task(task, &members, true);
    listener_notify_task(server, task->id, &members);
}

// --- life ----------------------------------------------------------------------------------------

static void task_free(struct mcp_server *server, struct task *task)
{
    TAILQ_REMOVE(&server->tasks, task, link);
    server->task_count--;
    buffer_release(&task->outcome);
    memory_free(task);
}

static void on_sweep(evutil_socket_t fd, short what, void *data)
{
    (void)fd;
    (void)what;
    struct mcp_server *server = data;
    int64_t now = clock_unix_ms();
    struct task *task, *next;
    for (task = TAILQ_FIRST(&server->tasks); task; task = next) {
        next = TAILQ_NEXT(task, link);
        if (!task->call && now - task->created_ms > TASK_LIFE_MS)
            task_free(server, task);
    }
}

static void start_sweep(struct mcp_server *server)
{
    if (server->task_sweep)
        return;
    server->task_sweep = event_new(server->base, -1, EV_PERSIST, on_sweep, server);
    CHECK(server->task_sweep);
    event_add(server->task_sweep, &(struct timeval){.tv_sec = TASK_SWEEP_S});
}

void task_free_all(struct mcp_server *server)
{
    while (!TAILQ_EMPTY(&server->tasks))
        task_free(server, TAILQ_FIRST(&server->tasks));
    if (server->task_sweep)
        event_free(server->task_sweep);
}

static struct task *task_new(struct mcp_server *server)
{
    struct task *task = memory_alloc_zero(sizeof(*task));
    random_id(task->id);
    task->status = "working";
    task->created_ms = task->updated_ms = clock_unix_ms();
    buffer_init(&task->outcome, MCP_RESPONSE_LIMIT);
    TAILQ_INSERT_TAIL(&server->tasks, task, link);
    server->task_count++;
    start_sweep(server);
    return task;
}

static void write_created(struct mcp_call *call, const struct task *task, struct buffer *out)
{
    buffer_append_text(out, "{\"jsonrpc\":\"2.0\"");
    json_put_raw(out, "id", span_from(call->id));
    buffer_append_text(out, ",\"result\":{\"resultType\":\"task\"");
    write_task(task, out, false);
    buffer_append_text(out, ",\"_meta\":{");
    json_name(out, META_PREFIX "serverInfo");
    server_write_info(call->server, out);
    buffer_append_text(out, "}}}");
}

bool mcp_call_become_task(struct mcp_call *call)
{
    struct mcp_server *server = call->server;
    if (call->task)
        return true;
    if (call->on_result)
        return false;
    if (!(call->client_can & CLIENT_TASKS) || !server->info.tasks || call->cancelled ||
        !call->tool || server->task_count == MCP_TASKS_MAX)
        return false;
    struct task *task = task_new(server);
    CLEANUP_BUFFER struct buffer out;
    buffer_init(&out, MCP_RESPONSE_LIMIT);
    write_created(call, task, &out);

    struct exchange *exchange = call->exchange;
    call_leave_channel(call);
    call->task = task;
    task->call = call;
    exchange_finish(exchange, buffer_span(&out), 200);
    return true;
}

bool mcp_call_is_task(const struct mcp_call *call)
{
    return call->task != NULL;
}

static void finish_work(struct mcp_call *call, struct span outcome, bool failed)
{
    struct task *task = call->task;
    struct mcp_server *server = call->server;
    bool cancelled = call->cancelled;
    task->call = NULL;
    call_free(call);
    if (cancelled)
        return;
    buffer_append_span(&task->outcome, outcome);
    task->failed = failed;
    set_status(server, task, failed ? "failed" : "completed");
}

void task_finish(struct mcp_call *call, struct span result)
{
    call->task->media_bytes = call->media_bytes;
    finish_work(call, result, false);
}

void task_finish_error(struct mcp_call *call, struct span error)
{
    finish_work(call, error, true);
}

void task_ask(struct mcp_call *call)
{
    struct task *task = call->task;
    task->question_count = 0;
    struct map_cursor cursor = map_iterate(call->pending);
    value key, request;
    while (map_next(&cursor, &key, &request)) {
        CHECK(task->question_count < TASK_QUESTIONS_MAX);
        struct task_question *question = &task->questions[task->question_count++];
        question->key = call_copy_text(call, value_text(key));
        question->answered = false;
        random_id(question->id);
    }
    call->unanswered = task->question_count;
    call->state = CALL_ASKING;
    call->turn++;
    set_status(call->server, task, "input_required");
}

// --- methods -------------------------------------------------------------------------------------

// The task that a request names; NULL: the request was refused.
static struct task *find_task(struct mcp_call *call)
{
    if (!(call->client_can & CLIENT_TASKS)) {
        mcp_call_reply_missing_capability(call, "tasks");
        return NULL;
    }
    struct span id = call_param_text(call, "taskId");
    struct task *task;
    TAILQ_FOREACH (task, &call->server->tasks, link)
        if (id.data && span_equal_text(id, task->id))
            return task;
    call_finish_params_error(call, "Invalid params: unknown task");
    return NULL;
}

void method_task_get(struct mcp_call *call)
{
    struct task *task = find_task(call);
    if (!task)
        return;
    CLEANUP_BUFFER struct buffer members;
    buffer_init(&members, MCP_RESPONSE_LIMIT);
    write_task(task, &members, true);
    call->media_bytes = task->media_bytes;
    call_finish_result(call, &members);
}

static void store_answers(struct task *task, value responses)
{
    struct mcp_call *work = task->call;
    for (size_t i = 0; i < task->question_count; i++) {
        struct task_question *question = &task->questions[i];
        value answer;
        if (question->answered || !map_find_text(responses, question->id, &answer))
            continue;
        question->answered = true;
        work->unanswered--;
        work->answers = map_put_text(work->region, work->answers, question->key,
                                     value_copy(work->region, answer));
    }
}

void method_task_update(struct mcp_call *call)
{
    struct task *task = find_task(call);
    if (!task)
        return;
    value responses = map_get(call->params, "inputResponses"), key, answer;
    if (!value_is_map(responses)) {
        call_finish_params_error(call, "Invalid params: inputResponses must be an object");
        return;
    }
    struct map_cursor cursor = map_iterate(responses);
    while (map_next(&cursor, &key, &answer)) {
        if (!value_is_map(answer)) {
            call_finish_params_error(call,
                                     "Invalid params: each of inputResponses must be an object");
            return;
        }
    }
    struct mcp_call *work = task->call;
    bool asking = work && work->state == CALL_ASKING;
    if (asking)
        store_answers(task, responses);
    bool go_on = asking && work->unanswered == 0;
    if (go_on) {
        work->state = CALL_RUNNING;
        set_status(call->server, task, "working");
    }
    call_finish_result(call, NULL);
    if (go_on)
        call_run_handler(work);
}

void method_task_cancel(struct mcp_call *call)
{
    struct task *task = find_task(call);
    if (!task)
        return;
    struct mcp_call *work = task->call;
    if (work && !work->cancelled) {
        bool idle = work->state != CALL_RUNNING;
        if (idle)
            task->call = NULL;  // call_cancel() frees it
        set_status(call->server, task, "cancelled");
        call_cancel(work);
    }
    call_finish_result(call, NULL);
}
