#include "cli/run_worker.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/session_loop.h"
#include "program/run/step.h"
#include "value/text/json.h"

enum { ANSWER_DEPTH = 10000 };

struct run_worker {
    struct session_loop loop;
    struct program_pool *pool;
    const struct toolbox *toolbox;
    struct region *region;
    value record;
    int64_t timeout_ms;
    bool human;
    int status;
};

static void show_failure(const struct run_worker *run, value fail)
{
    value details = map_get(fail, "details");
    struct failure_text failure = {
        .message = map_get_string(fail, "message"),
        .kind = map_get_string(details, "kind"),
        .source = utf8_without_mark(map_get_string(run->record, "program")),
        .line = (unsigned)map_get_integer(details, "line", 0),
        .column = (unsigned)map_get_integer(details, "column", 0),
    };
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, BUFFER_DEFAULT_LIMIT);
    failure_write_text(&failure, &text);
    fputs(buffer_text(&text), stderr);
}

static void on_answer(void *data, struct span answer, const char *failure)
{
    struct run_worker *run = data;
    value message;
    struct error error;
    struct json_options options = {.max_depth = ANSWER_DEPTH};
    run->status = EXIT_FAILURE;
    if (failure) {
        fprintf(stderr, "cadre run: %s\n", failure);
    } else if (json_read(run->region, answer, &options, &message, &error) &&
               value_is_map(map_get(message, "step"))) {
        value step = map_get(message, "step");
        value fail = map_get(step, "fail");
        if (run->human && !value_is_nil(fail))
            show_failure(run, fail);
        CLEANUP_BUFFER struct buffer line;
        buffer_init(&line, BUFFER_DEFAULT_LIMIT);
        json_write(&line, step, 0, NULL);
        buffer_append_byte(&line, '\n');
        bool printed = fwrite(buffer_text(&line), 1, line.length, stdout) == line.length &&
                       fflush(stdout) == 0;
        run->status = !printed ? EXIT_USAGE : value_is_nil(fail) ? EXIT_SUCCESS : EXIT_FAILURE;
    } else {
        fprintf(stderr, "cadre run: the worker's answer cannot be read\n");
    }
    event_base_loopbreak(run->loop.base);
}

static void on_tool(void *data, struct program_call *call, struct span name, struct span arguments)
{
    struct run_worker *run = data;
    toolbox_call(run->toolbox, run->loop.sessions, program_pool_reaper(run->pool), call, name,
                 arguments);
}

static void on_resolved(void *data, value tools)
{
    struct run_worker *run = data;
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, PROGRAM_MESSAGE_MAX);
    run->record = map_put_text(run->region, run->record, "tools", tools);
    json_write(&text, run->record, 0, NULL);
    struct program_request request = {
        .record = buffer_span(&text),
        .timeout_ms = run->timeout_ms,
        .done = on_answer,
        .tool = on_tool,
        .data = run,
    };
    if (text.failed || !program_submit(run->pool, &request)) {
        fprintf(stderr, "cadre run: the inputs are larger than 64 MiB\n");
        run->status = EXIT_USAGE;
        event_base_loopbreak(run->loop.base);
    }
}

int run_worker_execute(const struct toolbox *toolbox, struct region *region, value record,
                       int64_t timeout_ms, bool human)
{
    struct run_worker run = {.toolbox = toolbox,
                             .region = region,
                             .record = record,
                             .timeout_ms = timeout_ms,
                             .human = human,
                             .status = -1};
    signal(SIGPIPE, SIG_IGN);
    int failed = session_loop_init(&run.loop, &(struct session_config){0});
    if (failed < 0) {
        fprintf(stderr, "cadre run: cannot start: %s\n", strerror(-failed));
        session_loop_release(&run.loop);
        return EXIT_FAILURE;
    }
    run.pool = program_pool_new(run.loop.base, "/proc/self/exe");
    toolbox_resolve_all(toolbox, run.loop.sessions, region, value_nil(), on_resolved, &run);
    if (run.status < 0)
        event_base_dispatch(run.loop.base);
    program_pool_free(run.pool);
    session_loop_release(&run.loop);
    return run.status < 0 ? EXIT_FAILURE : run.status;
}
