#include "cli/run/run_batch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/run/run_output.h"
#include "cli/run_worker.h"
#include "program/batch.h"
#include "value/text/json.h"

struct batch {
    value tool_records;         // --tools as read, or nil
    struct toolbox *toolbox;    // the same when they need a host, or NULL
    struct run_worker *worker;  // which then runs the records
};

static bool print_failure(struct region *region, value record, const char *message)
{
    struct diagnostic diagnostic = {.kind = INVALID_RECORD};
    struct step step;
    snprintf(diagnostic.message, sizeof(diagnostic.message), "%.400s", message);
    step_fail(&step, region, value_nil(), SPAN(""), &diagnostic);
    value id = map_get(record, "id");
    bool ok = run_output_print_step(&step, &id);
    step_release(&step);
    return ok;
}

static value with_id(struct region *region, value step, value id)
{
    value whole = map_put_text(region, map_new(region), "id", value_retain(id)), name, member;
    for (struct map_cursor cursor = map_iterate(step); map_next(&cursor, &name, &member);)
        whole = map_put(region, whole, value_retain(name), value_retain(member));
    return whole;
}

// A record of a batch whose tools need a host.
static bool run_hosted_record(struct batch *batch, struct region *region, value record)
{
    static const struct run_output as_step;
    value options = map_get(record, "options"), step;
    struct run_options limits;
    run_options_default(&limits);
    struct diagnostic refusal;  // of the worker, too
    if (!value_is_nil(map_get(options, "timeout")))
        run_option_set(&limits, SPAN("timeout"), map_get(options, "timeout"), &refusal);
    if (!run_worker_execute(batch->worker, region, value_retain(record), map_get(record, "memory"),
                            limits.limits.timeout_ms, NULL, &step))
        return print_failure(region, record, "the run has no Step");
    return run_output_print(&as_step, with_id(region, step, map_get(record, "id")),
                            map_get_string(record, "program")) != RUN_UNPRINTED;
}

// The tools of --tools, and those of the record in their place.
static value add_tools(struct region *region, value record, value tools)
{
    value own = map_get(record, "tools"), all = value_copy(region, tools), name, tool;
    if (value_is_map(own))
        for (struct map_cursor cursor = map_iterate(own); map_next(&cursor, &name, &tool);)
            all = map_put(region, all, value_retain(name), value_retain(tool));
    return map_put_text(region, record, "tools", all);
}

// One line of a batch. The line stays alive while the step is used, so strings may borrow from it.
static bool run_line(struct batch *batch, struct span line)
{
    struct region *region = region_new(SIZE_MAX / 2);
    struct json_options options = {.borrow = true};
    struct error error = {0};
    value record;
    if (!json_read(region, line, &options, &record, &error)) {
        char message[512];
        snprintf(message, sizeof(message), "not JSON: %.400s", error.message);
        return print_failure(region, value_nil(), message);
    }
    if (batch->toolbox && value_is_map(record)) {
        bool ok = run_hosted_record(batch, region, record);
        region_free(region);
        return ok;
    }
    if (value_is_map(batch->tool_records) && value_is_map(record))
        record = add_tools(region, record, batch->tool_records);
    struct batch_run run;
    batch_run(region, record, NULL, &run);
    value id = record.tag == VALUE_MAP ? map_get(record, "id") : value_nil();
    bool ok = run_output_print_step(&run.step, &id);
    batch_run_release(&run);
    return ok;
}

static bool is_blank(struct span line)
{
    for (size_t i = 0; i < line.length; i++) {
        if (!strchr(" \t\r\n", line.data[i]) || !line.data[i])
            return false;
    }
    return true;
}

static int run_lines(struct batch *batch, const char *path)
{
    FILE *input = strcmp(path, "-") == 0 ? stdin : fopen(path, "re");
    if (!input) {
        fprintf(stderr, "cadre run: cannot read %s: %s\n", path, strerror(errno));
        return EXIT_USAGE;
    }
    char *line = NULL;
    size_t capacity = 0;
    ssize_t length;
    bool ok = true;
    while (ok && (length = getline(&line, &capacity, input)) >= 0) {
        struct span text = {line, (size_t)length};
        if (!is_blank(text))
            ok = run_line(batch, text);
    }
    bool failed = ferror(input) || !ok;
    if (ferror(input))
        fprintf(stderr, "cadre run: cannot read %s: %s\n", path, strerror(errno));
    free(line);  // foreign: getline
    if (input != stdin)
        fclose(input);
    return failed ? EXIT_USAGE : 0;
}

int run_batch(const char *path, value tools, struct toolbox *toolbox,
              const struct session_sandbox *sandbox)
{
    struct batch batch = {.tool_records = tools, .toolbox = toolbox};
    if (toolbox && !(batch.worker = run_worker_new(toolbox, sandbox)))
        return EXIT_FAILURE;
    int status = run_lines(&batch, path);
    run_worker_free(batch.worker);
    return status;
}
