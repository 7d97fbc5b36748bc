// Cost of a program that is run again and again in a host process. It is compiled once; what is
// measured is a run from its context's file to its answer, with everything given back.
//
//   bench_warm [-c CONTEXT.json] [-o OPTION=NUMBER]… RUNS PROGRAM
//                         prints a line `VALUE MILLISECONDS` for each run
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cadre.h"

enum { MOST_OPTIONS = 8 };

struct option {
    const char *name;
    int64_t number;
};

struct task {
    cadre_program *program;
    const char *context;  // file, or NULL
    struct option options[MOST_OPTIONS];
    size_t option_count;
};

static _Noreturn void fail(const char *message)
{
    fprintf(stderr, "bench_warm: %s\n", message);
    exit(EXIT_FAILURE);
}

static double now_ms(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

static void read_context(cadre_inputs *inputs, const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END) != 0)
        fail("the context cannot be opened");
    size_t size = (size_t)ftell(file);
    char *text = malloc(size + 1);
    rewind(file);
    if (!text || fread(text, 1, size, file) != size || fclose(file) != 0)
        fail("the context cannot be read");
    if (!cadre_inputs_set_context(inputs, text, size))
        fail(cadre_inputs_error(inputs));
    free(text);
}

static int64_t run_once(const struct task *task)
{
    int64_t number = 0;
    cadre_inputs *inputs = cadre_inputs_new();
    for (size_t i = 0; i < task->option_count; i++) {
        if (!cadre_inputs_set_option(inputs, task->options[i].name, task->options[i].number))
            fail(cadre_inputs_error(inputs));
    }
    if (task->context)
        read_context(inputs, task->context);
    cadre_step *step = cadre_run(task->program, inputs);
    if (!step || !cadre_step_ok(step))
        fail(step ? cadre_step_message(step) : "no memory");
    if (!cadre_value_integer(cadre_step_return(step), &number))
        fail("the value is not an integer");
    cadre_step_free(step);
    cadre_inputs_free(inputs);
    return number;
}

static void add_option(struct task *task, char *text)
{
    char *number = strchr(text, '=');
    if (!number || task->option_count == MOST_OPTIONS)
        fail("-o takes OPTION=NUMBER, not too often");
    *number++ = '\0';
    task->options[task->option_count++] = (struct option){text, strtoll(number, NULL, 10)};
}

int main(int count, char **arguments)
{
    struct task task = {0};
    int letter;
    while ((letter = getopt(count, arguments, "c:o:")) != -1) {
        if (letter == 'c')
            task.context = optarg;
        else if (letter == 'o')
            add_option(&task, optarg);
        else
            return EXIT_FAILURE;
    }
    if (count - optind != 2)
        fail("RUNS and PROGRAM are wanted");
    const char *source = arguments[optind + 1];
    task.program = cadre_compile(NULL, source, strlen(source), NULL);
    for (long i = strtol(arguments[optind], NULL, 10); i > 0; i--) {
        double start = now_ms();
        int64_t number = run_once(&task);
        printf("%" PRId64 " %.6f\n", number, now_ms() - start);
    }
    cadre_program_free(task.program);
    return 0;
}
