// `cadre repl`: interactive Common Lisp, on the same session layer as the tools. Every evaluation
// can be undone; after an error its frames can be inspected and its restarts invoked.
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/path.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/repl_internal.h"
#include "config.h"
#include "lisp_syntax/lisp_syntax.h"
#include "tools/result/result_text.h"

enum { INPUT_LIMIT = 4 << 20 };

static const char help[] =
    "usage: cadre repl [--timeout SECONDS] [--package NAME]\n"
    "\n"
    "Interactive Common Lisp. Input may span several lines; :help lists the commands.\n"
    "Tab completes, Ctrl-C interrupts an evaluation, Ctrl-D leaves. Evaluations have no time\n"
    "limit unless --timeout sets one.\n";

// --- requests ------------------------------------------------------------------------------------

void repl_update_prompt(struct repl *repl, const struct session_reply *reply)
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

void repl_print(struct buffer *text)
{
    buffer_append_byte(text, '\n');
    fwrite(buffer_text(text), 1, text->length, stdout);
    fflush(stdout);
}

void repl_print_evaluation(void *data, const struct session_reply *reply)
{
    struct repl *repl = data;
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, BUFFER_DEFAULT_LIMIT);
    struct session_reply shown = *reply;
    shown.frozen = false;  // the list of restarts below replaces the [Debug] line
    render_evaluation(&text, &shown, &(struct render_evaluation){0});
    repl_print(&text);
    if (reply->frozen)
        print_restarts(reply->error);
    repl->failed = !reply->ok;
    if (reply->ran)
        repl_update_prompt(repl, reply);
}

void repl_call(struct repl *repl, struct session_request *request, session_loop_reply_fn *handle)
{
    if (request->timeout == 0)
        request->timeout = -1;
    session_loop_call(&repl->loop, request, handle, repl);
}

int64_t repl_current_snapshot(struct repl *repl)
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
    repl_call(repl, &request, repl_print_evaluation);
    repl->redo_count = 0;
    repl->current = repl_current_snapshot(repl);
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
    char more[REPL_PROMPT_SIZE];
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
