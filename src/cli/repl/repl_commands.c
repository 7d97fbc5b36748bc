// The commands of `cadre repl` that start with a colon: undo, limits, frames, restarts.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "cli/options.h"
#include "cli/repl/repl_internal.h"
#include "lisp_syntax/lisp_syntax.h"
#include "program/compile/suggest.h"
#include "tools/result/result_text.h"

static const char help[] =
    ":undo [N]             undo the last N evaluations (1)\n"
    ":redo                 undo the last :undo\n"
    ":reset                start with a fresh image (:undo restores the old one)\n"
    ":limits [NAME VALUE]  show or change limits: timeout, max-output, max-memory, max-frames,\n"
    "                      snapshots\n"
    ":branches             the states that can be reached, also those left by :undo\n"
    ":goto N               go to the state after evaluation N\n"
    ":info                 snapshots, memory, threads\n"
    ":errors               the last errors\n"
    ":bt [N]               backtrace of the last error, or of error N\n"
    ":locals FRAME         variables of a frame of the last error\n"
    ":in FRAME FORM        evaluate with a frame's variables (effects are discarded)\n"
    ":restart [N FORM...]  continue the last error with restart N; forms give its values; alone:\n"
    "                      list the restarts\n"
    ":quit                 leave (also Ctrl-D)\n";

static void print_state_change(void *data, const struct session_reply *reply)
{
    struct repl *repl = data;
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, BUFFER_DEFAULT_LIMIT);
    repl->failed = !reply->ok;
    if (!reply->ok)
        render_error_heading(&text, reply->error);
    else if (reply->snapshot >= 0)
        buffer_append_format(&text, "; at evaluation %" PRId64, reply->snapshot);
    if (reply->ok)
        repl_update_prompt(repl, reply);
    repl_print(repl, &text);
}

static void go_to(struct repl *repl, int64_t to, int64_t steps)
{
    struct session_request request = {
        .kind = SESSION_ROLLBACK, .rollback_to = to, .rollback_steps = steps};
    repl_call(repl, &request, print_state_change);
}

// In a shared session others may have changed the state: what was undone before is then no more the
// next one to redo.
static void notice_others(struct repl *repl)
{
    int64_t current = repl_current_snapshot(repl);
    if (current != repl->current)
        repl->redo_count = 0;
    repl->current = current;
}

static void command_undo(struct repl *repl, char *arguments)
{
    int64_t steps = 1;
    if (*arguments && !option_integer(":undo", arguments, 1, INT64_MAX, &steps))
        return;
    notice_others(repl);
    int64_t before = repl->current;
    if (steps == 1 && repl->before_reset >= 0 && repl->current == repl->after_reset)
        go_to(repl, repl->before_reset, 0);
    else
        go_to(repl, -1, steps);
    if (repl->failed)
        return;
    if (repl->redo_count == REPL_REDO_MAX)
        memmove(repl->redo, repl->redo + 1, --repl->redo_count * sizeof(*repl->redo));
    repl->redo[repl->redo_count++] = before;
    repl->current = repl_current_snapshot(repl);
}

static void command_redo(struct repl *repl, char *arguments)
{
    (void)arguments;
    notice_others(repl);
    if (repl->redo_count == 0) {
        puts("; nothing to redo");
        return;
    }
    go_to(repl, repl->redo[repl->redo_count - 1], 0);
    if (repl->failed)
        return;
    repl->redo_count--;
    repl->current = repl_current_snapshot(repl);
}

static void command_goto(struct repl *repl, char *arguments)
{
    int64_t number;
    if (!option_integer(":goto", arguments, 0, INT64_MAX, &number))
        return;
    go_to(repl, number, 0);
    if (repl->failed)
        return;
    repl->redo_count = 0;
    repl->current = repl_current_snapshot(repl);
}

// --- branches ------------------------------------------------------------------------------------

static value find_snapshot(value snapshots, int64_t number)
{
    for (size_t i = 0; i < vector_count(snapshots); i++)
        if (map_get_integer(vector_at(snapshots, i), "number", -1) == number)
            return vector_at(snapshots, i);
    return value_nil();
}

static bool has_child(value snapshots, int64_t number)
{
    for (size_t i = 0; i < vector_count(snapshots); i++)
        if (map_get_integer(vector_at(snapshots, i), "parent", -1) == number)
            return true;
    return false;
}

// One state and those it came from, as far back as no other branch has shown them.
static void list_branch(struct buffer *text, value snapshots, int64_t number, bool *shown)
{
    for (bool first = true; number >= 0; first = false) {
        value snapshot = find_snapshot(snapshots, number);
        if (!value_is_map(snapshot))
            break;
        size_t index = 0;
        while (map_get_integer(vector_at(snapshots, index), "number", -1) != number)
            index++;
        buffer_append_format(text, "\n%s%s%3" PRId64 "  ", first ? "" : "  ",
                             map_get_boolean(snapshot, "current") ? "* " : "  ", number);
        struct span code = map_get_string(snapshot, "code");
        for (size_t k = 0; k < code.length; k++)
            buffer_append_byte(text, code.data[k] == '\n' ? ' ' : code.data[k]);
        buffer_append_text(text, shown[index] ? "  (see above)" : "");
        if (shown[index])
            break;
        shown[index] = true;
        number = map_get_integer(snapshot, "parent", -1);
    }
}

static void command_branches(struct repl *repl, char *arguments)
{
    (void)arguments;
    repl_settle(repl);
    value info = session_loop_info(&repl->loop, repl->region);
    value snapshots = map_get(info, "snapshots");
    size_t count = value_is_vector(snapshots) ? vector_count(snapshots) : 0;
    CLEANUP_FREE bool *shown = memory_alloc_zero((count + 1) * sizeof(*shown));
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, BUFFER_DEFAULT_LIMIT);
    buffer_append_text(&text, "[Branches]");
    for (size_t i = count; i-- > 0;) {
        int64_t number = map_get_integer(vector_at(snapshots, i), "number", -1);
        if (!has_child(snapshots, number))
            list_branch(&text, snapshots, number, shown);
    }
    buffer_append_text(&text, "\n; * is the present state; :goto N goes to another");
    repl_print(repl, &text);
}

// --- state ---------------------------------------------------------------------------------------

static void print_reset(void *data, const struct session_reply *reply)
{
    struct repl *repl = data;
    repl->failed = !reply->ok;
    if (!reply->ok) {
        print_state_change(data, reply);
        return;
    }
    repl->before_reset = reply->snapshot;
    puts(reply->snapshot >= 0 ? "; fresh image; :undo restores the old one" : "; fresh image");
    repl_update_prompt(repl, reply);
}

static void command_reset(struct repl *repl, char *arguments)
{
    (void)arguments;
    struct session_request request = {.kind = SESSION_RESET};
    repl_call(repl, &request, print_reset);
    repl->current = repl->after_reset = repl_current_snapshot(repl);
    repl->redo_count = 0;
}

static bool change_limit(struct session_limits *limits, const char *name, const char *text)
{
    const struct {
        const char *name;
        int64_t *limit;
    } known[] = {{"timeout", &limits->timeout},
                 {"max-output", &limits->max_output},
                 {"max-memory", &limits->max_memory},
                 {"max-frames", &limits->max_frames},
                 {"snapshots", &limits->snapshots}};
    for (size_t i = 0; i < COUNT_OF(known); i++)
        if (strcmp(known[i].name, name) == 0)
            return option_integer(name, text, INT32_MIN, INT32_MAX, known[i].limit);
    printf("; unknown limit '%s'\n", name);
    return false;
}

static void command_limits(struct repl *repl, char *arguments)
{
    struct session_limits limits = session_loop_limits(&repl->loop);
    struct error error;
    char *text = strchr(arguments, ' ');
    if (text) {
        *text++ = '\0';
        if (!change_limit(&limits, arguments, text))
            return;
        if (!session_loop_set_limits(&repl->loop, &limits, &error)) {
            printf("; %s\n", error.message);
            return;
        }
    }
    CLEANUP_BUFFER struct buffer shown;
    buffer_init(&shown, BUFFER_DEFAULT_LIMIT);
    render_limits(&shown, &limits);
    repl_print(repl, &shown);
}

static void command_info(struct repl *repl, char *arguments)
{
    (void)arguments;
    repl_settle(repl);
    value info = session_loop_info(&repl->loop, repl->region);
    CLEANUP_BUFFER struct buffer shown;
    buffer_init(&shown, BUFFER_DEFAULT_LIMIT);
    render_session(&shown, info);
    repl_print(repl, &shown);
}

static void command_errors(struct repl *repl, char *arguments)
{
    (void)arguments;
    value errors = session_loop_errors(&repl->loop, repl->region);
    CLEANUP_BUFFER struct buffer shown;
    buffer_init(&shown, BUFFER_DEFAULT_LIMIT);
    render_error_list(&shown, errors, SESSION_ERROR_HISTORY);
    repl_print(repl, &shown);
}

static void command_backtrace(struct repl *repl, char *arguments)
{
    int64_t number = 0;
    if (*arguments && !option_integer(":bt", arguments, 1, INT64_MAX, &number))
        return;
    value error = session_loop_error(&repl->loop, number, repl->region);
    CLEANUP_BUFFER struct buffer shown;
    buffer_init(&shown, BUFFER_DEFAULT_LIMIT);
    if (value_is_nil(error) && number > 0)
        buffer_append_format(&shown, "; There is no error %" PRId64 "; :errors lists them.",
                             number);
    else if (value_is_nil(error))
        buffer_append_text(&shown, "; There is no error; :errors lists earlier ones.");
    else
        render_frames(&shown, map_get(error, "frames"), 0, INT64_MAX, "");
    if (shown.length > 0 && buffer_text(&shown)[0] == '\n')
        buffer_consume(&shown, 1);
    repl_print(repl, &shown);
}

static void print_locals(void *data, const struct session_reply *reply)
{
    struct repl *repl = data;
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, BUFFER_DEFAULT_LIMIT);
    repl->failed = !reply->ok;
    if (reply->ok)
        render_frame(&text, reply->result);
    else
        render_error_heading(&text, reply->error);
    repl_print(repl, &text);
}

// Reads "FRAME rest"; returns the rest, or NULL after a message.
static char *parse_number(const char *name, char *arguments, int64_t *ret_number)
{
    size_t length = strcspn(arguments, " ");
    char *rest = arguments + length + (arguments[length] == ' ');
    arguments[length] = '\0';
    return option_integer(name, arguments, 0, INT32_MAX, ret_number) ? rest : NULL;
}

static void command_locals(struct repl *repl, char *arguments)
{
    int64_t frame;
    if (!parse_number(":locals", arguments, &frame))
        return;
    value params = map_put_text(repl->region, map_new(repl->region), "frame", value_integer(frame));
    struct session_request request = {
        .kind = SESSION_DEBUG, .op = "inspect-frame", .params = params};
    repl_call(repl, &request, print_locals);
}

static void command_in(struct repl *repl, char *arguments)
{
    int64_t frame;
    char *code = parse_number(":in", arguments, &frame);
    if (!code)
        return;
    value params = map_put_text(repl->region, map_new(repl->region), "frame", value_integer(frame));
    params =
        map_put_text(repl->region, params, "code", value_string_format(repl->region, "%s", code));
    struct session_request request = {
        .kind = SESSION_DEBUG, .op = "eval-in-frame", .params = params};
    repl_call(repl, &request, repl_print_evaluation);
}

// Splits a text into its forms.
static value split_forms(struct repl *repl, const char *text)
{
    value forms = vector_new(repl->region, 0);
    size_t start = 0, length = strlen(text);
    for (size_t end = 1; end <= length; end++) {
        struct syntax_report report;
        struct span part = {text + start, end - start};
        bool boundary =
            end == length || strchr(" \t()\"", text[end]) || strchr("()\"", text[end - 1]);
        syntax_check(part, &report);
        if (!boundary || report.problem != SYNTAX_VALID || report.forms != 1)
            continue;
        forms = vector_push(repl->region, forms, value_string(repl->region, part));
        start = end;
    }
    return forms;
}

static void list_restarts(struct repl *repl)
{
    value error = session_loop_error(&repl->loop, 0, repl->region);
    if (value_is_nil(error))
        puts("; There is no error to restart from.");
    else
        repl_print_restarts(repl, error);
}

static void command_restart(struct repl *repl, char *arguments)
{
    if (!*arguments) {
        list_restarts(repl);
        return;
    }
    int64_t number;
    char *forms = parse_number(":restart", arguments, &number);
    if (!forms)
        return;
    struct region *region = repl->region;
    value params = map_put_text(region, map_new(region), "restart",
                                value_string_format(region, "%" PRId64, number));
    params = map_put_text(region, params, "values", split_forms(repl, forms));
    struct session_request request = {.kind = SESSION_RESTART,
                                      .op = "invoke-restart",
                                      .params = params,
                                      .label = "(invoke-restart ...)",
                                      .adopt = true};
    repl_call(repl, &request, repl_print_evaluation);
    repl->redo_count = 0;
    repl->current = repl_current_snapshot(repl);
}

static void command_quit(struct repl *repl, char *arguments)
{
    (void)arguments;
    repl->done = true;
}

static void command_show_help(struct repl *repl, char *arguments)
{
    (void)repl;
    (void)arguments;
    fputs(help, stdout);
}

static const struct {
    const char *name;
    void (*run)(struct repl *repl, char *arguments);
} commands[] = {
    {":undo", command_undo},      {":redo", command_redo},     {":branches", command_branches},
    {":goto", command_goto},      {":reset", command_reset},   {":limits", command_limits},
    {":info", command_info},      {":errors", command_errors}, {":bt", command_backtrace},
    {":locals", command_locals},  {":in", command_in},         {":restart", command_restart},
    {":r", command_restart},      {":quit", command_quit},     {":q", command_quit},
    {":help", command_show_help},
};

const char *repl_command_name(size_t index)
{
    return index < COUNT_OF(commands) ? commands[index].name : NULL;
}

// Refuses what is no command but looks like one; false: it is Lisp.
static bool refuse_mistyped(const char *word, bool has_arguments)
{
    struct suggestion close = {0};
    struct span name = {word + 1, strlen(word + 1)};
    for (size_t i = 0; i < COUNT_OF(commands); i++)
        suggest_closer(&close, name, span_from(commands[i].name + 1));
    if (close.name.length)
        printf("; There is no command %s; did you mean :%.*s? (quote %s) is the keyword.\n", word,
               (int)close.name.length, close.name.data, word);
    else if (has_arguments)
        printf("; There is no command %s; :help lists them.\n", word);
    return close.name.length || has_arguments;
}

bool repl_run_command(struct repl *repl, struct span input)
{
    CLEANUP_FREE char *line = memory_copy_text(input.data, input.length);
    size_t end = strlen(line);
    while (end > 0 && strchr(" \t\r\n", line[end - 1]))
        line[--end] = '\0';
    size_t length = strcspn(line, " \t");
    char *arguments = line + length;
    while (*arguments == ' ' || *arguments == '\t')
        *arguments++ = '\0';
    for (size_t i = 0; i < COUNT_OF(commands); i++)
        if (strcmp(commands[i].name, line) == 0) {
            commands[i].run(repl, arguments);
            return true;
        }
    if (line[0] != ':' || !line[1] || *arguments == ';')
        return false;
    return refuse_mistyped(line, *arguments);
}
