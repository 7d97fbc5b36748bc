// `cadre eval`: evaluates code in a session of its own, or in a kept one (eval_kept.h). Output appears as it comes, the values after
// it on standard output, errors on standard error.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/kept/eval_kept.h"
#include "cli/options.h"
#include "cli/sandbox_options.h"
#include "cli/session_loop.h"
#include "cli/table/option_reader.h"
#include "tools/result/result_shown.h"
#include "tools/result/result_structured.h"
#include "tools/result/result_text.h"
#include "value/text/json.h"

enum { CODE_LIMIT = 4 << 20 };

struct eval_options {
    const char *package;
    const char *session;  // a kept one; NULL: one of its own, which ends with the command
    const char *sbcl;
    int64_t timeout;
    bool compile_only;
    bool time;
    bool json;
    const char *name;  // of the file, or "cadre"
    char **arguments;  // of the code, as many as `argument_count`
    int argument_count;
    struct session_sandbox sandbox;
    struct sandbox_options sandbox_options;
    struct buffer code;
};

// Also true for a pipe of the shell (process substitution), and for a missing file whose name
// cannot be code: the message then says that the file is missing.
static bool names_file(const char *argument)
{
    static const char suffix[] = ".lisp";
    struct stat file;
    size_t length = strlen(argument);
    if (stat(argument, &file) == 0)
        return !S_ISDIR(file.st_mode);
    return strcmp(argument, "-") == 0 ||
           (length > strlen(suffix) && strcmp(argument + length - strlen(suffix), suffix) == 0 &&
            !argument[strcspn(argument, " \t\n()'\"")]);
}

static bool read_code(const char *argument, struct buffer *ret_code)
{
    if (names_file(argument)) {
        if (!option_read_file(argument, CODE_LIMIT, ret_code))
            return false;
    } else {
        buffer_init(ret_code, CODE_LIMIT);
        buffer_append_text(ret_code, argument);
    }
    size_t valid = utf8_valid_prefix(buffer_text(ret_code), ret_code->length);
    if (valid == ret_code->length)
        return true;
    fprintf(stderr, "cadre eval: the code is not UTF-8 (byte %zu)\n", valid + 1);
    buffer_release(ret_code);
    return false;
}

// Takes what follows -- off the arguments.
static int split_arguments(int argc, char **argv, struct eval_options *options)
{
    int end = 1;
    while (end < argc && strcmp(argv[end], "--") != 0)
        end++;
    if (end == argc)
        return argc;
    options->arguments = argv + end + 1;
    options->argument_count = argc - end - 1;
    return end;
}

// The code, which may also be the first argument after a -- that only ends the options; NULL after a
// message.
static const char *find_code(const struct option_reader *reader, struct eval_options *options)
{
    if (reader->word_count == 1)
        return reader->words[0];
    if (reader->word_count == 0 && options->argument_count > 0 &&
        (options->argument_count == 1 || strcmp(options->arguments[1], "--") == 0)) {
        const char *code = options->arguments[0];
        int taken = options->argument_count > 1 ? 2 : 1;
        options->arguments += taken;
        options->argument_count -= taken;
        return code;
    }
    fputs(reader->word_count == 0
              ? "cadre eval: CODE, FILE or - is missing; see cadre eval --help\n"
              : "cadre eval: one argument only; quote the code, and put -- before what is for the "
                "code\n",
          stderr);
    return NULL;
}

// 0 = continue, otherwise the exit status + 1.
static int parse_options(int argc, char **argv, struct eval_options *options)
{
    *options = (struct eval_options){.timeout = -1};
    struct option_reader reader;
    option_reader_init(&reader, COMMAND_EVAL, split_arguments(argc, argv, options), argv);
    int option;
    while ((option = option_reader_next(&reader)) > 0)
        switch (option) {
        case OPTION_PACKAGE: options->package = reader.argument; break;
        case OPTION_SESSION: options->session = reader.argument; break;
        case OPTION_SBCL: options->sbcl = reader.argument; break;
        case OPTION_TIME: options->time = true; break;
        case OPTION_JSON: options->json = true; break;
        case OPTION_COMPILE_ONLY: options->compile_only = true; break;
        case OPTION_TIMEOUT: options->timeout = reader.number; break;
        default:
            if (sandbox_option_take(&options->sandbox_options, &options->sandbox, &reader) !=
                SANDBOX_OPTION_TAKEN)
                return EXIT_USAGE + 1;
        }
    if (option != OPTIONS_END)
        return option_reader_status(option) + 1;
    const char *code = find_code(&reader, options);
    if (!code)
        return EXIT_USAGE + 1;
    if (options->session && !session_name_valid(span_from(options->session))) {
        fprintf(stderr, "cadre eval: %s\n", SESSION_NAME_RULE);
        return EXIT_USAGE + 1;
    }
    if (options->session &&
        (options->compile_only || options->time || options->json || options->argument_count > 0)) {
        fputs(
            "cadre eval: --session takes neither --compile-only, --time, --json nor arguments for "
            "the code\n",
            stderr);
        return EXIT_USAGE + 1;
    }
    options->name = names_file(code) ? code : "cadre";
    return read_code(code, &options->code) ? 0 : EXIT_USAGE + 1;
}

// --- what it prints ------------------------------------------------------------------------------

struct evaluation {
    const struct eval_options *options;
    struct region *region;
    bool in_line[SESSION_STREAM_COUNT];  // what was printed last does not end with a newline
    bool ok;
};

static void print_json(struct evaluation *evaluation, value line)
{
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, BUFFER_DEFAULT_LIMIT);
    json_write(&text, line, 0, NULL);
    buffer_append_byte(&text, '\n');
    fwrite(buffer_text(&text), 1, text.length, stdout);
    fflush(stdout);
    region_clear(evaluation->region);
}

static void print_output(void *data, enum session_stream stream, struct span text)
{
    struct evaluation *evaluation = data;
    bool is_error = stream == SESSION_STANDARD_ERROR;
    if (evaluation->options->json) {
        struct region *region = evaluation->region;
        value line = map_put_text(region, map_new(region), "stream",
                                  value_string_text(region, is_error ? "stderr" : "stdout"));
        print_json(evaluation, map_put_text(region, line, "text", value_string(region, text)));
        return;
    }
    FILE *file = is_error ? stderr : stdout;
    fwrite(text.data, 1, text.length, file);
    fflush(file);
    evaluation->in_line[stream] = text.data[text.length - 1] != '\n';
}

static void note_echo(void *data)
{
    struct evaluation *evaluation = data;
    evaluation->in_line[SESSION_STANDARD_OUTPUT] = evaluation->in_line[SESSION_STANDARD_ERROR] =
        false;
}

static void print_text(struct evaluation *evaluation, enum session_stream stream,
                       const struct buffer *text)
{
    if (text->length == 0)
        return;
    FILE *file = stream == SESSION_STANDARD_ERROR ? stderr : stdout;
    if (evaluation->in_line[stream])
        putc('\n', file);
    fwrite(buffer_text(text), 1, text->length, file);
    putc('\n', file);
    fflush(file);
}

static void print_success(struct evaluation *evaluation, const struct session_reply *reply)
{
    CLEANUP_BUFFER struct buffer remarks, values;
    buffer_init(&remarks, BUFFER_DEFAULT_LIMIT);
    buffer_init(&values, BUFFER_DEFAULT_LIMIT);
    if (evaluation->options->compile_only) {
        render_compilation(&values, reply);
    } else {
        render_notices(&remarks, reply->notices);
        render_warnings(&remarks, reply->result);
        if (evaluation->options->time)
            render_time_execution(&values, reply);
        else
            render_values(&values, reply);
        render_shown(&values, reply);
    }
    print_text(evaluation, SESSION_STANDARD_ERROR, &remarks);
    print_text(evaluation, SESSION_STANDARD_OUTPUT, &values);
}

static void print_failure(struct evaluation *evaluation, const struct session_reply *reply)
{
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, BUFFER_DEFAULT_LIMIT);
    if (evaluation->options->compile_only)
        render_compilation(&text, reply);
    else if (evaluation->options->time)
        render_time_execution(&text, reply);
    else
        render_evaluation(&text, reply, &(struct render_evaluation){0});
    if (evaluation->in_line[SESSION_STANDARD_OUTPUT])
        putchar('\n');
    fflush(stdout);
    print_text(evaluation, SESSION_STANDARD_ERROR, &text);
}

static void print_result(struct evaluation *evaluation, const struct session_reply *reply)
{
    struct region *region = evaluation->region;
    value result = structured_evaluation(region, reply);
    if (evaluation->options->time)
        result = structured_member(region, result, reply->result, "timing");
    print_json(evaluation, map_put_text(region, map_new(region), "result", result));
}

static void print_reply(void *data, const struct session_reply *reply)
{
    struct evaluation *evaluation = data;
    struct session_reply shown = *reply;
    shown.frozen = false;  // the session ends with this command
    shown.standard_output = shown.standard_error = (struct session_output){.text = {"", 0}};
    evaluation->ok = reply->ok;
    if (evaluation->options->json)
        print_result(evaluation, &shown);
    else if (reply->ok)
        print_success(evaluation, &shown);
    else
        print_failure(evaluation, &shown);
}

// --- the request ---------------------------------------------------------------------------------

// The command line as the code sees it: the name of the program, then its arguments.
static value command_line(struct region *region, const struct eval_options *options)
{
    value line =
        vector_push(region, vector_new(region, 0), value_string_text(region, options->name));
    for (int i = 0; i < options->argument_count; i++) {
        CLEANUP_BUFFER struct buffer text;
        buffer_init(&text, BUFFER_DEFAULT_LIMIT);
        utf8_append_repaired(&text, span_from(options->arguments[i]));
        line = vector_push(region, line, value_string(region, buffer_span(&text)));
    }
    return line;
}

static value request_params(struct region *region, const struct eval_options *options)
{
    value params = map_put_text(region, map_new(region), "code",
                                value_string(region, buffer_span(&options->code)));
    if (!options->compile_only)
        params = map_put_text(region, params, "command_line", command_line(region, options));
    if (options->package)
        params = map_put_text(region, params, "package",
                              value_string_format(region, "%s", options->package));
    return params;
}

static bool evaluate(struct session_loop *loop, struct line_input *input,
                     const struct eval_options *options)
{
    struct region *region = region_new(SIZE_MAX);
    struct session_request request = {
        .session = "main",
        .kind = options->compile_only ? SESSION_COPY : SESSION_EVALUATE,
        .create = true,
        .op = options->compile_only ? "compile" : "evaluate",
        .params = request_params(region, options),
        .label = buffer_text(&options->code),
        .timeout = options->timeout,
    };
    struct evaluation evaluation = {.options = options, .region = region_new(SIZE_MAX)};
    struct session_console console = {
        .output = print_output, .data = &evaluation, .input = input, .echoed = note_echo};
    session_loop_call(loop, &request, &console, print_reply, &evaluation);
    region_free(evaluation.region);
    region_free(region);
    return evaluation.ok;
}

static int run(const struct eval_options *options)
{
    struct session_config config = {
        .sbcl = options->sbcl,
        .limits = session_limits_default(),
        .advice = {.raise_timeout = "--timeout", .raise_memory = "", .more_frames = ""},
        .sandbox = options->sandbox,
        .is_brief = true};
    if (options->timeout > 0)
        config.limits.timeout = options->timeout;  // of .cadre/init.lisp, too
    config.limits.max_output = TERMINAL_MAX_OUTPUT;
    struct session_loop loop;
    struct line_input input;
    bool ok = false;
    int failed = session_loop_init(&loop, &config);
    line_input_init(&input, STDIN_FILENO);
    if (failed < 0)
        fprintf(stderr, "cadre eval: cannot start: %s\n", strerror(-failed));
    else
        ok = evaluate(&loop, &input, options);
    line_input_release(&input);
    session_loop_release(&loop);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int run_kept(const struct eval_options *options)
{
    return eval_kept(&(struct eval_kept){.session = options->session,
                                         .package = options->package,
                                         .code = buffer_span(&options->code),
                                         .timeout = options->timeout,
                                         .sbcl = options->sbcl,
                                         .sandbox = &options->sandbox});
}

int command_eval(int argc, char **argv)
{
    struct eval_options options;
    int status = parse_options(argc, argv, &options);
    if (status)
        return status - 1;
    status = options.session ? run_kept(&options) : run(&options);
    buffer_release(&options.code);
    return status;
}
