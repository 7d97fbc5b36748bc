// `cadre run`: runs PTC-Lisp programs and prints their Steps.
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/run_worker.h"
#include "program/api/guide.h"
#include "program/batch.h"
#include "program/builtin/builtin.h"
#include "value/text/edn.h"
#include "value/text/json.h"
#include "value/text/print.h"

enum { FILE_LIMIT = 1 << 30 };

static const char help[] =
    "usage: cadre run FILE|- [OPTION...]     a program from a file or standard input\n"
    "       cadre run -e SOURCE [OPTION...]  a program from the argument\n"
    "       cadre run --batch FILE|-         one JSON record per line, one Step per line\n"
    "       cadre run --builtins | --guide   the builtins; the language in one page\n"
    "\n"
    "  --context F, --memory F, --tools F   inputs; .json is JSON, .edn one literal form\n"
    "  --signature TEXT                     types of inputs and result\n"
    "  --validation MODE                    enabled, warn_only, disabled or strict\n"
    "  --timeout MS                         time limit (default 1000)\n"
    "  --max-memory BYTES                   memory limit (default 10000000)\n"
    "  --float-precision N                  round the floats of the result\n"
    "  -o NAME=VALUE                        any other limit, or memory=explicit\n"
    "  --check                              parse and analyse only\n"
    "  --human                              show errors with the source line on standard error\n"
    "  --help                               this text\n"
    "\n"
    "A batch record has program and optionally id, context, memory, tools, signature,\n"
    "validation and options (an object of limits); --batch takes no other options.\n"
    "\n"
    "Prints the Step as one line of JSON. Exit status: 0 success, 1 failed Step, 2 wrong usage.\n";

struct run_arguments {
    const char *expression;  // -e
    const char *batch;
    bool check;
    bool human;  // show failures on standard error
    unsigned option_count;
    unsigned files_given;  // bits by option
    struct region *region;
    struct program_inputs inputs;
    struct tool_table tools;
    struct data_tool *scripts;
    struct toolbox *toolbox;  // tools that need a host, or NULL
    value options;            // the options given, for the worker of such a run
    struct buffer source;
    struct buffer files[3];  // texts that values may borrow from
    unsigned file_count;
};

enum {
    OPTION_BATCH = 256,
    OPTION_CONTEXT,
    OPTION_MEMORY,
    OPTION_TOOLS,
    OPTION_SIGNATURE,
    OPTION_VALIDATION,
    OPTION_TIMEOUT,
    OPTION_MAX_MEMORY,
    OPTION_FLOAT_PRECISION,
    OPTION_CHECK,
    OPTION_HUMAN,
    OPTION_BUILTINS,
    OPTION_GUIDE,
    OPTION_HELP,
};

static const struct option long_options[] = {
    {"batch", required_argument, NULL, OPTION_BATCH},
    {"context", required_argument, NULL, OPTION_CONTEXT},
    {"memory", required_argument, NULL, OPTION_MEMORY},
    {"tools", required_argument, NULL, OPTION_TOOLS},
    {"signature", required_argument, NULL, OPTION_SIGNATURE},
    {"validation", required_argument, NULL, OPTION_VALIDATION},
    {"timeout", required_argument, NULL, OPTION_TIMEOUT},
    {"max-memory", required_argument, NULL, OPTION_MAX_MEMORY},
    {"float-precision", required_argument, NULL, OPTION_FLOAT_PRECISION},
    {"check", no_argument, NULL, OPTION_CHECK},
    {"human", no_argument, NULL, OPTION_HUMAN},
    {"builtins", no_argument, NULL, OPTION_BUILTINS},
    {"guide", no_argument, NULL, OPTION_GUIDE},
    {"help", no_argument, NULL, OPTION_HELP},
    {0},
};

// --- reading arguments ---------------------------------------------------------------------------

static bool read_values(struct run_arguments *arguments, const char *path, value *ret_value)
{
    size_t length = strlen(path);
    bool is_edn = length > 4 && strcmp(path + length - 4, ".edn") == 0;
    bool is_json = length > 5 && strcmp(path + length - 5, ".json") == 0;
    if (!is_edn && !is_json) {
        fprintf(stderr, "cadre run: %s: the name must end in .json or .edn\n", path);
        return false;
    }
    struct buffer *text = &arguments->files[arguments->file_count];
    if (!option_read_file(path, FILE_LIMIT, text))
        return false;
    arguments->file_count++;
    struct error error = {0};
    struct json_options json = {.borrow = true};
    bool ok = is_json ? json_read(arguments->region, buffer_span(text), &json, ret_value, &error)
                      : edn_read(arguments->region, buffer_span(text), NULL, ret_value, &error);
    if (!ok)
        fprintf(stderr, "cadre run: %s:%u:%u: %s\n", path, error.line, error.column, error.message);
    else if (ret_value->tag != VALUE_MAP && ret_value->tag != VALUE_NIL)
        fprintf(stderr, "cadre run: %s: must contain an object\n", path);
    return ok && (ret_value->tag == VALUE_MAP || ret_value->tag == VALUE_NIL);
}

static bool read_tools(struct run_arguments *arguments, const char *path)
{
    value tools;
    struct diagnostic diagnostic;
    struct error error;
    if (!read_values(arguments, path, &tools))
        return false;
    bool is_json = strcmp(path + strlen(path) - 5, ".json") == 0;
    if (is_json && !toolbox_load(path, &arguments->toolbox, &error)) {
        fprintf(stderr, "cadre run: %s\n", error.message);
        return false;
    }
    if (is_json && toolbox_needs_host(arguments->toolbox))
        return true;
    toolbox_free(arguments->toolbox);
    arguments->toolbox = NULL;
    // Keyword names, as EDN writes them, are fine for tools but their records have string keys.
    if (data_tools_add(&arguments->tools, &arguments->scripts, tools, NULL, &diagnostic))
        return true;
    fprintf(stderr, "cadre run: %s: %s\n", path, diagnostic.message);
    return false;
}

static bool set_option(struct run_arguments *arguments, struct span name, const char *text)
{
    struct error error = {0};
    struct diagnostic diagnostic;
    value v;
    bool is_word = span_equal_text(name, "memory");
    if (is_word)
        v = value_string_text(arguments->region, text);
    else if (!json_read(arguments->region, span_from(text), NULL, &v, &error))
        v = value_nil();
    if (run_option_set(&arguments->inputs.options, name, v, &diagnostic)) {
        value key = value_string(arguments->region, name);
        arguments->options = map_put(arguments->region, arguments->options, key, v);
        return true;
    }
    fprintf(stderr, "cadre run: %s\n", diagnostic.message);
    return false;
}

static bool set_assignment(struct run_arguments *arguments, const char *text)
{
    const char *equals = strchr(text, '=');
    if (!equals) {
        fprintf(stderr, "cadre run: -o needs NAME=VALUE\n");
        return false;
    }
    return set_option(arguments, (struct span){text, (size_t)(equals - text)}, equals + 1);
}

static bool set_validation(struct run_arguments *arguments, const char *text)
{
    if (signature_mode_from_name(span_from(text), &arguments->inputs.validation))
        return true;
    fprintf(stderr, "cadre run: --validation must be enabled, warn_only, disabled or strict\n");
    return false;
}

static bool read_source(struct run_arguments *arguments, int argc, char **argv)
{
    int left = argc - optind;
    if (arguments->batch && arguments->option_count > 1) {
        fprintf(stderr, "cadre run: --batch takes no other options: each record has its own\n");
        return false;
    }
    if (arguments->batch || arguments->expression) {
        if (left == 0)
            return true;
        fprintf(stderr, "cadre run: unexpected argument %s\n", argv[optind]);
        return false;
    }
    if (left != 1) {
        fprintf(stderr, left == 0
                            ? "cadre run: FILE, - or -e SOURCE is missing; see cadre run --help\n"
                            : "cadre run: one program only\n");
        return false;
    }
    return option_read_file(argv[optind], FILE_LIMIT, &arguments->source);
}

static void print_builtins(void)
{
    for (size_t i = 0; i < builtin_count; i++)
        printf("%-22s %-44s %s\n", builtin_table[i].name, builtin_table[i].signature,
               builtin_table[i].doc);
}

enum parsed { PARSED_RUN, PARSED_DONE, PARSED_WRONG };

static bool parse_option(struct run_arguments *arguments, int option)
{
    struct program_inputs *inputs = &arguments->inputs;
    switch (option) {
    case 'e': arguments->expression = optarg; return true;
    case 'o': return set_assignment(arguments, optarg);
    case OPTION_BATCH: arguments->batch = optarg; return true;
    case OPTION_CONTEXT: return read_values(arguments, optarg, &inputs->context);
    case OPTION_MEMORY: return read_values(arguments, optarg, &inputs->memory);
    case OPTION_TOOLS: return read_tools(arguments, optarg);
    case OPTION_SIGNATURE: inputs->signature = span_from(optarg); return true;
    case OPTION_VALIDATION: return set_validation(arguments, optarg);
    case OPTION_TIMEOUT: return set_option(arguments, SPAN("timeout"), optarg);
    case OPTION_MAX_MEMORY: return set_option(arguments, SPAN("max_memory"), optarg);
    case OPTION_FLOAT_PRECISION: return set_option(arguments, SPAN("float_precision"), optarg);
    case OPTION_CHECK: arguments->check = true; return true;
    case OPTION_HUMAN: arguments->human = true; return true;
    default: return false;
    }
}

static bool is_repeated_file(struct run_arguments *arguments, int option)
{
    if (option != OPTION_CONTEXT && option != OPTION_MEMORY && option != OPTION_TOOLS)
        return false;
    unsigned bit = 1U << (option - OPTION_CONTEXT);
    bool is_repeated = arguments->files_given & bit;
    arguments->files_given |= bit;
    return is_repeated;
}

static enum parsed parse_arguments(struct run_arguments *arguments, int argc, char **argv)
{
    optind = 1;
    for (int option; (option = getopt_long(argc, argv, "e:o:", long_options, NULL)) != -1;) {
        if (option == OPTION_HELP) {
            fputs(help, stdout);
            return PARSED_DONE;
        }
        if (option == OPTION_BUILTINS) {
            print_builtins();
            return PARSED_DONE;
        }
        if (option == OPTION_GUIDE) {
            fputs(program_guide, stdout);
            return PARSED_DONE;
        }
        if (is_repeated_file(arguments, option)) {
            fprintf(stderr, "cadre run: at most one --context, --memory and --tools\n");
            return PARSED_WRONG;
        }
        arguments->option_count++;
        if (!parse_option(arguments, option))
            return PARSED_WRONG;
    }
    return read_source(arguments, argc, argv) ? PARSED_RUN : PARSED_WRONG;
}

// --- running -------------------------------------------------------------------------------------

static bool print_step(const struct step *step, const value *id)
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

static void check_program(const struct program_inputs *inputs, struct step *ret_step)
{
    struct compile_options options = {
        .source = inputs->source, .limits = &inputs->options.limits, .tools = inputs->tools};
    struct diagnostic diagnostic;
    struct program *program = program_compile(&options, &diagnostic);
    if (program)
        program_check_names(program, inputs->memory, &diagnostic);
    step_fail(ret_step, inputs->region, inputs->memory, inputs->source, &diagnostic);
    program_release(program);
}

static const char *validation_name(enum signature_mode mode)
{
    static const char *const names[] = {[SIGNATURE_ENABLED] = "enabled",
                                        [SIGNATURE_WARN_ONLY] = "warn_only",
                                        [SIGNATURE_DISABLED] = "disabled",
                                        [SIGNATURE_STRICT] = "strict"};
    return names[mode];
}

// The same inputs as a batch record, for a worker process.
static int run_in_worker(struct run_arguments *arguments)
{
    struct region *region = arguments->region;
    struct program_inputs *inputs = &arguments->inputs;
    struct span source =
        arguments->expression ? span_from(arguments->expression) : buffer_span(&arguments->source);
    value record = map_put_text(region, map_new(region), "program", value_string(region, source));
    if (!value_is_nil(inputs->context))
        record =
            map_put_text(region, record, "context_edn", value_printed(region, inputs->context));
    if (!value_is_nil(inputs->memory))
        record = map_put_text(region, record, "memory_edn", value_printed(region, inputs->memory));
    if (inputs->signature.data)
        record = map_put_text(region, record, "signature", value_string(region, inputs->signature));
    record = map_put_text(region, record, "options", value_retain(arguments->options));
    record = map_put_text(region, record, "validation",
                          value_string_text(region, validation_name(inputs->validation)));
    return run_worker_execute(arguments->toolbox, region, record, inputs->options.limits.timeout_ms,
                              arguments->human);
}

static int run_one(struct run_arguments *arguments)
{
    if (arguments->toolbox && !arguments->check)
        return run_in_worker(arguments);
    struct arena arena;
    arena_init(&arena, 16 << 20);
    struct program_inputs *inputs = &arguments->inputs;
    inputs->source = utf8_without_mark(arguments->expression ? span_from(arguments->expression)
                                                             : buffer_span(&arguments->source));
    struct step step;
    if (arguments->check)
        check_program(inputs, &step);
    else
        program_compile_and_run(inputs, &arena, &step);
    bool failed = step.failure.kind != FAILURE_NONE;
    if (failed && arguments->human) {
        struct buffer text;
        buffer_init(&text, 1 << 20);
        step_write_failure(&step, &text);
        fputs(buffer_text(&text), stderr);
        buffer_release(&text);
    }
    bool printed = print_step(&step, NULL);
    step_release(&step);
    arena_release(&arena);
    arguments->region = NULL;  // was the step's
    return !printed ? EXIT_USAGE : failed ? 1 : 0;
}

// One line of a batch. The line stays alive while the step is used, so strings may borrow from it.
static bool run_line(struct span line)
{
    struct region *region = region_new(SIZE_MAX / 2);
    struct json_options options = {.borrow = true};
    struct error error = {0};
    value record;
    struct batch_run run;
    if (json_read(region, line, &options, &record, &error)) {
        batch_run(region, record, NULL, &run);
    } else {
        struct diagnostic diagnostic = {.kind = INVALID_RECORD};
        snprintf(diagnostic.message, sizeof(diagnostic.message), "not JSON: %.400s", error.message);
        run = (struct batch_run){0};
        record = value_nil();
        step_fail(&run.step, region, value_nil(), SPAN(""), &diagnostic);
    }
    value id = record.tag == VALUE_MAP ? map_get(record, "id") : value_nil();
    bool ok = print_step(&run.step, &id);
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

static int run_batch(const char *path)
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
            ok = run_line(text);
    }
    bool failed = ferror(input) || !ok;
    if (ferror(input))
        fprintf(stderr, "cadre run: cannot read %s: %s\n", path, strerror(errno));
    free(line);  // foreign: getline
    if (input != stdin)
        fclose(input);
    return failed ? EXIT_USAGE : 0;
}

int command_run(int argc, char **argv)
{
    struct run_arguments arguments = {.region = region_new(SIZE_MAX / 2),
                                      .human = isatty(STDERR_FILENO)};
    tool_table_init(&arguments.tools);
    arguments.inputs = (struct program_inputs){
        .region = arguments.region, .tools = &arguments.tools, .validation = SIGNATURE_ENABLED};
    run_options_default(&arguments.inputs.options);
    arguments.options = map_new(arguments.region);
    int status = EXIT_USAGE;
    enum parsed parsed = parse_arguments(&arguments, argc, argv);
    if (parsed == PARSED_DONE)
        status = 0;
    else if (parsed == PARSED_RUN)
        status = arguments.batch ? run_batch(arguments.batch) : run_one(&arguments);
    region_free(arguments.region);
    buffer_release(&arguments.source);
    for (unsigned i = 0; i < arguments.file_count; i++)
        buffer_release(&arguments.files[i]);
    tool_table_release(&arguments.tools);
    data_tools_free(arguments.scripts);
    toolbox_free(arguments.toolbox);
    return status;
}
