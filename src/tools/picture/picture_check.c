#include "tools/picture/picture_check.h"

#include "base/memory.h"
#include "process/command.h"

enum { PROBLEMS_MAX = 64 << 10 };

struct picture_check {
    struct command *command;
    picture_check_fn *done;
    void *data;
};

static void on_done(void *data, const struct command_result *result)
{
    struct picture_check *check = data;
    if (result->ok)
        check->done(check->data, result->output, NULL);
    else
        check->done(check->data, (struct span){0}, result->reason);
    memory_free(check);
}

int picture_check_start(struct reaper *reaper, struct span images, picture_check_fn *done,
                        void *data, struct picture_check **ret_check)
{
    static const char *const argv[] = {"/proc/self/exe", "picture-worker", NULL};
    struct picture_check *check = memory_alloc_zero(sizeof(*check));
    *check = (struct picture_check){.done = done, .data = data};
    const struct command_request request = {
        .argv = argv,
        .input = images,
        .timeout_ms = PICTURE_MS,
        .max_output = PROBLEMS_MAX,
        .done = on_done,
        .data = check,
    };
    int failed = command_start(reaper, &request, &check->command);
    if (failed < 0)
        memory_free(check);
    else
        *ret_check = check;
    return failed;
}

void picture_check_cancel(struct picture_check *check)
{
    command_cancel(check->command);
    memory_free(check);
}
