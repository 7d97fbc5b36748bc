// `cadre eval`: evaluates code in a session of its own and prints the text of evaluate-lisp.
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/session_loop.h"
#include "tools/result/result_text.h"

enum { CODE_LIMIT = 4 << 20 };

static const char help[] =
    "usage: cadre eval [OPTION...] CODE|FILE|-\n"
    "\n"
    "Evaluates Common Lisp forms and prints output, warnings, and the values or the error.\n"
    "An argument that names a file or ends in .lisp is read from that file; - reads standard\n"
    "input; anything else is code.\n"
    "\n"
    "  --package NAME    package to read and evaluate in\n"
    "  --timeout N       seconds, 0 = none (default 30)\n"
    "  --time            report time, memory and page faults\n"
    "  --compile-only    compile and report diagnostics, run nothing\n"
    "  --session NAME    name of the session, used in messages\n"
    "  --help            this text\n"
    "\n"
    "Exit status: 0 success, 1 the evaluation failed, 2 wrong usage.\n";

struct eval_options {
    const char *package;
    const char *session;
    int64_t timeout;
    bool compile_only;
    bool time;
    struct buffer code;
};

enum {
    OPTION_PACKAGE = 256,
    OPTION_TIMEOUT,
    OPTION_TIME,
    OPTION_COMPILE,
    OPTION_SESSION,
    OPTION_HELP
};

static const struct option long_options[] = {
    {"package", required_argument, NULL, OPTION_PACKAGE},
    {"timeout", required_argument, NULL, OPTION_TIMEOUT},
    {"time", no_argument, NULL, OPTION_TIME},
    {"compile-only", no_argument, NULL, OPTION_COMPILE},
    {"session", required_argument, NULL, OPTION_SESSION},
    {"help", no_argument, NULL, OPTION_HELP},
    {0},
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

// 0 = continue, otherwise the exit status + 1.
static int parse_options(int argc, char **argv, struct eval_options *options)
{
    *options = (struct eval_options){.timeout = -1, .session = "main"};
    optind = 1;
    for (int option; (option = getopt_long(argc, argv, "", long_options, NULL)) != -1;)
        switch (option) {
        case OPTION_PACKAGE: options->package = optarg; break;
        case OPTION_SESSION: options->session = optarg; break;
        case OPTION_TIME: options->time = true; break;
        case OPTION_COMPILE: options->compile_only = true; break;
        case OPTION_TIMEOUT:
            if (!option_integer("--timeout", optarg, 0, 86400, &options->timeout))
                return EXIT_USAGE + 1;
            break;
        case OPTION_HELP: fputs(help, stdout); return 1;
        default: return EXIT_USAGE + 1;
        }
    if (argc - optind != 1) {
        fprintf(stderr, argc == optind
                            ? "cadre eval: CODE, FILE or - is missing; see cadre eval --help\n"
                            : "cadre eval: one argument only; quote the code\n");
        return EXIT_USAGE + 1;
    }
    if (!session_name_valid(span_from(options->session))) {
        fprintf(stderr, "cadre eval: %s\n", SESSION_NAME_RULE);
        return EXIT_USAGE + 1;
    }
    return read_code(argv[optind], &options->code) ? 0 : EXIT_USAGE + 1;
}

struct evaluation {
    const struct eval_options *options;
    bool ok;
};

static void print_reply(void *data, const struct session_reply *reply)
{
    struct evaluation *evaluation = data;
    struct session_reply shown = *reply;
    shown.frozen = false;  // the session ends with this command
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, BUFFER_DEFAULT_LIMIT);
    if (evaluation->options->compile_only)
        render_compilation(&text, reply);
    else if (evaluation->options->time)
        render_time_execution(&text, &shown);
    else
        render_evaluation(&text, &shown, &(struct render_evaluation){0});
    buffer_append_byte(&text, '\n');
    fwrite(buffer_text(&text), 1, text.length, stdout);
    evaluation->ok = reply->ok;
}

static int evaluate(const struct eval_options *options)
{
    struct session_config config = {
        .advice = {.raise_timeout = "--timeout", .raise_memory = "", .more_frames = ""}};
    struct session_loop loop;
    int failed = session_loop_init(&loop, &config);
    if (failed < 0) {
        fprintf(stderr, "cadre eval: cannot start: %s\n", strerror(-failed));
        return EXIT_FAILURE;
    }
    struct region *region = region_new(SIZE_MAX);
    value params = map_put_text(region, map_new(region), "code",
                                value_string(region, buffer_span(&options->code)));
    if (options->package)
        params = map_put_text(region, params, "package",
                              value_string_format(region, "%s", options->package));
    struct session_request request = {
        .session = options->session,
        .kind = options->compile_only ? SESSION_COPY : SESSION_EVALUATE,
        .create = true,
        .op = options->compile_only ? "compile" : "evaluate",
        .params = params,
        .label = buffer_text(&options->code),
        .timeout = options->timeout,
    };
    struct evaluation evaluation = {.options = options};
    session_loop_call(&loop, &request, print_reply, &evaluation);
    region_free(region);
    session_loop_release(&loop);
    return evaluation.ok ? EXIT_SUCCESS : EXIT_FAILURE;
}

int command_eval(int argc, char **argv)
{
    struct eval_options options;
    int status = parse_options(argc, argv, &options);
    if (status)
        return status - 1;
    status = evaluate(&options);
    buffer_release(&options.code);
    return status;
}
