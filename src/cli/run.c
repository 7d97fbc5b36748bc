// `cadre run`: runs PTC-Lisp programs and prints their Steps.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/run/run_batch.h"
#include "cli/run/run_input.h"
#include "cli/run/run_output.h"
#include "cli/run/run_pause.h"
#include "cli/run_worker.h"
#include "cli/sandbox_options.h"
#include "cli/table/option_reader.h"
#include "program/api/guide.h"
#include "program/batch.h"
#include "program/builtin/builtin.h"
#include "tools/program/saved_programs.h"
#include "value/text/json.h"
#include "value/text/print.h"

enum { SERVER_FILES_MAX = 16, FILE_LIMIT = 1 << 30, STEP_DEPTH = 10000 };

struct run_arguments {
    const char *expression;  // -e
    const char *batch;
    bool check;
    struct run_output output;
    bool reads_input;  // standard input is one of the files
    unsigned option_count;
    unsigned files_given;  // bits by option
    struct region *region;
    struct program_inputs inputs;
    struct tool_table tools;
    struct data_tool *scripts;
    value tool_records;                         // --tools as read
    struct toolbox *toolbox;                    // tools that need a host, or NULL
    const char *servers[SERVER_FILES_MAX + 1];  // files of MCP servers
    const char *imports[SERVER_FILES_MAX + 1];  // clients whose MCP servers are taken
    value options;                              // the options given, for the worker of such a run
    struct buffer source;
    struct buffer files[3];  // texts that values may borrow from
    unsigned file_count;
    struct run_pause pause;
    struct session_sandbox sandbox;  // of Lisp tools
    struct sandbox_options sandbox_options;
};

// --- reading arguments ---------------------------------------------------------------------------

// Standard input can be one of the files, or the program.
static bool take_path(struct run_arguments *arguments, const char *path)
{
    bool is_taken = strcmp(path, "-") == 0 && arguments->reads_input;
    arguments->reads_input |= strcmp(path, "-") == 0;
    if (is_taken)
        fputs("cadre run: standard input can be read only once\n", stderr);
    return !is_taken;
}

static bool read_values(struct run_arguments *arguments, const char *path, value *ret_value)
{
    struct buffer *text = &arguments->files[arguments->file_count];
    if (!take_path(arguments, path) || !run_input_read(arguments->region, path, text, ret_value))
        return false;
    arguments->file_count++;
    return true;
}

static bool read_object(struct run_arguments *arguments, const char *path, value *ret_value)
{
    if (!read_values(arguments, path, ret_value))
        return false;
    if (value_is_map(*ret_value) || value_is_nil(*ret_value))
        return true;
    fprintf(stderr, "cadre run: %s: must contain an object\n", path);
    return false;
}

static bool read_context(struct run_arguments *arguments, const char *path)
{
    value read;
    if (!read_values(arguments, path, &read))
        return false;
    arguments->inputs.context = run_input_context(arguments->region, read);
    return true;
}

static bool read_tools(struct run_arguments *arguments, const char *path)
{
    struct diagnostic diagnostic;
    struct error error;
    if (!read_object(arguments, path, &arguments->tool_records))
        return false;
    size_t length = strlen(path);
    bool is_json = length > 5 && strcmp(path + length - 5, ".json") == 0;
    if (is_json && !toolbox_load(path, &arguments->toolbox, &error)) {
        fprintf(stderr, "cadre run: %s\n", error.message);
        return false;
    }
    if (is_json && toolbox_needs_host(arguments->toolbox))
        return true;
    toolbox_free(arguments->toolbox);
    arguments->toolbox = NULL;
    // Keyword names, as EDN writes them, are fine for tools but their records have string keys.
    if (data_tools_add(&arguments->tools, &arguments->scripts, arguments->tool_records, NULL,
                       &diagnostic))
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
    return signature_mode_from_name(span_from(text), &arguments->inputs.validation);
}

static bool read_source(struct run_arguments *arguments, const struct option_reader *reader)
{
    int left = reader->word_count;
    unsigned with_batch = 1 + (arguments->files_given >> 2 & 1);
    if (arguments->batch && arguments->option_count > with_batch) {
        fprintf(
            stderr,
            "cadre run: --batch takes no other options than --tools: each record has its own\n");
        return false;
    }
    if (arguments->batch || arguments->expression || arguments->pause.from) {
        if (left == 0)
            return true;
        fprintf(stderr, "cadre run: unexpected argument %s\n", reader->words[0]);
        return false;
    }
    if (left != 1) {
        fprintf(stderr, left == 0
                            ? "cadre run: FILE, - or -e SOURCE is missing; see cadre run --help\n"
                            : "cadre run: one program only\n");
        return false;
    }
    const char *path = reader->words[0];
    if (path[0] == '(' && access(path, F_OK) < 0) {
        fprintf(stderr, "cadre run: there is no file %s; a program itself follows -e\n", path);
        return false;
    }
    return take_path(arguments, path) && option_read_file(path, FILE_LIMIT, &arguments->source);
}

static void print_builtins(void)
{
    for (size_t i = 0; i < builtin_count; i++)
        printf("%-22s %-44s %s\n", builtin_table[i].name, builtin_table[i].signature,
               builtin_table[i].doc);
}

static bool add_servers(const char **list, const struct option_reader *reader)
{
    for (size_t i = 0; i < SERVER_FILES_MAX; i++)
        if (!list[i]) {
            list[i] = reader->argument;
            return true;
        }
    fprintf(stderr, "cadre run: at most %d times --mcp-config and --import\n", SERVER_FILES_MAX);
    return false;
}

static struct span source_of(const struct run_arguments *arguments)
{
    return arguments->expression ? span_from(arguments->expression)
                                 : buffer_span(&arguments->source);
}

// Programs that call servers or saved programs, and those that may pause, run in a worker, with what
// other tools there are.
static bool open_servers(struct run_arguments *arguments)
{
    struct error error;
    struct toolbox_place place = {.workspace = arguments->sandbox.workspace};
    bool needs_host =
        run_pause_path(&arguments->pause) != NULL || saved_programs_are_named(source_of(arguments));
    if (!arguments->servers[0] && !arguments->imports[0] && !needs_host)
        return true;
    if (!arguments->toolbox)
        arguments->toolbox = toolbox_new();
    if (toolbox_add_servers(arguments->toolbox, arguments->servers, arguments->imports, &place,
                            &error))
        return true;
    fprintf(stderr, "cadre run: --mcp-config: %s\n", error.message);
    return false;
}

enum parsed { PARSED_RUN, PARSED_DONE, PARSED_WRONG };

static bool parse_option(struct run_arguments *arguments, const struct option_reader *reader)
{
    const char *argument = reader->argument;
    struct program_inputs *inputs = &arguments->inputs;
    enum sandbox_option taken =
        sandbox_option_take(&arguments->sandbox_options, &arguments->sandbox, reader);
    if (taken != SANDBOX_OPTION_OTHER)
        return taken == SANDBOX_OPTION_TAKEN;
    switch (reader->row->id) {
    case OPTION_EXPRESSION: arguments->expression = argument; return true;
    case OPTION_RUN_OPTION: return set_assignment(arguments, argument);
    case OPTION_BATCH: arguments->batch = argument; return true;
    case OPTION_CONTEXT: return read_context(arguments, argument);
    case OPTION_MEMORY: return read_object(arguments, argument, &inputs->memory);
    case OPTION_TOOLS: return read_tools(arguments, argument);
    case OPTION_MCP_CONFIG: return add_servers(arguments->servers, reader);
    case OPTION_IMPORT: return add_servers(arguments->imports, reader);
    case OPTION_SIGNATURE: inputs->signature = span_from(argument); return true;
    case OPTION_VALIDATION: return set_validation(arguments, argument);
    case OPTION_TIMEOUT: return set_option(arguments, SPAN("timeout"), argument);
    case OPTION_MAX_MEMORY: return set_option(arguments, SPAN("max_memory"), argument);
    case OPTION_FLOAT_PRECISION: return set_option(arguments, SPAN("float_precision"), argument);
    case OPTION_PAUSE: arguments->pause.keep_in = argument; return true;
    case OPTION_RESUME: arguments->pause.from = argument; return true;
    case OPTION_APPROVE: arguments->pause.approve = argument; return true;
    case OPTION_RESULTS: arguments->pause.results = argument; return true;
    case OPTION_CHECK: arguments->check = true; return true;
    case OPTION_HUMAN: arguments->output.human = true; return true;
    case OPTION_VALUE: arguments->output.value_only = true; return true;
    case OPTION_JSON: arguments->output.json = true; return true;
    default: return false;
    }
}

static bool is_repeated_file(struct run_arguments *arguments, int option)
{
    unsigned bit = option == OPTION_CONTEXT  ? 1U << 0
                   : option == OPTION_MEMORY ? 1U << 1
                   : option == OPTION_TOOLS  ? 1U << 2
                                             : 0;
    bool is_repeated = arguments->files_given & bit;
    arguments->files_given |= bit;
    return is_repeated;
}

static enum parsed parse_arguments(struct run_arguments *arguments, int argc, char **argv)
{
    struct option_reader reader;
    option_reader_init(&reader, COMMAND_RUN, argc, argv);
    int option;
    while ((option = option_reader_next(&reader)) > 0) {
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
        if (!parse_option(arguments, &reader))
            return PARSED_WRONG;
    }
    if (option != OPTIONS_END)
        return option == OPTIONS_HELP ? PARSED_DONE : PARSED_WRONG;
    return read_source(arguments, &reader) && open_servers(arguments) ? PARSED_RUN : PARSED_WRONG;
}

// --- running -------------------------------------------------------------------------------------

static void check_program(const struct program_inputs *inputs, struct step *ret_step)
{
    struct compile_options options = {.source = inputs->source,
                                      .limits = &inputs->options.limits,
                                      .tools = inputs->tools,
                                      .memory = &inputs->memory};
    struct diagnostic diagnostic;
    struct program *program = program_compile(&options, &diagnostic);
    if (program)
        program_check_names(program, inputs->memory, &diagnostic);
    step_fail(ret_step, inputs->region, inputs->memory, inputs->source, &diagnostic);
    program_release(program);
}

static int exit_status(enum run_printed printed)
{
    return printed == RUN_WAITS       ? EXIT_PAUSED
           : printed == RUN_UNPRINTED ? EXIT_USAGE
           : printed == RUN_FAILED    ? EXIT_FAILURE
                                      : 0;
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
    struct span source = source_of(arguments);
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
    if (arguments->scripts)
        record = map_put_text(region, record, "tools", value_retain(arguments->tool_records));
    struct run_worker *worker = run_worker_new(arguments->toolbox, &arguments->sandbox);
    const struct run_pause *pause = arguments->pause.keep_in ? &arguments->pause : NULL;
    value step;
    int status = EXIT_FAILURE;
    if (worker && run_worker_execute(worker, region, record, inputs->memory,
                                     inputs->options.limits.timeout_ms, pause, &step))
        status = exit_status(run_output_print(&arguments->output, step, source));
    run_worker_free(worker);
    return status;
}

static int resume(struct run_arguments *arguments)
{
    struct run_pause *pause = &arguments->pause;
    if (!run_pause_take(pause, arguments->region))
        return EXIT_USAGE;
    struct run_worker *worker = run_worker_new(arguments->toolbox, &arguments->sandbox);
    value step;
    int status = EXIT_FAILURE;
    if (worker && run_worker_resume(worker, arguments->region, pause, &step))
        status = exit_status(run_output_print(&arguments->output, step, SPAN("")));
    run_worker_free(worker);
    return status;
}

// Prints a Step made here: with --value as its JSON is read, so that both kinds of runs print alike.
static int print_local(struct run_arguments *arguments, const struct step *step)
{
    bool failed = step->failure.kind != FAILURE_NONE;
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, SIZE_MAX / 2);
    if (!arguments->output.value_only) {
        if (failed && arguments->output.human) {
            step_write_failure(step, &text);
            fputs(buffer_text(&text), stderr);
        }
        return !run_output_print_step(step, NULL) ? EXIT_USAGE : failed ? EXIT_FAILURE : 0;
    }
    value read;
    struct error error;
    struct json_options options = {.max_depth = STEP_DEPTH, .borrow = true};
    step_write_json(step, &text, NULL);
    if (!json_read(step->region, buffer_span(&text), &options, &read, &error)) {
        fprintf(stderr, "cadre run: the result cannot be shown: %s\n", error.message);
        return EXIT_USAGE;
    }
    return exit_status(run_output_print(&arguments->output, read, step->source));
}

static int run_one(struct run_arguments *arguments)
{
    if (arguments->pause.from)
        return resume(arguments);
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
    int status = print_local(arguments, &step);
    step_release(&step);
    arena_release(&arena);
    arguments->region = NULL;  // was the step's
    return status;
}

int command_run(int argc, char **argv)
{
    struct run_arguments arguments = {.region = region_new(SIZE_MAX / 2),
                                      .output.human = isatty(STDERR_FILENO)};
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
        status = arguments.batch ? run_batch(arguments.batch, arguments.tool_records,
                                             arguments.toolbox, &arguments.sandbox)
                                 : run_one(&arguments);
    region_free(arguments.region);
    buffer_release(&arguments.source);
    run_pause_release(&arguments.pause);
    for (unsigned i = 0; i < arguments.file_count; i++)
        buffer_release(&arguments.files[i]);
    tool_table_release(&arguments.tools);
    data_tools_free(arguments.scripts);
    toolbox_free(arguments.toolbox);
    return status;
}
