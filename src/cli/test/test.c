// `cadre test`: runs the tests of a system, as the tool run-tests does, for people and for CI: how far it
// is on a terminal, the failures, JUnit XML, and an exit status.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/sandbox_options.h"
#include "cli/session_loop.h"
#include "cli/table/option_reader.h"
#include "cli/test/junit.h"
#include "cli/test/test_watch.h"
#include "tools/result/result_tests.h"
#include "tools/result/result_text.h"

enum { XML_LIMIT = 64 << 20 };

struct test_options {
    const char *system;
    const char *test;  // or NULL
    const char *framework;
    const char *isolate;
    const char *junit;  // file, or NULL
    const char *sbcl;
    int64_t timeout;
    int64_t jobs;
    bool watch;
    struct session_sandbox sandbox;
    struct sandbox_options sandbox_options;
};

// 0 = continue, otherwise the exit status + 1.
static int parse_options(int argc, char **argv, struct test_options *options)
{
    *options = (struct test_options){.timeout = 30, .jobs = 1};
    struct option_reader reader;
    option_reader_init(&reader, COMMAND_TEST, argc, argv);
    int option;
    while ((option = option_reader_next(&reader)) > 0)
        switch (option) {
        case OPTION_FRAMEWORK: options->framework = reader.argument; break;
        case OPTION_ISOLATE: options->isolate = reader.argument; break;
        case OPTION_JOBS: options->jobs = reader.number; break;
        case OPTION_JUNIT: options->junit = reader.argument; break;
        case OPTION_SBCL: options->sbcl = reader.argument; break;
        case OPTION_TIMEOUT: options->timeout = reader.number; break;
        case OPTION_WATCH: options->watch = true; break;
        default:
            if (sandbox_option_take(&options->sandbox_options, &options->sandbox, &reader) !=
                SANDBOX_OPTION_TAKEN)
                return EXIT_USAGE + 1;
        }
    if (option != OPTIONS_END)
        return option_reader_status(option) + 1;
    if (reader.word_count < 1 || reader.word_count > 2) {
        fputs("cadre test: SYSTEM, and at most one TEST; see cadre test --help\n", stderr);
        return EXIT_USAGE + 1;
    }
    options->system = reader.words[0];
    options->test = reader.word_count > 1 ? reader.words[1] : NULL;
    return 0;
}

// --- while it runs -------------------------------------------------------------------------------

struct test_run {
    const struct test_options *options;
    bool on_terminal;
    bool ok;
    struct region *region;
    value files;  // of the systems, to be watched
};

static void clear_bar(const struct test_run *run)
{
    if (run->on_terminal)
        fputs("\r\033[K", stderr);
}

static void show_progress(void *data, const struct session_progress *progress)
{
    enum { BAR_WIDTH = 24 };
    const struct test_run *run = data;
    const struct session_test_progress *tests = &progress->tests;
    if (!run->on_terminal || tests->total <= 0)
        return;
    char bar[BAR_WIDTH + 1];
    int64_t filled = tests->done * BAR_WIDTH / tests->total;
    for (int i = 0; i < BAR_WIDTH; i++)
        bar[i] = i < filled ? '#' : '.';
    bar[BAR_WIDTH] = '\0';
    int name = progress->line.length > 30 ? 30 : (int)progress->line.length;
    fprintf(stderr, "\r\033[K[%s] %" PRId64 "/%" PRId64, bar, tests->done, tests->total);
    if (tests->failed > 0)
        fprintf(stderr, ", %" PRId64 " failed", tests->failed);
    fprintf(stderr, "  %.*s", name, progress->line.data);
    fflush(stderr);
}

// --- when it has run -----------------------------------------------------------------------------

static bool write_junit(const struct test_options *options, value run)
{
    CLEANUP_BUFFER struct buffer xml;
    buffer_init(&xml, XML_LIMIT);
    junit_write(&xml, options->system, run);
    FILE *file = fopen(options->junit, "w");
    bool written = file && !xml.failed && fwrite(xml.data, 1, xml.length, file) == xml.length;
    written = (!file || fclose(file) == 0) && written;
    if (!written)
        fprintf(stderr, "cadre test: cannot write %s\n", options->junit);
    return written;
}

static void print_reply(void *data, const struct session_reply *reply)
{
    struct test_run *run = data;
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, XML_LIMIT);
    clear_bar(run);
    run->ok = false;
    if (!reply->ok) {
        struct session_reply shown = *reply;
        shown.frozen = false;
        if (map_get_count(shown.error, "frames") == 0)
            render_error_heading(&text, shown.error);
        else
            render_evaluation(&text, &shown, &(struct render_evaluation){0});
        fprintf(stderr, "%s\n", buffer_text(&text));
        return;
    }
    value tests = map_get(reply->result, "run");
    render_tests_outcome(&text, tests);
    printf("%s\n", buffer_text(&text));
    fflush(stdout);
    run->files = value_copy(run->region, map_get(tests, "files"));
    run->ok = map_get_integer(tests, "failed", 0) == 0;
    if (run->options->junit && !write_junit(run->options, tests))
        run->ok = false;
}

// --- the request ---------------------------------------------------------------------------------

static value put(struct region *region, value params, const char *name, const char *text)
{
    return text ? map_put_text(region, params, name, value_string_format(region, "%s", text))
                : params;
}

// `again`: only what failed, and what depends on definitions that have changed.
static value request_params(struct region *region, const struct test_options *options,
                            struct session_manager *sessions, bool again)
{
    value last;
    value params = put(region, map_new(region), "system", options->system);
    params = put(region, params, "test", options->test);
    params = put(region, params, "framework", options->framework);
    params = put(region, params, "isolate", options->isolate);
    params = map_put_text(region, params, "jobs", value_integer(options->jobs));
    params = map_put_text(region, params, "test_timeout", value_integer(options->timeout));
    params = map_put_text(region, params, "since", value_boolean(again));
    if (again && session_last_tests(sessions, "main", region, &last))
        params = map_put_text(region, params, "last", last);
    return map_put_text(region, params, "all", value_boolean(true));
}

static void run_once(struct session_loop *loop, struct test_run *run, bool again)
{
    struct region *region = region_new(SIZE_MAX);
    struct session_request request = {
        .session = "main",
        .kind = SESSION_TESTS,
        .create = true,
        .op = "run-tests",
        .params = request_params(region, run->options, loop->sessions, again),
        .label = "(run-tests)",
    };
    struct session_console console = {.data = run, .progress = show_progress};
    session_loop_call(loop, &request, &console, print_reply, run);
    region_free(region);
}

static int run_tests(const struct test_options *options)
{
    struct session_config config = {
        .sbcl = options->sbcl,
        .limits = session_limits_default(),
        .advice = {.raise_timeout = "", .raise_memory = "", .more_frames = ""},
        .sandbox = options->sandbox};
    config.limits.max_output = TERMINAL_MAX_OUTPUT;
    struct session_loop loop;
    int failed = session_loop_init(&loop, &config);
    struct test_run run = {
        .options = options, .on_terminal = isatty(STDERR_FILENO), .region = region_new(SIZE_MAX)};
    if (failed < 0) {
        fprintf(stderr, "cadre test: cannot start: %s\n", strerror(-failed));
    } else {
        run_once(&loop, &run, false);
        while (options->watch && value_is_vector(run.files) && test_watch_wait(run.files))
            run_once(&loop, &run, true);
    }
    session_loop_release(&loop);
    region_free(run.region);
    return run.ok ? EXIT_SUCCESS : EXIT_FAILURE;
}

int command_test(int argc, char **argv)
{
    struct test_options options;
    int status = parse_options(argc, argv, &options);
    return status ? status - 1 : run_tests(&options);
}
