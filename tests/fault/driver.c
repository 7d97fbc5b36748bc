#include "driver.h"

#include <dirent.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "process/proc.h"

unsigned passed, failed;

void check(bool condition, const char *format, ...)
{
    if (condition) {
        passed++;
        return;
    }
    failed++;
    va_list arguments;
    va_start(arguments, format);
    printf("FAIL ");
    vprintf(format, arguments);
    printf("\n");
    fflush(stdout);
    va_end(arguments);
}

void driver_open(struct driver *driver, const struct session_config *config)
{
    struct session_config chosen = *config;
    static const char *const files_of_tests[] = {"/tmp", NULL};
    chosen.sandbox.allow_write = files_of_tests;
    if (!chosen.core)
        chosen.core = getenv("CADRE_CORE");
    driver->base = event_base_new();
    CHECK(driver->base);
    CHECK(session_manager_new(driver->base, &chosen, &driver->manager) == 0);
}

void driver_close(struct driver *driver)
{
    session_manager_free(driver->manager);
    event_base_free(driver->base);
}

static void copy_span(char *to, size_t size, struct span text)
{
    snprintf(to, size, "%.*s", (int)text.length, text.data);
}

static void copy_member(char *to, size_t size, value map, const char *name)
{
    value text = map_get(map, name);
    if (value_is_string(text))
        copy_span(to, size, value_text(text));
}

static void copy_texts(char *to, size_t size, value texts, const char *separator)
{
    size_t used = 0;
    for (size_t i = 0; value_is_vector(texts) && i < vector_count(texts) && used < size; i++) {
        struct span text = value_text(vector_at(texts, i));
        int length = snprintf(to + used, size - used, "%s%.*s", i ? separator : "",
                              (int)text.length, text.data);
        used += (size_t)length;
    }
}

static void copy_frames(struct answer *answer, value frames)
{
    size_t used = 0;
    answer->frame_count = (int64_t)vector_count(frames);
    for (size_t i = 0; i < vector_count(frames) && used < sizeof(answer->frames); i++) {
        struct span call = value_text(map_get(vector_at(frames, i), "call"));
        used += (size_t)snprintf(answer->frames + used, sizeof(answer->frames) - used, "%.*s\n",
                                 (int)call.length, call.data);
    }
}

static void copy_rollback(struct answer *answer, value rollback)
{
    copy_member(answer->rollback, sizeof(answer->rollback), rollback, "reason");
    answer->restarted = value_is_true(map_get(rollback, "restarted"));
    value lost = map_get(rollback, "lost");
    if (!value_is_vector(lost) || vector_count(lost) == 0)
        return;
    struct buffer names;
    buffer_init(&names, BUFFER_DEFAULT_LIMIT);
    session_evaluation_names(&names, lost);
    snprintf(answer->lost, sizeof(answer->lost), "%s", buffer_text(&names));
    buffer_release(&names);
}

static void on_reply(void *data, const struct session_reply *reply)
{
    struct answer *answer = data;
    answer->calls++;
    answer->ok = reply->ok;
    answer->ran = reply->ran;
    answer->frozen = reply->frozen;
    answer->evaluation = reply->evaluation;
    answer->snapshot = reply->snapshot;
    answer->error_id = reply->error_id;
    answer->omitted = reply->standard_output.omitted;
    copy_span(answer->output, sizeof(answer->output), reply->standard_output.text);
    copy_span(answer->errors, sizeof(answer->errors), reply->standard_error.text);
    copy_texts(answer->notices, sizeof(answer->notices), reply->notices, "\n");
    copy_texts(answer->lost_threads, sizeof(answer->lost_threads), reply->lost_threads, ", ");
    value timing = value_is_map(reply->result) ? map_get(reply->result, "timing") : value_nil();
    if (value_is_map(timing))
        answer->run_milliseconds = (double)map_get(timing, "run_us").integer / 1000;
    if (value_is_map(reply->result))
        copy_texts(answer->values, sizeof(answer->values), map_get(reply->result, "values"), " ; ");
    if (value_is_map(reply->rollback))
        copy_rollback(answer, reply->rollback);
    if (value_is_map(reply->error)) {
        copy_member(answer->code, sizeof(answer->code), reply->error, "code");
        copy_member(answer->type, sizeof(answer->type), reply->error, "type");
        copy_member(answer->message, sizeof(answer->message), reply->error, "message");
        value frames = map_get(reply->error, "frames");
        if (value_is_vector(frames))
            copy_frames(answer, frames);
    }
}

void driver_wait(struct driver *driver, const struct answer *answer)
{
    while (answer->calls == 0)
        CHECK(event_base_loop(driver->base, EVLOOP_ONCE) >= 0);
}

uint64_t driver_start_request(struct driver *driver, struct session_request *request,
                              struct answer *answer)
{
    memset(answer, 0, sizeof(*answer));
    request->reply = on_reply;
    request->data = answer;
    request->create = true;
    return session_submit(driver->manager, request);
}

void driver_call(struct driver *driver, struct session_request *request, struct answer *answer)
{
    int64_t start = clock_now_ns();
    driver_start_request(driver, request, answer);
    driver_wait(driver, answer);
    answer->milliseconds = (double)(clock_now_ns() - start) / 1e6;
}

uint64_t driver_start(struct driver *driver, const char *session, const char *code, int64_t timeout,
                      struct answer *answer)
{
    struct region *region = region_new(64 << 20);
    struct session_request request = {
        .session = session,
        .kind = SESSION_EVALUATE,
        .op = "evaluate",
        .params = map_put_text(region, map_new(region), "code", value_string_text(region, code)),
        .label = code,
        .timeout = timeout,
    };
    uint64_t ticket = driver_start_request(driver, &request, answer);
    region_free(region);
    return ticket;
}

void driver_eval(struct driver *driver, const char *code, int64_t timeout, struct answer *answer)
{
    int64_t start = clock_now_ns();
    driver_start(driver, NULL, code, timeout, answer);
    driver_wait(driver, answer);
    answer->milliseconds = (double)(clock_now_ns() - start) / 1e6;
}

void driver_rollback(struct driver *driver, int64_t to, struct answer *answer)
{
    struct session_request request = {
        .kind = SESSION_ROLLBACK, .rollback_to = to, .rollback_steps = 1, .timeout = -1};
    driver_call(driver, &request, answer);
}

static void on_time(evutil_socket_t fd, short what, void *data)
{
    (void)fd;
    (void)what;
    event_base_loopbreak(data);
}

void driver_run_for(struct driver *driver, int milliseconds)
{
    struct event *timer = evtimer_new(driver->base, on_time, driver->base);
    struct timeval time = timeval_from_ms(milliseconds);
    event_add(timer, &time);
    event_base_dispatch(driver->base);
    event_free(timer);
}

pid_t driver_head(struct driver *driver, const char *session)
{
    struct region *region = region_new(64 << 20);
    value info = session_info(driver->manager, session, false, region);
    pid_t pid = value_is_map(info) ? (pid_t)map_get(info, "pid").integer : 0;
    region_free(region);
    return pid;
}

void driver_settle(struct driver *driver)
{
    for (int i = 0; i < 1000; i++) {
        struct region *region = region_new(64 << 20);
        value info = session_info(driver->manager, NULL, false, region);
        struct span state = value_text(map_get(info, "state"));
        bool idle = span_equal_text(state, "idle") || span_equal_text(state, "down");
        region_free(region);
        if (idle)
            return;
        driver_run_for(driver, 2);
    }
}

int count_descriptors(void)
{
    int count = 0;
    DIR *directory = opendir("/proc/self/fd");
    while (directory && readdir(directory))
        count++;
    if (directory)
        closedir(directory);
    return count;
}

static enum proc_visit count_one(void *data, pid_t pid)
{
    (void)pid;
    ++*(int *)data;
    return PROC_VISIT_CONTINUE;
}

int count_children(void)
{
    int count = 0;
    proc_descendants(getpid(), count_one, &count);
    return count;
}

static enum proc_visit print_one(void *data, pid_t pid)
{
    (void)data;
    char path[64], text[256] = "";
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    if (file && fgets(text, sizeof(text), file))
        printf("left: %.80s\n", text);
    if (file)
        fclose(file);
    return PROC_VISIT_CONTINUE;
}

void check_no_children(void)
{
    enum { TRIES = 3000, WAIT_US = 10000 };
    int count = count_children();
    for (int i = 0; i < TRIES && count > 0; i++) {
        usleep(WAIT_US);
        count = count_children();
    }
    if (count > 0)
        proc_descendants(getpid(), print_one, NULL);
    check(count == 0, "%d processes are left", count);
}

long resident_kb(void)
{
    struct proc_memory memory = {0};
    proc_memory_read(getpid(), &memory);
    return (long)memory.resident_kb;
}
