#include "cli/run/run_output.h"

#include <stdio.h>

#include "base/buffer.h"
#include "base/utf8.h"
#include "program/run/step.h"
#include "value/text/json.h"

static void show_failure(value fail, struct span program)
{
    value details = map_get(fail, "details");
    struct failure_text failure = {
        .message = map_get_string(fail, "message"),
        .kind = map_get_string(details, "kind"),
        .source = utf8_without_mark(program),
        .line = (unsigned)map_get_integer(details, "line", 0),
        .column = (unsigned)map_get_integer(details, "column", 0),
    };
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, BUFFER_DEFAULT_LIMIT);
    failure_write_text(&failure, &text);
    problems_write_text(map_get(details, "problems"), &text);
    fputs(buffer_text(&text), stderr);
}

// What a run waits for, and how to go on with it.
static void show_paused(value paused)
{
    value call = map_get(paused, "call");
    struct span name = map_get_string(call, "name"), token = map_get_string(paused, "token");
    CLEANUP_BUFFER struct buffer arguments;
    buffer_init(&arguments, BUFFER_DEFAULT_LIMIT);
    json_write(&arguments, map_get(call, "args"), 0, NULL);
    fprintf(stderr, "waits for %.*s %s\n%scadre run --resume %.*s --approve yes|no|all\n",
            (int)name.length, name.data, buffer_text(&arguments),
            map_get_string(call, "state").length ? "it is not known whether this call was made\n"
                                                 : "",
            (int)token.length, token.data);
}

static void show_prints(value step)
{
    for (size_t i = 0; i < map_get_count(step, "prints"); i++) {
        struct span line = value_text(map_get_item(step, "prints", i));
        fprintf(stderr, "%.*s\n", (int)line.length, line.data);
    }
}

static void write_value(const struct run_output *output, value step, struct buffer *text)
{
    value result = map_get(step, "return");
    if (output->json)
        json_write(text, result, 0, NULL);
    else if (value_is_string(result) && map_get_string(step, "printed").length > 0 &&
             map_get_string(step, "printed").data[0] == '"')
        buffer_append_span(text, value_text(result));
    else
        buffer_append_span(text, map_get_string(step, "printed"));
}

enum run_printed run_output_print(const struct run_output *output, value step, struct span program)
{
    value fail = map_get(step, "fail");
    bool failed = !value_is_nil(fail), waits = value_is_map(map_get(step, "paused"));
    CLEANUP_BUFFER struct buffer line;
    buffer_init(&line, SIZE_MAX / 2);
    if (output->value_only)
        show_prints(step);
    if (failed && (output->human || output->value_only))
        show_failure(fail, program);
    if (waits && (output->human || output->value_only))
        show_paused(map_get(step, "paused"));
    if (!output->value_only)
        json_write(&line, step, 0, NULL);
    else if (!failed && !waits)
        write_value(output, step, &line);
    if (!output->value_only || (!failed && !waits))
        buffer_append_byte(&line, '\n');
    bool written = !line.failed &&
                   fwrite(buffer_text(&line), 1, line.length, stdout) == line.length &&
                   fflush(stdout) == 0;
    return !written ? RUN_UNPRINTED : failed ? RUN_FAILED : waits ? RUN_WAITS : RUN_SUCCEEDED;
}

bool run_output_print_step(const struct step *step, const value *id)
{
    struct buffer line;
    buffer_init(&line, SIZE_MAX / 2);
    step_write_json(step, &line, id);
    buffer_append_byte(&line, '\n');
    bool ok = !line.failed && fwrite(buffer_text(&line), 1, line.length, stdout) == line.length &&
              fflush(stdout) == 0;
    buffer_release(&line);
    return ok;
}
