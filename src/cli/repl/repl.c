// `cadre repl`: interactive Common Lisp, on the same session layer as the tools. Every evaluation
// can be undone; after an error its frames can be inspected and its restarts invoked.
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/path.h"
#include "base/private.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/repl/repl_internal.h"
#include "cli/sandbox_options.h"
#include "cli/style.h"
#include "cli/table/option_reader.h"
#include "config.h"
#include "daemon/client_settings.h"
#include "lisp_syntax/lisp_form.h"
#include "lisp_syntax/lisp_syntax.h"
#include "tools/result/result_shown.h"
#include "tools/result/result_text.h"

enum { INPUT_LIMIT = 4 << 20 };

// --- requests ------------------------------------------------------------------------------------

void repl_update_prompt(struct repl *repl, const struct session_reply *reply)
{
    snprintf(repl->prompt, sizeof(repl->prompt), "%.*s> ",
             (int)(reply->package_label.length < 100 ? reply->package_label.length : 100),
             reply->package_label.data);
}

static void print_output(void *data, enum session_stream stream, struct span text)
{
    struct repl *repl = data;
    FILE *file = stream == SESSION_STANDARD_ERROR ? stderr : stdout;
    fwrite(text.data, 1, text.length, file);
    fflush(file);
    repl->in_line = text.data[text.length - 1] != '\n';
}

static void note_echo(void *data)
{
    struct repl *repl = data;
    repl->in_line = false;
}

void repl_print(struct repl *repl, const struct buffer *text)
{
    CLEANUP_BUFFER struct buffer shown;
    buffer_init(&shown, BUFFER_DEFAULT_LIMIT);
    if (repl->in_line)
        buffer_append_byte(&shown, '\n');
    repl->in_line = false;
    if (repl->coloured)
        style_answer(&shown, buffer_span(text));
    else
        buffer_append_span(&shown, buffer_span(text));
    buffer_append_byte(&shown, '\n');
    fwrite(buffer_text(&shown), 1, shown.length, stdout);
    fflush(stdout);
}

void repl_print_restarts(struct repl *repl, value error)
{
    size_t count = map_get_count(error, "restarts");
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, BUFFER_DEFAULT_LIMIT);
    buffer_append_text(&text, count ? "[Restarts]" : "; The error has no restarts.");
    for (size_t i = 0; i < count; i++) {
        value restart = map_get_item(error, "restarts", i);
        buffer_append_format(&text, "\n%" PRId64 ". ", map_get_integer(restart, "number", 0));
        buffer_append_span(&text, map_get_string(restart, "name"));
        buffer_append_text(&text, " - ");
        buffer_append_span(&text, map_get_string(restart, "description"));
    }
    if (count)
        buffer_append_text(&text,
                           "\n; :restart N chooses, :bt shows frames, :locals FRAME variables");
    repl_print(repl, &text);
}

void repl_print_evaluation(void *data, const struct session_reply *reply)
{
    struct repl *repl = data;
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, BUFFER_DEFAULT_LIMIT);
    struct session_reply shown = *reply;
    shown.frozen = false;  // the list of restarts below replaces the [Debug] line
    shown.standard_output = shown.standard_error = (struct session_output){.text = {"", 0}};
    render_evaluation(&text, &shown, &(struct render_evaluation){0});
    render_shown(&text, &shown);
    if (value_is_map(reply->error) &&
        span_equal_text(map_get_string(reply->error, "code"), "process-exit"))
        buffer_append_text(&text, "\n; The session goes on; :quit or Ctrl-D leaves the REPL.");
    repl_print(repl, &text);
    if (reply->frozen) {
        putchar('\n');
        repl_print_restarts(repl, reply->error);
    }
    repl->failed = !reply->ok;
    if (reply->ran)
        repl_update_prompt(repl, reply);
}

void repl_call(struct repl *repl, struct session_request *request, session_loop_reply_fn *handle)
{
    if (request->timeout == 0)
        request->timeout = repl->timeout;
    session_loop_call(&repl->loop, request, &repl->console, handle, repl);
}

static void ignore_reply(void *data, const struct session_reply *reply)
{
    (void)data;
    (void)reply;
}

void repl_settle(struct repl *repl)
{
    struct session_request request = {.kind = SESSION_QUERY, .op = "memory", .timeout = -1};
    session_loop_call(&repl->loop, &request, NULL, ignore_reply, NULL);
}

int64_t repl_current_snapshot(struct repl *repl)
{
    value info = session_loop_info(&repl->loop, repl->region);
    return value_is_map(info) ? map_get_integer(info, "evaluation", 0) : 0;
}

static void evaluate(struct repl *repl, struct span code)
{
    value params =
        map_put_text(repl->region, map_new(repl->region), "code", value_string(repl->region, code));
    // A person who has not set *print-length* expects all of a value; max-output bounds it.
    params = map_put_text(repl->region, params, "whole_values", value_boolean(true));
    CLEANUP_FREE char *label = memory_copy_text(code.data, code.length);
    struct session_request request = {
        .kind = SESSION_EVALUATE, .op = "evaluate", .params = params, .label = label};
    repl_call(repl, &request, repl_print_evaluation);
    repl->hinted[0] = '\0';  // it may have been defined anew
    repl->redo_count = 0;
    repl->current = repl_current_snapshot(repl);
}

// --- the loop ------------------------------------------------------------------------------------

// One complete input: a command, or lines until the forms in them are complete.
static enum line_result read_input(struct repl *repl, struct buffer *input)
{
    char more[REPL_PROMPT_SIZE];
    size_t width = strlen(repl->prompt);
    memset(more, '.', width);
    memcpy(more + width - 1, " ", 2);
    for (;;) {
        enum line_result result =
            line_editor_read(repl->editor, input->length ? more : repl->prompt,
                             lisp_form_indentation(buffer_span(input)), input);
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
    if (!repl_run_command(repl, text))
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

struct repl_options {
    struct session_config config;
    const char *package;
    const char *session;  // of the workspace
    bool is_private;      // a session of its own, which ends with it
};

static bool open_session(struct repl *repl, const struct repl_options *options)
{
    struct error error;
    struct settings settings = {.selection = "full", .sessions = options->config};
    settings.sessions.limits = session_limits_default();  // they are not the REPL's alone
    repl->timeout = options->is_private ? -1 : options->config.limits.timeout;
    if (!options->is_private) {
        if (session_loop_join(&repl->loop, options->session, &settings, &error)) {
            repl->loop.advice = options->config.advice;
            return true;
        }
        fprintf(stderr, "cadre repl: %s\n", error.message);
        return false;
    }
    int failed = session_loop_init(&repl->loop, &options->config);
    if (failed < 0)
        fprintf(stderr, "cadre repl: cannot start: %s\n", strerror(-failed));
    return failed == 0;
}

static char *history_file(void)
{
    CLEANUP_FREE char *directory = path_in_state("");
    struct error error;
    if (directory && private_make_directory(directory, &error))
        return path_in_state("repl-history");
    if (directory)
        fprintf(stderr, "cadre repl: no history: %s\n", error.message);
    return NULL;
}

// Where others may have been before.
static void greet_shared(struct repl *repl)
{
    value info = session_loop_info(&repl->loop, repl->region);
    repl->current = value_is_map(info) ? map_get_integer(info, "evaluation", 0) : 0;
    struct span label = map_get_string(info, "package_label");
    if (label.length > 0)
        snprintf(repl->prompt, sizeof(repl->prompt), "%.*s> ",
                 (int)(label.length < 100 ? label.length : 100), label.data);
    if (line_editor_is_terminal(repl->editor))
        printf("; session %s of the workspace, after evaluation %" PRId64
               "; what others evaluate appears here\n",
               repl->loop.session, repl->current);
}

static int start(struct repl *repl, const struct repl_options *options)
{
    if (!open_session(repl, options))
        return EXIT_FAILURE;
    CLEANUP_FREE char *path = history_file();
    repl->region = region_new(SIZE_MAX);
    buffer_init(&repl->hint, BUFFER_DEFAULT_LIMIT);
    repl->coloured = style_wanted(STDOUT_FILENO);
    line_input_init(&repl->input, STDIN_FILENO);
    repl->console = (struct session_console){
        .output = print_output, .data = repl, .input = &repl->input, .echoed = note_echo};
    struct line_editor_help help = repl_help(repl);
    if (repl->loop.link)
        repl_listen(repl, &help);
    repl->editor = line_editor_new(path, &repl->input, &help, repl->coloured);
    snprintf(repl->prompt, sizeof(repl->prompt), "CL-USER> ");
    if (line_editor_is_terminal(repl->editor))
        puts("Cadre " CADRE_VERSION ". Every evaluation can be undone; :help lists commands.");
    if (repl->loop.link)
        greet_shared(repl);
    if (options->package) {
        value code = value_string_format(repl->region, "(in-package \"%s\")", options->package);
        evaluate(repl, value_text(code));
    }
    return 0;
}

static bool take_option(struct repl_options *options, struct sandbox_options *sandbox,
                        const struct option_reader *reader)
{
    struct session_config *config = &options->config;
    switch (reader->row->id) {
    case OPTION_PACKAGE: options->package = reader->argument; return true;
    case OPTION_SESSION: options->session = reader->argument; return true;
    case OPTION_PRIVATE: options->is_private = true; return true;
    case OPTION_TIMEOUT: config->limits.timeout = reader->number; return true;
    case OPTION_SBCL: config->sbcl = reader->argument; return true;
    default: return sandbox_option_take(sandbox, &config->sandbox, reader) == SANDBOX_OPTION_TAKEN;
    }
}

// 0 = continue, otherwise the exit status + 1.
static int parse_options(int argc, char **argv, struct repl_options *options,
                         struct sandbox_options *sandbox)
{
    struct option_reader reader;
    option_reader_init(&reader, COMMAND_REPL, argc, argv);
    int option;
    while ((option = option_reader_next(&reader)) > 0)
        if (!take_option(options, sandbox, &reader))
            return EXIT_USAGE + 1;
    if (option != OPTIONS_END)
        return option_reader_status(option) + 1;
    if (reader.word_count > 0) {
        fprintf(stderr, "cadre repl: unexpected argument '%s'\n", reader.words[0]);
        return EXIT_USAGE + 1;
    }
    if (!session_name_valid(span_from(options->session))) {
        fprintf(stderr, "cadre repl: %s; got '%s'\n", SESSION_NAME_RULE, options->session);
        return EXIT_USAGE + 1;
    }
    return 0;
}

int command_repl(int argc, char **argv)
{
    struct repl_options options = {.config = {.limits = session_limits_default(),
                                              .advice = {.raise_timeout = ":limits",
                                                         .raise_memory = ":limits",
                                                         .more_frames = ":bt"}},
                                   .session = "main"};
    options.config.limits.timeout = 0;  // the user has Ctrl-C
    options.config.limits.max_output = TERMINAL_MAX_OUTPUT;
    struct sandbox_options sandbox = {0};
    int status = parse_options(argc, argv, &options, &sandbox);
    if (status)
        return status - 1;
    struct repl repl = {.before_reset = -1};
    status = start(&repl, &options);
    if (status == 0) {
        run_loop(&repl);
        // Piped input is a script: its last evaluation sets the exit status.
        status = !line_editor_is_terminal(repl.editor) && repl.failed ? EXIT_FAILURE : EXIT_SUCCESS;
        line_editor_free(repl.editor);
        line_input_release(&repl.input);
        buffer_release(&repl.hint);
        region_free(repl.region);
    }
    session_loop_release(&repl.loop);
    return status;
}
