// `cadre repl`: interactive Common Lisp, on the same session layer as the tools. Every evaluation
// can be undone; after an error its frames can be inspected and its restarts invoked.
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "base/path.h"
#include "cli/commands.h"
#include "cli/line_editor.h"
#include "cli/options.h"
#include "cli/session_loop.h"
#include "config.h"
#include "lisp_syntax/lisp_syntax.h"
#include "tools/result/result_text.h"

enum { INPUT_LIMIT = 4 << 20, REDO_MAX = 256, PROMPT_SIZE = 128 };

static const char help[] =
    "usage: cadre repl [--timeout SECONDS] [--package NAME]\n"
    "\n"
    "Interactive Common Lisp. Input may span several lines; :help lists the commands.\n"
    "Tab completes, Ctrl-C interrupts an evaluation, Ctrl-D leaves. Evaluations have no time\n"
    "limit unless --timeout sets one.\n";

static const char command_help[] =
    ":undo [N]             undo the last N evaluations (1)\n"
    ":redo                 undo the last :undo\n"
    ":reset                start with a fresh image (:undo restores the old one)\n"
    ":limits [NAME VALUE]  show or change limits: timeout, max-output, max-memory, max-frames,\n"
    "                      snapshots\n"
    ":info                 snapshots, memory, threads\n"
    ":errors               the last errors\n"
    ":bt [N]               backtrace of the last error, or of error N\n"
    ":locals FRAME         variables of a frame of the last error\n"
    ":in FRAME FORM        evaluate with a frame's variables (effects are discarded)\n"
    ":restart N [FORM...]  continue the last error with restart N; forms give its values\n"
    ":quit                 leave (also Ctrl-D)\n";

struct repl {
    struct session_loop loop;
    struct region *region;  // values of one input; cleared after each
    struct line_editor *editor;
    char prompt[PROMPT_SIZE];
    int64_t current;         // snapshot of the session's present state
    int64_t before_reset;    // snapshot before the last :reset, -1 = none
    int64_t after_reset;     // snapshot after it
    int64_t redo[REDO_MAX];  // snapshots before each :undo, newest last
    size_t redo_count;
    bool done;
    bool failed;  // the last evaluation: the exit status when input is not a terminal
};

// --- requests ------------------------------------------------------------------------------------

static void note_state(struct repl *repl, const struct session_reply *reply)
{
    snprintf(repl->prompt, sizeof(repl->prompt), "%.*s> ",
             (int)(reply->package_label.length < 100 ? reply->package_label.length : 100),
             reply->package_label.data);
}

static void print_restarts(value error)
{
    size_t count = map_get_count(error, "restarts");
    if (count == 0)
        return;
    puts("\nRestarts (:restart N chooses, :bt shows frames, :locals FRAME variables):");
    for (size_t i = 0; i < count; i++) {
        value restart = map_get_item(error, "restarts", i);
        struct span name = map_get_string(restart, "name"),
                    description = map_get_string(restart, "description");
        printf("  %" PRId64 ". %.*s - %.*s\n", map_get_integer(restart, "number", 0),
               (int)name.length, name.data, (int)description.length, description.data);
    }
}

static void print_buffer(struct buffer *text)
{
    buffer_append_byte(text, '\n');
    fwrite(buffer_text(text), 1, text->length, stdout);
    fflush(stdout);
}

static void print_evaluation(void *data, const struct session_reply *reply)
{
    struct repl *repl = data;
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, BUFFER_DEFAULT_LIMIT);
    struct session_reply shown = *reply;
    shown.frozen = false;  // the list of restarts below replaces the [Debug] line
    render_evaluation(&text, &shown, &(struct render_evaluation){0});
    print_buffer(&text);
    if (reply->frozen)
        print_restarts(reply->error);
    repl->failed = !reply->ok;
    if (reply->ran)
        note_state(repl, reply);
}

static void call(struct repl *repl, struct session_request *request, session_loop_reply_fn *handle)
{
    if (request->timeout == 0)
        request->timeout = -1;
    session_loop_call(&repl->loop, request, handle, repl);
}

// The number of the evaluation after which the session's present state was saved.
static int64_t current_snapshot(struct repl *repl)
{
    value info = session_info(repl->loop.sessions, "main", false, repl->region);
    return value_is_map(info) ? map_get_integer(info, "evaluation", 0) : 0;
}

static void evaluate(struct repl *repl, struct span code)
{
    value params =
        map_put_text(repl->region, map_new(repl->region), "code", value_string(repl->region, code));
    CLEANUP_FREE char *label = memory_copy_text(code.data, code.length);
    struct session_request request = {
        .kind = SESSION_EVALUATE, .op = "evaluate", .params = params, .label = label};
    call(repl, &request, print_evaluation);
    repl->redo_count = 0;
    repl->current = current_snapshot(repl);
}

// --- commands ------------------------------------------------------------------------------------

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
        note_state(repl, reply);
    print_buffer(&text);
}

static void go_to(struct repl *repl, int64_t to, int64_t steps)
{
    struct session_request request = {
        .kind = SESSION_ROLLBACK, .rollback_to = to, .rollback_steps = steps};
    call(repl, &request, print_state_change);
}

static void command_undo(struct repl *repl, char *arguments)
{
    int64_t steps = 1, before = repl->current;
    if (*arguments && !option_integer(":undo", arguments, 1, INT64_MAX, &steps))
        return;
    if (steps == 1 && repl->before_reset >= 0 && repl->current == repl->after_reset)
        go_to(repl, repl->before_reset, 0);
    else
        go_to(repl, -1, steps);
    if (repl->failed)
        return;
    if (repl->redo_count == REDO_MAX)
        memmove(repl->redo, repl->redo + 1, --repl->redo_count * sizeof(*repl->redo));
    repl->redo[repl->redo_count++] = before;
    repl->current = current_snapshot(repl);
}

static void command_redo(struct repl *repl, char *arguments)
{
    (void)arguments;
    if (repl->redo_count == 0) {
        puts("; nothing to redo");
        return;
    }
    go_to(repl, repl->redo[repl->redo_count - 1], 0);
    if (repl->failed)
        return;
    repl->redo_count--;
    repl->current = current_snapshot(repl);
}

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
    note_state(repl, reply);
}

static void command_reset(struct repl *repl, char *arguments)
{
    (void)arguments;
    struct session_request request = {.kind = SESSION_RESET};
    call(repl, &request, print_reset);
    repl->current = repl->after_reset = current_snapshot(repl);
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
    struct session_limits limits;
    struct error error;
    session_limits_get(repl->loop.sessions, "main", &limits);
    char *text = strchr(arguments, ' ');
    if (text) {
        *text++ = '\0';
        if (!change_limit(&limits, arguments, text))
            return;
        if (!session_limits_check(&limits, session_heap_mb(repl->loop.sessions), &error)) {
            printf("; %s\n", error.message);
            return;
        }
        session_limits_set(repl->loop.sessions, "main", &limits);
    }
    CLEANUP_BUFFER struct buffer shown;
    buffer_init(&shown, BUFFER_DEFAULT_LIMIT);
    render_limits(&shown, &limits);
    print_buffer(&shown);
}

static void command_info(struct repl *repl, char *arguments)
{
    (void)arguments;
    value info = session_info(repl->loop.sessions, "main", false, repl->region);
    CLEANUP_BUFFER struct buffer shown;
    buffer_init(&shown, BUFFER_DEFAULT_LIMIT);
    render_session(&shown, info);
    print_buffer(&shown);
}

static void command_errors(struct repl *repl, char *arguments)
{
    (void)arguments;
    value errors = session_errors(repl->loop.sessions, "main", repl->region);
    CLEANUP_BUFFER struct buffer shown;
    buffer_init(&shown, BUFFER_DEFAULT_LIMIT);
    render_error_list(&shown, errors, SESSION_ERROR_HISTORY);
    print_buffer(&shown);
}

static void command_backtrace(struct repl *repl, char *arguments)
{
    int64_t number = 0;
    if (*arguments && !option_integer(":bt", arguments, 1, INT64_MAX, &number))
        return;
    value error = session_error(repl->loop.sessions, "main", number, repl->region);
    CLEANUP_BUFFER struct buffer shown;
    buffer_init(&shown, BUFFER_DEFAULT_LIMIT);
    if (value_is_nil(error))
        buffer_append_text(&shown, RENDER_NO_ERROR);
    else
        render_frames(&shown, map_get(error, "frames"), 0, INT64_MAX, "");
    if (shown.length > 0 && buffer_text(&shown)[0] == '\n')
        buffer_consume(&shown, 1);
    print_buffer(&shown);
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
    print_buffer(&text);
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
    call(repl, &request, print_locals);
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
    call(repl, &request, print_evaluation);
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

static void command_restart(struct repl *repl, char *arguments)
{
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
    call(repl, &request, print_evaluation);
    repl->redo_count = 0;
    repl->current = current_snapshot(repl);
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
    fputs(command_help, stdout);
}

static const struct {
    const char *name;
    void (*run)(struct repl *repl, char *arguments);
} commands[] = {
    {":undo", command_undo},       {":redo", command_redo},      {":reset", command_reset},
    {":limits", command_limits},   {":info", command_info},      {":errors", command_errors},
    {":bt", command_backtrace},    {":locals", command_locals},  {":in", command_in},
    {":restart", command_restart}, {":r", command_restart},      {":quit", command_quit},
    {":q", command_quit},          {":help", command_show_help},
};

// Runs a command if the input is one. Any other keyword is Lisp, unless it has arguments: that is a
// mistyped command, and evaluating it would discard the last error.
static bool run_command(struct repl *repl, struct span input)
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
    if (line[0] != ':' || !*arguments || *arguments == ';')
        return false;
    printf("; There is no command %s; :help lists them.\n", line);
    return true;
}

// --- completion ----------------------------------------------------------------------------------

struct completion {
    size_t typed;
    struct buffer *insertion;
    struct buffer *choices;
};

static size_t common_prefix(struct span a, struct span b)
{
    size_t length = 0;
    while (length < a.length && length < b.length && a.data[length] == b.data[length])
        length++;
    return length;
}

static void collect_completions(void *data, const struct session_reply *reply)
{
    struct completion *completion = data;
    size_t count = reply->ok ? map_get_count(reply->result, "completions") : 0;
    if (count == 0)
        return;
    struct span common = value_text(map_get_item(reply->result, "completions", 0));
    for (size_t i = 1; i < count; i++)
        common.length =
            common_prefix(common, value_text(map_get_item(reply->result, "completions", i)));
    if (common.length > completion->typed)
        buffer_append(completion->insertion, common.data + completion->typed,
                      common.length - completion->typed);
    else if (count > 1)
        for (size_t i = 0; i < count; i++) {
            buffer_append_text(completion->choices, i ? "  " : "");
            buffer_append_span(completion->choices,
                               value_text(map_get_item(reply->result, "completions", i)));
        }
}

static void complete(void *data, struct span word, struct buffer *insertion, struct buffer *choices)
{
    struct repl *repl = data;
    value params = map_put_text(repl->region, map_new(repl->region), "prefix",
                                value_string(repl->region, word));
    struct session_request request = {
        .kind = SESSION_QUERY, .op = "complete", .params = params, .timeout = 2};
    struct completion completion = {
        .typed = word.length, .insertion = insertion, .choices = choices};
    session_loop_call(&repl->loop, &request, collect_completions, &completion);
}

// --- the loop ------------------------------------------------------------------------------------

// One complete input: a command, or lines until the forms in them are complete.
static enum line_result read_input(struct repl *repl, struct buffer *input)
{
    char more[PROMPT_SIZE];
    size_t width = strlen(repl->prompt);
    memset(more, '.', width);
    memcpy(more + width - 1, " ", 2);
    for (;;) {
        enum line_result result =
            line_editor_read(repl->editor, input->length ? more : repl->prompt, input);
        if (result == LINE_END && input->length)
            return LINE_READ;  // the reader reports the unclosed form
        if (result != LINE_READ)
            return result;
        struct syntax_report report;
        syntax_check(buffer_span(input), &report);
        if (input->data[0] == ':' || !syntax_is_incomplete(&report))
            return LINE_READ;
    }
}

static void handle_input(struct repl *repl, struct buffer *input)
{
    struct span text = buffer_span(input);
    while (text.length && strchr(" \t\r\n", text.data[text.length - 1]))
        text.length--;
    if (text.length == 0)
        return;
    line_editor_remember(repl->editor, text);
    if (!run_command(repl, text))
        evaluate(repl, text);
}

static void run_loop(struct repl *repl)
{
    CLEANUP_BUFFER struct buffer input;
    buffer_init(&input, INPUT_LIMIT);
    while (!repl->done) {
        buffer_clear(&input);
        enum line_result result = read_input(repl, &input);
        if (result == LINE_END)
            break;
        if (result == LINE_READ)
            handle_input(repl, &input);
        region_clear(repl->region);
    }
    if (line_editor_is_terminal(repl->editor))
        putchar('\n');
}

static int start(struct repl *repl, const struct session_config *config, const char *package)
{
    int failed = session_loop_init(&repl->loop, config);
    if (failed < 0) {
        fprintf(stderr, "cadre repl: cannot start: %s\n", strerror(-failed));
        return EXIT_FAILURE;
    }
    CLEANUP_FREE char *directory = path_in_state("");
    CLEANUP_FREE char *path = path_in_state("repl-history");
    if (directory)
        path_make_directories(directory);  // a failure only means that there is no history
    repl->region = region_new(SIZE_MAX);
    repl->editor = line_editor_new(path, complete, repl);
    snprintf(repl->prompt, sizeof(repl->prompt), "CL-USER> ");
    if (line_editor_is_terminal(repl->editor))
        puts("Cadre " CADRE_VERSION ". Every evaluation can be undone; :help lists commands.");
    if (package) {
        value code = value_string_format(repl->region, "(in-package \"%s\")", package);
        evaluate(repl, value_text(code));
    }
    return 0;
}

int command_repl(int argc, char **argv)
{
    static const struct option long_options[] = {{"timeout", required_argument, NULL, 't'},
                                                 {"package", required_argument, NULL, 'p'},
                                                 {"help", no_argument, NULL, 'h'},
                                                 {0}};
    struct session_config config = {
        .limits = session_limits_default(),
        .advice = {.raise_timeout = ":limits", .raise_memory = ":limits", .more_frames = ":bt"}};
    config.limits.timeout = 0;  // the user has Ctrl-C
    const char *package = NULL;
    optind = 1;
    for (int option; (option = getopt_long(argc, argv, "", long_options, NULL)) != -1;) {
        if (option == 'h') {
            fputs(help, stdout);
            return EXIT_SUCCESS;
        }
        if (option == 'p')
            package = optarg;
        else if (option != 't' ||
                 !option_integer("--timeout", optarg, 0, 86400, &config.limits.timeout))
            return EXIT_USAGE;
    }
    if (optind < argc) {
        fprintf(stderr, "cadre repl: unexpected argument '%s'\n", argv[optind]);
        return EXIT_USAGE;
    }
    struct repl repl = {.before_reset = -1};
    int status = start(&repl, &config, package);
    if (status == 0) {
        run_loop(&repl);
        // Piped input is a script: its last evaluation sets the exit status.
        status = !line_editor_is_terminal(repl.editor) && repl.failed ? EXIT_FAILURE : EXIT_SUCCESS;
        line_editor_free(repl.editor);
        region_free(repl.region);
    }
    session_loop_release(&repl.loop);
    return status;
}
