#include "cli/fix/earlier_version.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/memory.h"
#include "lisp_syntax/lisp_syntax.h"
#include "lisp_syntax/repair.h"
#include "process/sandbox/environment.h"

enum { GIT_MILLISECONDS = 5000, CHUNK = 64 << 10 };

// What a repository's configuration names is not to be run: that of one which somebody else has
// packed could let git fetch a missing object by any command.
static const char *const variables[] = {"GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none", NULL};

// Starts git with its output in a pipe and nothing else of ours. The pipe's reading end, or -1.
static int start(char *const argv[], pid_t *ret_pid)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return -1;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    char **environment = environment_new(NULL, variables);
    int failed = posix_spawnp(ret_pid, argv[0], &actions, NULL, argv, environment);
    memory_free(environment);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    if (failed == 0)
        return ends[0];
    close(ends[0]);
    return -1;
}

// Everything until the end of the pipe. False: too long, or it took too long.
static bool read_all(int descriptor, struct buffer *text)
{
    int64_t deadline = clock_now_ms() + GIT_MILLISECONDS;
    for (;;) {
        int64_t left = deadline - clock_now_ms();
        struct pollfd wait = {.fd = descriptor, .events = POLLIN};
        int ready = left > 0 ? poll(&wait, 1, (int)left) : 0;
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready <= 0 || !buffer_reserve(text, CHUNK))
            return false;
        ssize_t count = read(descriptor, text->data + text->length, CHUNK);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return count == 0;
        text->length += (size_t)count;
    }
}

static bool git_read(const char *directory, const char *object, struct buffer *text)
{
    // cat-file applies no filters, so it starts nothing that a repository's configuration names.
    char *const argv[] = {(char *)"git",  (char *)"-c",      (char *)"core.fsmonitor=false",
                          (char *)"-C",   (char *)directory, (char *)"cat-file",
                          (char *)"blob", (char *)object,    NULL};
    pid_t pid;
    int status, descriptor = start(argv, &pid);
    if (descriptor < 0)
        return false;
    bool ok = read_all(descriptor, text);
    close(descriptor);
    if (!ok)
        kill(pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    return ok && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool is_balanced(struct span text)
{
    struct syntax_report report;
    syntax_check(text, &report);
    return report.problem != SYNTAX_STRAY_CLOSE && !syntax_is_incomplete(&report);
}

bool earlier_version_read(const char *path, struct buffer *ret_text)
{
    buffer_init(ret_text, REPAIR_TEXT_MAXIMUM);
    char real[PATH_MAX];
    if (!realpath(path, real))
        return false;
    char *name = strrchr(real, '/');
    CLEANUP_FREE char *directory = memory_copy_text(real, (size_t)(name - real) + 1);
    static const char *const versions[] = {"", "HEAD"};  // the index, the last commit
    for (size_t i = 0; i < COUNT_OF(versions); i++) {
        CLEANUP_FREE char *object = memory_format("%s:./%s", versions[i], name + 1);
        buffer_clear(ret_text);
        if (git_read(directory, object, ret_text) && is_balanced(buffer_span(ret_text)))
            return true;
    }
    buffer_clear(ret_text);
    return false;
}
